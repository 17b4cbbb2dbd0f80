/**
 * Knows which workloads an autoscaler scales: a HorizontalPodAutoscaler on the cluster, whoever made it, or a desired HorizontalPodAutoscaler or ScaledObject
 * (KEDA). The number of replicas of such a workload belongs to the cluster.
 *
 * The watch of the cluster's autoscalers begins when the first desired workload with a number of replicas needs the answer. Bound: one id for each autoscaler.
 */

import { formatKey, parseKey } from '../../core/object/key.ts';
import { type KubeObject, parseApiVersion } from '../../core/object/meta.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import type { Cluster, ClusterEvent, ServedResource } from '../cluster/cluster.ts';
import type { Desired } from '../desired/desired.ts';
import { ResourceWatches } from '../observe/resource-watches.ts';

export interface AutoscalersPorts {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly desired: Pick<Desired, 'objects' | 'deliveries' | 'object'>;
  /** Called with the key of a workload for which the answer has changed. */
  changed(key: string): void;
}

interface ScaleTarget {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

const autoscaler: ServedResource = {
  group: 'autoscaling',
  resource: 'horizontalpodautoscalers',
  kind: 'HorizontalPodAutoscaler',
  versions: ['v2'],
  namespaced: true,
};
/** Resources of autoscalers. KEDA makes a HorizontalPodAutoscaler of each ScaledObject, some time after the ScaledObject (https://keda.sh/docs/latest/reference/scaledobject-spec/). */
const prefixes: readonly string[] = ['autoscaling/horizontalpodautoscalers/', 'keda.sh/scaledobjects/'];

/** How long the agent waits for the first list of autoscalers. After this time, it decides by the desired autoscalers alone. */
const answerMaxMs = 60_000;

export class Autoscalers {
  readonly #ports: AutoscalersPorts;
  readonly #watches: ResourceWatches;
  /** The target of each autoscaler on the cluster, keyed by the key of the autoscaler. */
  readonly #onCluster = new Map<string, ScaleTarget>();
  /** The target of each desired autoscaler, keyed likewise. */
  readonly #desired = new Map<string, ScaleTarget>();
  /** How many autoscalers of both maps have the target, keyed by its id. */
  readonly #counts = new Map<string, number>();
  /** Keys of workloads that wait for the first answer. */
  readonly #waiting = new Set<string>();
  readonly #deciding: (() => void)[] = [];
  #state: 'idle' | 'asking' | 'known' = 'idle';
  #timer: Timer | undefined;

  constructor(ports: AutoscalersPorts) {
    this.#ports = ports;
    this.#watches = new ResourceWatches(ports.cluster, {
      on: (event) => this.#seen(event),
      synced: () => this.#known(),
      refused: () => this.#known(),
      ended: () => {},
    });
  }

  /** Reads the desired autoscalers. */
  start(): void {
    this.desiredChanged(this.#ports.desired.objects());
  }

  stop(): void {
    this.#timer?.stop();
    this.#watches.stop();
  }

  /** Called when the desired state of these objects has changed. */
  desiredChanged(keys: Iterable<string>): void {
    const { desired } = this.#ports;
    for (const key of keys) {
      if (!prefixes.some((prefix) => key.startsWith(prefix))) continue;
      const [winner] = desired.deliveries(key);
      this.#note(this.#desired, key, winner && scaleTargetOf(desired.object(winner), parseKey(key).namespace));
    }
  }

  /** Whether an autoscaler scales the desired workload. 'unknown': `changed` is called with the key when the answer is known. */
  scales(key: string, object: KubeObject): boolean | 'unknown' {
    if (typeof (object.spec as { replicas?: unknown } | undefined)?.replicas !== 'number') return false;
    const { apiVersion, kind } = object;
    const { namespace, name } = parseKey(key);
    if (this.#counts.has(idOf({ apiVersion, kind, namespace, name }))) return true;
    if (this.#state === 'idle') this.#ask();
    if (this.#state === 'known') return false;
    this.#waiting.add(key);
    return 'unknown';
  }

  /** Resolves when `scales` does not return 'unknown' any more. */
  async decided(): Promise<void> {
    if (this.#state === 'asking') await new Promise<void>((resolve) => this.#deciding.push(resolve));
  }

  #ask(): void {
    this.#state = 'asking';
    this.#timer = this.#ports.clock.after(answerMaxMs, () => this.#known());
    this.#watches.add(autoscaler);
  }

  #known(): void {
    this.#state = 'known';
    this.#timer?.stop();
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const key of waiting) this.#ports.changed(key);
    for (const resolve of this.#deciding.splice(0)) resolve();
  }

  #seen({ type, key, object }: ClusterEvent): void {
    const target = type === 'DELETED' ? undefined : scaleTargetOf(object, key.namespace);
    this.#note(this.#onCluster, formatKey(key), target);
  }

  #note(map: Map<string, ScaleTarget>, key: string, target: ScaleTarget | undefined): void {
    const before = map.get(key);
    if (before && target && idOf(before) === idOf(target)) return;
    if (target) {
      map.set(key, target);
      this.#count(target, 1);
    } else {
      map.delete(key);
    }
    if (before) this.#count(before, -1);
  }

  #count(target: ScaleTarget, by: 1 | -1): void {
    const id = idOf(target);
    const before = this.#counts.get(id) ?? 0;
    if (before + by > 0) this.#counts.set(id, before + by);
    else this.#counts.delete(id);
    if (before === 0 || before + by === 0) void this.#look(target);
  }

  /** If the cluster does not answer which resource the target has, the agent looks at the target when the autoscaler changes the target. */
  async #look({ apiVersion, kind, namespace, name }: ScaleTarget): Promise<void> {
    const { cluster, changed, desired } = this.#ports;
    const served = await cluster.resourceOf(apiVersion, kind).catch(() => undefined);
    if (!served) return;
    const key = formatKey({ group: served.group, resource: served.resource, namespace, name });
    if (desired.deliveries(key).length > 0) changed(key);
  }
}

/** Undefined: the autoscaler names no target. Defaults: those of KEDA; a HorizontalPodAutoscaler always has both fields. */
function scaleTargetOf({ spec }: KubeObject, namespace: string): ScaleTarget | undefined {
  const { scaleTargetRef } = (spec ?? {}) as { scaleTargetRef?: { apiVersion?: string; kind?: string; name?: string } };
  const { apiVersion = 'apps/v1', kind = 'Deployment', name } = scaleTargetRef ?? {};
  return name === undefined ? undefined : { apiVersion, kind, namespace, name };
}

function idOf({ apiVersion, kind, namespace, name }: ScaleTarget): string {
  return `${parseApiVersion(apiVersion).group}/${kind}/${namespace}/${name}`;
}
