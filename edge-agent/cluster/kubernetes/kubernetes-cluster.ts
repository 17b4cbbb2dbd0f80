/** A real Kubernetes cluster behind the port of the agent. */
import type { GroupResource, ObjectKey } from '../../../core/object/key.ts';
import { type KubeObject, parseApiVersion } from '../../../core/object/meta.ts';
import type { Clock } from '../../../core/runtime/clock.ts';
import { BanyanError } from '../../../core/runtime/errors.ts';
import type { Logger } from '../../../core/runtime/logger.ts';
import type { Random } from '../../../core/runtime/random.ts';
import { fieldManager } from '../../apply/mark.ts';
import type { Cluster, ClusterDescription, ClusterEvent, ServedResource } from '../cluster.ts';
import type { Access } from './access.ts';
import { ApiClient } from './api-client.ts';
import type { ClientLimits } from './client-limits.ts';
import { Discovery, pathOf } from './discovery.ts';
import { describeNodes } from './node-sums.ts';
import { ResourceWatch } from './resource-watch.ts';

export interface KubernetesClusterOptions {
  readonly access: Access;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly limits?: ClientLimits;
}

const definitions = 'customresourcedefinitions';

export class KubernetesCluster implements Cluster {
  readonly #options: KubernetesClusterOptions;
  readonly #client: ApiClient;
  readonly #discovery: Discovery;
  readonly #watches = new Set<ResourceWatch>();

  constructor(options: KubernetesClusterOptions) {
    this.#options = options;
    this.#client = new ApiClient(options.access, options.clock, options.limits);
    this.#discovery = new Discovery(this.#client, options.clock);
  }

  async apply(object: KubeObject): Promise<KubeObject> {
    const { apiVersion, kind, metadata } = object;
    const served = await this.#discovery.byKind(apiVersion, kind);
    if (!served) throw new BanyanError('NotFound', `the cluster does not serve ${kind} of ${apiVersion}`);
    const applied = await this.#client.json({
      method: 'PATCH',
      path: pathOf(served, parseApiVersion(apiVersion).version, metadata),
      query: { fieldManager, force: 'true' },
      contentType: 'application/apply-patch+yaml',
      body: applicable(object),
    });
    return applied as KubeObject;
  }

  async get(key: ObjectKey): Promise<KubeObject | undefined> {
    try {
      const served = await this.#discovery.byResource(key);
      return (await this.#client.json({ path: pathOf(served, served.versions[0]!, key) })) as KubeObject;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async list(resource: GroupResource): Promise<KubeObject[]> {
    const served = await this.#discovery.byResource(resource);
    const path = pathOf(served, served.versions[0]!);
    const { items = [], kind = '', apiVersion = '' } = (await this.#client.json({ path })) as ObjectList;
    return items.map((item) => ({ ...item, apiVersion, kind: kind.replace(/List$/, '') }));
  }

  async remove(
    key: ObjectKey,
    propagationPolicy: 'Foreground' | 'Background' | 'Orphan',
    uid?: string,
  ): Promise<boolean> {
    try {
      const served = await this.#discovery.byResource(key);
      await this.#client.json({
        method: 'DELETE',
        path: pathOf(served, served.versions[0]!, key),
        body: {
          apiVersion: 'v1',
          kind: 'DeleteOptions',
          propagationPolicy,
          ...(uid === undefined ? {} : { preconditions: { uid } }),
        },
      });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  resourceOf(apiVersion: string, kind: string): Promise<ServedResource | undefined> {
    return this.#discovery.byKind(apiVersion, kind);
  }

  served(): Promise<readonly ServedResource[]> {
    return this.#discovery.all();
  }

  watch(resource: GroupResource, events: { on(event: ClusterEvent): void; synced(): void }): () => void {
    const isOfDefinitions = resource.resource === definitions;
    const { clock, random, logger } = this.#options;
    const watch = new ResourceWatch(
      { client: this.#client, clock, random, logger, resourceOf: (one) => this.#discovery.byResource(one) },
      resource,
      {
        on: (event) => {
          if (isOfDefinitions) this.#discovery.changed();
          events.on(event);
        },
        synced: () => events.synced(),
      },
    );
    this.#watches.add(watch);
    return () => {
      watch.stop();
      this.#watches.delete(watch);
    };
  }

  async describe(): Promise<ClusterDescription> {
    const version = (await this.#client.json({ path: '/version' })) as { gitVersion?: string };
    const nodes = await this.list({ group: '', resource: 'nodes' });
    return { kubernetesVersion: version.gitVersion ?? 'unknown', ...describeNodes(nodes) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const watch of this.#watches) watch.stop();
    this.#watches.clear();
    this.#client.close();
  }
}

interface ObjectList {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly items?: readonly KubeObject[];
}

/** Server-side apply takes no managedFields, and what the server gives to an object is its own. */
function applicable(object: KubeObject): KubeObject {
  const {
    managedFields: _managedFields,
    resourceVersion: _resourceVersion,
    uid: _uid,
    creationTimestamp: _creationTimestamp,
    generation: _generation,
    ...metadata
  } = object.metadata;
  return { ...object, metadata };
}

function isNotFound(error: unknown): boolean {
  return error instanceof BanyanError && error.code === 'NotFound';
}
