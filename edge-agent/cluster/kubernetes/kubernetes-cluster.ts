/** A real Kubernetes cluster behind the port of the agent. */
import type { GroupResource, ObjectKey } from '../../../core/object/key.ts';
import { type KubeObject, parseApiVersion } from '../../../core/object/meta.ts';
import type { Clock } from '../../../core/runtime/clock.ts';
import { BanyanError } from '../../../core/runtime/errors.ts';
import type { Logger } from '../../../core/runtime/logger.ts';
import type { Random } from '../../../core/runtime/random.ts';
import type { Store } from '../../../core/store/store.ts';
import { fieldManager, markSelector } from '../../apply/mark.ts';
import type { Cluster, ClusterDescription, ServedResource, WatchEvents } from '../cluster.ts';
import type { Access } from './access.ts';
import { ApiClient } from './api-client.ts';
import type { ClientLimits } from './client-limits.ts';
import { ClusterIdentity } from './cluster-identity.ts';
import { Discovery, pathOf } from './discovery.ts';
import { NodeSums } from './node-sums.ts';
import { ResourceWatch } from './resource-watch.ts';

export interface KubernetesClusterOptions {
  readonly store: Store;
  readonly access: Access;
  /** Which cluster it is to be; absent: the one that it was at first. */
  readonly uid?: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly limits?: ClientLimits;
}

const definitions = 'customresourcedefinitions';
const nodes: GroupResource = { group: '', resource: 'nodes' };

export class KubernetesCluster implements Cluster {
  readonly #options: KubernetesClusterOptions;
  readonly #client: ApiClient;
  readonly #discovery: Discovery;
  readonly #identity: ClusterIdentity;
  readonly #nodes: NodeSums;
  readonly #watches = new Set<ResourceWatch>();
  #version: string | undefined;

  constructor(options: KubernetesClusterOptions) {
    this.#options = options;
    const { access, clock, limits, store, uid } = options;
    this.#client = new ApiClient(access, clock, limits, () => this.#wasAway());
    this.#discovery = new Discovery(this.#client, clock);
    this.#identity = new ClusterIdentity({ store, server: this.#client.server, expected: uid, ask: () => this.#uid() });
    this.#nodes = new NodeSums(clock, (events) => this.watch(nodes, events));
  }

  async apply(object: KubeObject, { dryRun = false } = {}): Promise<KubeObject> {
    const { apiVersion, kind, metadata } = object;
    await this.#identity.check();
    const served = await this.#discovery.byKind(apiVersion, kind);
    if (!served) throw new BanyanError('NotFound', `the cluster does not serve ${kind} of ${apiVersion}`);
    const applied = await this.#client.json({
      method: 'PATCH',
      path: pathOf(served, parseApiVersion(apiVersion).version, metadata),
      query: { fieldManager, force: 'true', ...(dryRun ? { dryRun: 'All' } : {}) },
      contentType: 'application/apply-patch+yaml',
      body: applicable(object),
    });
    return applied as KubeObject;
  }

  async get(key: ObjectKey): Promise<KubeObject | undefined> {
    try {
      const served = await this.#served(key);
      return (await this.#client.json({ path: pathOf(served, served.versions[0]!, key) })) as KubeObject;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async remove(
    key: ObjectKey,
    propagationPolicy: 'Foreground' | 'Background' | 'Orphan',
    uid?: string,
  ): Promise<boolean> {
    try {
      const served = await this.#served(key);
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

  watch(resource: GroupResource, events: WatchEvents, { marked = false } = {}): () => void {
    const isOfDefinitions = resource.resource === definitions;
    const { clock, random, logger } = this.#options;
    const watch = new ResourceWatch(
      {
        client: this.#client,
        clock,
        random,
        logger,
        resourceOf: (one) => this.#served(one),
        labelSelector: marked ? markSelector : undefined,
      },
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
    await this.#identity.check();
    this.#version ??= ((await this.#client.json({ path: '/version' })) as { gitVersion?: string }).gitVersion;
    return { kubernetesVersion: this.#version ?? 'unknown', ...(await this.#nodes.described()) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#nodes.stop();
    for (const watch of this.#watches) watch.stop();
    this.#watches.clear();
    this.#client.close();
  }

  /** Before anything is read or written: another cluster's objects are not these. */
  async #served(resource: GroupResource): Promise<ServedResource> {
    await this.#identity.check();
    return this.#discovery.byResource(resource);
  }

  async #uid(): Promise<string> {
    try {
      const { metadata } = (await this.#client.json({ path: '/api/v1/namespaces/kube-system' })) as KubeObject;
      return metadata.uid ?? '';
    } catch (error) {
      if (!isNotFound(error)) throw error;
      // Not "the object is not there", by which an object would be forgotten: the server has only just begun.
      throw new BanyanError(
        'Unavailable',
        `${this.#client.server} has no namespace kube-system yet`,
        {},
        { cause: error },
      );
    }
  }

  /** It may come back as another, or of another version, serving something else. */
  #wasAway(): void {
    this.#identity.unsure();
    this.#discovery.changed();
    this.#version = undefined;
  }
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
