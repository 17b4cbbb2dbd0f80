/** A real Kubernetes cluster. Implements the agent's port `Cluster`. */
import type { ClientRequest } from 'node:http';
import { formatGroupResource, type GroupResource, type ObjectKey } from '../../../core/object/key.ts';
import { type KubeObject, parseApiVersion } from '../../../core/object/meta.ts';
import { selectorText } from '../../../core/object/selector.ts';
import type { Clock } from '../../../core/runtime/clock.ts';
import { BanyanError } from '../../../core/runtime/errors.ts';
import type { Logger } from '../../../core/runtime/logger.ts';
import type { Random } from '../../../core/runtime/random.ts';
import type { Store } from '../../../core/store/store.ts';
import type { ForwardedRequest } from '../../../core/stream/pass-on.ts';
import type { LimitUse } from '../../limits/limit-use.ts';
import type {
  Cluster,
  ClusterApplyOptions,
  ClusterDescription,
  ClusterQuery,
  ClusterWatchOptions,
  FoundObjects,
  ObjectVersion,
  ServedResource,
  WatchEvents,
  WriteGuard,
} from '../cluster.ts';
import { agentFieldManager, markSelector, returnedFieldManager } from '../mark.ts';
import type { Access } from './access.ts';
import { type ApiAnswer, ClusterApiClient } from './api-client.ts';
import { appliedObjects, metadataPages } from './applied-objects.ts';
import { AwaitedKinds } from './awaited-kinds.ts';
import type { ClientLimits } from './client-limits.ts';
import { clockSkewMessage } from './clock-trouble.ts';
import { ClusterIdentity } from './cluster-identity.ts';
import { Creation } from './creation.ts';
import { DefinedKinds } from './defined-kinds.ts';
import { descriptionOf } from './description-of.ts';
import { Discovery, misplaced, staleGroupMessage, urlPathOf } from './discovery.ts';
import { NodeSums } from './node-sums.ts';
import { ResourceWatch } from './resource-watch.ts';
import { ServerVersions } from './server-version.ts';
import { SharedWatches } from './shared-watches.ts';

export interface KubernetesClusterOptions {
  readonly store: Store;
  readonly access: Access;
  /** The uid that the cluster must have. Absent: the uid of the cluster that the agent found first. */
  readonly uid?: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly limits?: ClientLimits;
  /** Absent: the agent may always write. */
  readonly guard?: WriteGuard | undefined;
}

const definitions = 'customresourcedefinitions';
const definitionsResource: GroupResource = { group: 'apiextensions.k8s.io', resource: definitions };

const nodes: GroupResource = { group: '', resource: 'nodes' };

export class KubernetesCluster implements Cluster {
  readonly #options: KubernetesClusterOptions;
  readonly #client: ClusterApiClient;
  readonly #discovery: Discovery;
  readonly #identity: ClusterIdentity;
  readonly #nodes: NodeSums;
  readonly #creation: Creation;
  readonly #definedKinds: DefinedKinds;
  readonly #watches = new SharedWatches((resource, options) => this.#watchOf(resource, options));
  readonly #descriptionListeners = new Set<() => void>();
  readonly #version: ServerVersions;
  /** Why the agent can't watch definitions. */
  #unwatched: BanyanError | undefined;

  constructor(options: KubernetesClusterOptions) {
    this.#options = options;
    const { access, clock, limits, store, uid, guard } = options;
    this.#client = new ClusterApiClient(access, clock, limits, (isLost) => this.#doubted(isLost), guard);
    this.#version = new ServerVersions(() => this.#client.json({ path: '/version' }));
    this.#discovery = new Discovery(this.#client, clock);
    this.#identity = new ClusterIdentity({ store, server: this.#client.server, expected: uid, ask: () => this.#uid() });
    this.#creation = new Creation((object, query, once) => this.#apply(object, query, once));
    this.#definedKinds = new DefinedKinds({
      clock,
      defined: () => this.#defined(),
      served: async () => new Set((await this.#discovery.all()).map(formatGroupResource)),
      forget: () => this.#discovery.changed(),
    });
    this.#nodes = new NodeSums(
      clock,
      (events) => this.watch(nodes, events),
      () => this.#reportDescription(),
    );
  }

  async apply(
    object: KubeObject,
    { dryRun = false, yields = false, at }: ClusterApplyOptions = {},
  ): Promise<KubeObject> {
    await this.#identity.check();
    const { metadata, ...rest } = applicable(object);
    const sent = { ...rest, metadata: { ...metadata, ...at } };
    const { body } = await this.#apply(sent, { force: String(!yields), ...(dryRun ? { dryRun: 'All' } : {}) });
    if (!dryRun) await this.#creation.applied(sent);
    return body as KubeObject;
  }

  /** Passes on the request of somebody else unchanged. */
  async pass(passed: ForwardedRequest): Promise<ClientRequest> {
    await this.#identity.check();
    return this.#client.pass(passed);
  }

  mayCreate(object: KubeObject): boolean {
    return this.#creation.isKnown(object);
  }

  async create(object: KubeObject): Promise<KubeObject | undefined> {
    await this.#identity.check();
    return this.#creation.create(applicable(object));
  }

  async #apply(object: KubeObject, query: Readonly<Record<string, string>>, once = false): Promise<ApiAnswer> {
    const { apiVersion, kind, metadata } = object;
    const served = await this.#discovery.byKind(apiVersion, kind);
    if (!served) throw new BanyanError('NotFound', `the cluster does not serve ${kind} of ${apiVersion}`);
    const why = misplaced(served, metadata);
    if (why !== undefined) throw new BanyanError('Invalid', why);
    return this.#client.answer({
      method: 'PATCH',
      path: urlPathOf(served, parseApiVersion(apiVersion).version, metadata),
      query: { fieldManager: agentFieldManager, ...query },
      contentType: 'application/apply-patch+yaml',
      body: object,
      once,
    });
  }

  async patch(key: ObjectKey, change: { metadata?: object }, at: ObjectVersion, version?: string): Promise<void> {
    const served = await this.#served(key);
    await this.#client.json({
      method: 'PATCH',
      path: urlPathOf(served, version ?? served.versions[0]!, key),
      query: { fieldManager: returnedFieldManager },
      contentType: 'application/merge-patch+json',
      body: { ...change, metadata: { ...change.metadata, ...at } },
    });
  }

  async get(key: ObjectKey, version?: string): Promise<KubeObject | undefined> {
    try {
      const served = await this.#served(key);
      if (misplaced(served, key) !== undefined) return undefined;
      return (await this.#client.json({ path: urlPathOf(served, version ?? served.versions[0]!, key) })) as KubeObject;
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
      if (misplaced(served, key) !== undefined) return false;
      await this.#client.json({
        method: 'DELETE',
        path: urlPathOf(served, served.versions[0]!, key),
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

  async served(): Promise<readonly ServedResource[]> {
    await this.#definedKinds.ready();
    return this.#discovery.all();
  }

  async unknownGroups(): Promise<ReadonlyMap<string, string>> {
    const groups = await this.#discovery.unknownGroups();
    return new Map([...groups].map((group) => [group, staleGroupMessage(group)]));
  }

  async #defined(): Promise<readonly string[]> {
    const names: string[] = [];
    for await (const { metadata } of this.metadataOf(definitionsResource)) {
      if (metadata.name !== undefined && metadata.deletionTimestamp === undefined) names.push(metadata.name);
    }
    return names;
  }

  watch(resource: GroupResource, events: WatchEvents, options: ClusterWatchOptions = {}): () => void {
    const awaited = resource.resource === definitions ? this.#awaitedKinds() : undefined;
    const leave = this.#watches.join(
      resource,
      {
        on: (event) => {
          if (awaited) this.#discovery.changed();
          events.on(event);
          awaited?.changed(event, () => events.on(event));
        },
        synced: (there) => events.synced(there),
        wentBack: () => events.wentBack?.(),
        trouble: (error) => {
          if (awaited) this.#definitionsTrouble(error);
          events.trouble?.(error);
        },
      },
      options,
    );
    return () => {
      awaited?.stop();
      leave();
    };
  }

  #watchOf(resource: GroupResource, { marked = false, metadataOnly = false }: ClusterWatchOptions): ResourceWatch {
    const { clock, random, logger } = this.#options;
    const labelSelector = marked ? markSelector : undefined;
    const resourceOf = (one: GroupResource) => this.#served(one);
    return new ResourceWatch(
      { client: this.#client, clock, random, logger, resourceOf, labelSelector, metadataOnly },
      resource,
    );
  }

  #awaitedKinds(): AwaitedKinds {
    const { clock, logger } = this.#options;
    return new AwaitedKinds({
      clock,
      logger,
      forget: () => this.#discovery.changed(),
      isServed: async (resource) => (await this.#discovery.all()).some((one) => isOf(one, resource)),
    });
  }

  async describe(): Promise<ClusterDescription> {
    await this.#identity.check();
    // Behind a load balancer, a server may be replaced without a broken connection. So the agent asks from time to time.
    if (this.#discovery.refresh()) {
      this.#version.forget();
      this.#creation.forget();
    }
    return descriptionOf({
      version: await this.#version.current(),
      nodes: await this.#nodes.described(),
      trouble: clockSkewMessage(this.#client.aheadMs, this.#client.server),
      refusals: { nodes: this.#nodes.refusal, definitions: this.#unwatched },
      unwatched: this.#watches.refusals(),
    });
  }

  limitUses(): readonly LimitUse[] {
    return this.#client.limitUses();
  }

  onDescription(listener: () => void): () => void {
    this.#descriptionListeners.add(listener);
    return () => this.#descriptionListeners.delete(listener);
  }

  #reportDescription(): void {
    for (const listener of this.#descriptionListeners) listener();
  }

  /**
   * Puts a refused watch of definitions into the description. The agent also asks for the served kinds from time to time, so new kinds are found late, but
   * not never.
   */
  #definitionsTrouble(error: BanyanError | undefined): void {
    const refusal = error?.code === 'Forbidden' ? error : undefined;
    if (refusal?.message === this.#unwatched?.message) return;
    this.#unwatched = refusal;
    this.#reportDescription();
  }

  applied(paths: readonly string[]): Promise<FoundObjects> {
    const { logger } = this.#options;
    const [client, discovery, identity] = [this.#client, this.#discovery, this.#identity];
    return appliedObjects({ client, discovery, identity, logger, served: () => this.served() }, paths);
  }

  async *metadataOf(resource: GroupResource): AsyncGenerator<Pick<KubeObject, 'metadata'>> {
    for await (const { items } of metadataPages(this.#client, await this.#served(resource))) yield* items ?? [];
  }

  async find(resource: GroupResource, { namespace, selector, fields, limit }: ClusterQuery): Promise<KubeObject[]> {
    const served = await this.#served(resource);
    const fieldSelector = Object.entries(fields ?? {})
      .map(([path, value]) => `${path}=${value}`)
      .join(',');
    const { items } = (await this.#client.json({
      path: urlPathOf(served, served.versions[0]!, { namespace }),
      query: {
        limit: String(limit),
        ...(selector ? { labelSelector: selectorText(selector) } : {}),
        ...(fieldSelector === '' ? {} : { fieldSelector }),
      },
    })) as { items?: readonly KubeObject[] | null };
    // The items of a list have no kind of their own.
    return (items ?? []).map((item) => ({ ...item, apiVersion: item.apiVersion ?? 'v1', kind: served.kind }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#nodes.stop();
    this.#watches.stop();
    this.#client.close();
  }

  /** Returns the resource. Also checks the identity of the cluster, so that the agent never reads or writes objects of another cluster. */
  async #served(resource: GroupResource): Promise<ServedResource> {
    await this.#identity.check();
    try {
      return await this.#discovery.byResource(resource);
    } catch (error) {
      if (!isNotFound(error) || !(await this.#isDefined(resource))) throw error;
      const message = `the cluster does not serve ${formatGroupResource(resource)} now, although it has the definition`;
      throw new BanyanError('Unavailable', message, {}, { cause: error });
    }
  }

  /**
   * Whether the cluster has a definition of a kind that it does not serve. Objects of such a kind still exist. An API server that has just started answers a
   * second or two before it serves the defined kinds. If the agent treated their objects as deleted, it would forget them. It would then also remove a
   * definition together with the objects that others have of the kind.
   */
  async #isDefined({ group, resource }: GroupResource): Promise<boolean> {
    const name = `${resource}.${group}`;
    try {
      const definition = await this.#client.json({ path: urlPathOf(definitionsResource, 'v1', { name }) });
      return (definition as KubeObject).metadata.deletionTimestamp === undefined;
    } catch (error) {
      if (isNotFound(error) || (error instanceof BanyanError && error.code === 'Forbidden')) return false;
      throw error;
    }
  }

  async #uid(): Promise<string> {
    try {
      const { metadata } = (await this.#client.json({ path: '/api/v1/namespaces/kube-system' })) as KubeObject;
      return metadata.uid ?? '';
    } catch (error) {
      if (!isNotFound(error)) throw error;
      // The server has only just started. The error must not be NotFound, because the agent forgets an object after NotFound.
      throw new BanyanError(
        'Unavailable',
        `${this.#client.server} has no namespace kube-system yet`,
        {},
        { cause: error },
      );
    }
  }

  /** Called when the next answer may come from another server, or from a server of another version that serves other kinds. */
  #doubted(isLost: boolean): void {
    this.#identity.unsure();
    this.#discovery.changed();
    this.#definedKinds.again();
    this.#creation.forget();
    this.#version.forget();
    if (isLost) this.#reportDescription();
  }
}

function isOf(served: ServedResource, { group, resource }: GroupResource): boolean {
  return served.group === group && served.resource === resource;
}

/** The object without the fields that an apply must not have: server-side apply does not accept managedFields, and the server itself sets the other fields. */
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
