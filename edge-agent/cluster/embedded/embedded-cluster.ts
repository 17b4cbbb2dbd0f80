/**
 * An edge cluster in the agent's process: a space of the mesh's own API server, with controllers instead of those of Kubernetes. For tests, and for people
 * who try Banyan out. No workload runs, but the cluster reports everything as if it ran.
 */
import { kubernetesVersion } from '../../../core/apiserver/discovery/discovery.ts';
import { selectionOf } from '../../../core/apiserver/selection/selection.ts';
import { storedResource } from '../../../core/apiserver/space.ts';
import type { StoredObject } from '../../../core/apiserver/storage.ts';
import { formatKey, type GroupResource, type ObjectKey } from '../../../core/object/key.ts';
import { type JsonObject, type KubeObject, parseApiVersion } from '../../../core/object/meta.ts';
import { selectorText } from '../../../core/object/selector.ts';
import type { Clock } from '../../../core/runtime/clock.ts';
import { BanyanError } from '../../../core/runtime/errors.ts';
import type { Logger } from '../../../core/runtime/logger.ts';
import type { Random } from '../../../core/runtime/random.ts';
import type {
  Cluster,
  ClusterApplyOptions,
  ClusterDescription,
  ClusterEvent,
  ClusterQuery,
  ObjectVersion,
  ServedResource,
  WatchEvents,
} from '../cluster.ts';
import { describeNodes, nodeSizeOf } from '../described-nodes.ts';
import { agentFieldManager, returnedFieldManager } from '../mark.ts';
import { bootstrap } from './bootstrap.ts';
import { AutoscalerController } from './controllers/autoscaler.ts';
import { ClaimController } from './controllers/claim.ts';
import type { Controller } from './controllers/controller.ts';
import { CronJobController } from './controllers/cron-job.ts';
import { DaemonSetController } from './controllers/daemon-set.ts';
import { DeploymentController } from './controllers/deployment.ts';
import { DisruptionBudgetController } from './controllers/disruption-budget.ts';
import { JobController } from './controllers/job.ts';
import type { ControlledSpace } from './controllers/objects.ts';
import type { ClusterPace } from './controllers/pace.ts';
import { PodController } from './controllers/pod.ts';
import { ReplicaSetController } from './controllers/replica-set.ts';
import { ControllerRunner } from './controllers/runner.ts';
import { StatefulSetController } from './controllers/stateful-set.ts';

export interface EmbeddedClusterOptions {
  readonly space: ControlledSpace;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly pace: ClusterPace;
  /** Calls `turn` in a later turn of the event loop, after the commit that runs now. */
  readonly schedule: (turn: () => void) => void;
}

export class EmbeddedCluster implements Cluster {
  readonly #space: ControlledSpace;
  readonly #runner: ControllerRunner;

  constructor({ space, clock, random, logger, pace, schedule }: EmbeddedClusterOptions) {
    this.#space = space;
    const controllers: Controller[] = [
      new DeploymentController(clock, pace.progressDeadlineMaxMs),
      new ReplicaSetController(clock),
      new StatefulSetController(),
      new DaemonSetController(),
      new JobController(clock),
      new CronJobController(clock),
      new PodController(clock, random, pace),
      new ClaimController(),
      new DisruptionBudgetController(clock),
      new AutoscalerController(clock),
    ];
    this.#runner = new ControllerRunner({ space, controllers, clock, logger, schedule });
    bootstrap(space, clock);
    this.#runner.start();
  }

  async apply(
    object: KubeObject,
    { dryRun = false, yields = false, at }: ClusterApplyOptions = {},
  ): Promise<KubeObject> {
    const { metadata, ...rest } = object;
    const options = { fieldManager: agentFieldManager, force: !yields, dryRun };
    return this.#space.apply({ ...rest, metadata: { ...metadata, ...at } }, options);
  }

  async create(object: KubeObject): Promise<KubeObject | undefined> {
    return this.#space.get(this.#space.keyOf(object))
      ? undefined
      : this.#space.apply(object, { fieldManager: agentFieldManager });
  }

  async patch(key: ObjectKey, change: object, at: ObjectVersion): Promise<void> {
    const patch = { ...change, metadata: { ...(change as { metadata?: object }).metadata, ...at } } as JsonObject;
    this.#space.patch(key, { type: 'merge', patch }, { fieldManager: returnedFieldManager });
  }

  async get(key: ObjectKey): Promise<KubeObject | undefined> {
    return this.#space.kinds.byResource(key) && this.#space.get(key);
  }

  async remove(
    key: ObjectKey,
    propagationPolicy: 'Foreground' | 'Background' | 'Orphan',
    uid?: string,
  ): Promise<boolean> {
    if (!(await this.get(key))) return false;
    try {
      this.#space.delete(key, {
        propagationPolicy,
        fieldManager: agentFieldManager,
        ...(uid === undefined ? {} : { preconditions: { uid } }),
      });
      return true;
    } catch (error) {
      if (error instanceof BanyanError && error.code === 'NotFound') return false;
      throw error;
    }
  }

  async resourceOf(apiVersion: string, kind: string): Promise<ServedResource | undefined> {
    const { group, version } = parseApiVersion(apiVersion);
    return this.#space.kinds.byKind(group, version, kind);
  }

  async served(): Promise<readonly ServedResource[]> {
    return this.#space.kinds.all();
  }

  watch(resource: GroupResource, events: Pick<WatchEvents, 'on' | 'synced'>): () => void {
    const { storage, kinds } = this.#space;
    const kind = kinds.byResource(resource);
    const of = kind ? storedResource(kind) : resource;
    const deliver = (type: ClusterEvent['type'], stored: StoredObject) => {
      const object = this.#space.parse(stored);
      const shown = (kind?.storedAs && kind.rules.convert(object, kind.storageVersion)) ?? object;
      events.on({ type, key: { ...stored.key, group: resource.group, resource: resource.resource }, object: shown });
    };
    const stop = storage.subscribe((changes) => {
      for (const { type, object } of changes) {
        if (object.key.group === of.group && object.key.resource === of.resource) deliver(type, object);
      }
    });
    const there = new Set<string>();
    for (const stored of storage.scan(of)) {
      there.add(formatKey({ ...stored.key, group: resource.group, resource: resource.resource }));
      deliver('ADDED', stored);
    }
    events.synced(there);
    return stop;
  }

  async *metadataOf(resource: GroupResource): AsyncGenerator<Pick<KubeObject, 'metadata'>> {
    for (const stored of [...this.#space.storage.scan(resource)]) yield this.#space.parse(stored);
  }

  async find(resource: GroupResource, { namespace, selector, fields, limit }: ClusterQuery): Promise<KubeObject[]> {
    const terms = Object.entries(fields ?? {}).map(([path, value]) => `${path}=${value}`);
    const selectable = this.#space.kinds.byResource(resource)?.selectableFields('v1') ?? [];
    const selection = selectionOf(selector ? selectorText(selector) : null, terms.join(','), selectable);
    const found: KubeObject[] = [];
    this.#space.storage.visit(resource, { namespace }, (stored) => {
      const object = this.#space.parse(stored);
      if (selection.matches(object)) found.push(object);
      return found.length < limit;
    });
    return found;
  }

  async describe(): Promise<ClusterDescription> {
    const nodes = [...this.#space.storage.scan({ group: '', resource: 'nodes' })];
    return {
      kubernetesVersion: kubernetesVersion.gitVersion,
      platform: kubernetesVersion.platform,
      ...describeNodes(nodes.map((node) => nodeSizeOf(this.#space.parse(node)))),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#runner.stop();
  }
}
