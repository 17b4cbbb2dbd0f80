/**
 * The scheduler and the kubelet of the only node. This controller brings a pod from station to station of its life, as if images were pulled and containers
 * started. The name of the image decides how a pod ends. An image `…:broken` can't be pulled, and the pod never becomes ready. An image `…:failing` starts
 * and exits with an error. Any other image starts. It then runs without an end, or exits with success if the pod must not be restarted.
 */
import { timestamp } from '../../../../core/object/conditions.ts';
import type { GroupResource, ObjectKey } from '../../../../core/object/key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import type { Clock } from '../../../../core/runtime/clock.ts';
import type { Random } from '../../../../core/runtime/random.ts';
import type { Controller } from './controller.ts';
import type { Objects } from './objects.ts';
import type { PodPace } from './pace.ts';
import { type Container, type Pod, type PodStatus, podResource } from './pods.ts';

export const nodeName = 'node-1';
const ownScheduler = 'default-scheduler';
const nodeAddress = '10.0.0.1';

/** The stations. A pod's status shows its present station. */
type Station = 'New' | 'Creating' | 'Started' | 'Ready' | 'Stuck' | 'Ended';

export class PodController implements Controller {
  readonly name = 'kubelet';
  readonly resource: GroupResource = podResource;
  readonly watches = [];
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #pace: PodPace;
  /** The time at which each pod leaves its present station, keyed by uid. */
  readonly #due = new Map<string, { station: Station; atMs: number }>();

  constructor(clock: Clock, random: Random, pace: PodPace) {
    this.#clock = clock;
    this.#random = random;
    this.#pace = pace;
  }

  reconcile(object: KubeObject, key: ObjectKey, objects: Objects): number | undefined {
    const pod = object as Pod;
    const uid = pod.metadata.uid ?? '';
    const { nodeName: node, schedulerName = ownScheduler } = pod.spec ?? {};
    if (!node) {
      // Another scheduler binds the pod.
      if (schedulerName !== ownScheduler) return undefined;
      objects.bind(pod, nodeName, timestamp(this.#clock.wallMs()));
      return 0;
    }
    const station = stationOf(pod);
    const next = nextStation(pod, station);
    if (!next) {
      this.#due.delete(uid);
      return undefined;
    }
    const leftMs = this.#leftMs(uid, station);
    if (leftMs > 0) return leftMs;
    this.#due.delete(uid);
    objects.writeStatus(pod, this.#status(pod, next, key));
    return 0;
  }

  /** How long the pod stays in its station. The time begins when the controller first sees the pod in the station. A new pod does not wait. */
  #leftMs(uid: string, station: Station): number {
    if (station === 'New') return 0;
    const nowMs = this.#clock.monotonicMs();
    const due = this.#due.get(uid);
    if (due?.station === station) return due.atMs - nowMs;
    const { stepMinMs, stepMaxMs } = this.#pace;
    const stepMs = stepMinMs + this.#random.fraction() * (stepMaxMs - stepMinMs);
    this.#due.set(uid, { station, atMs: nowMs + stepMs });
    return stepMs;
  }

  #status(pod: Pod, station: Station, key: ObjectKey): PodStatus {
    const now = timestamp(this.#clock.wallMs());
    const before = pod.status ?? {};
    const phase = phaseAt(station, pod);
    const ready = station === 'Ready';
    const over = station === 'Ended';
    const started = ready || over || station === 'Started';
    const conditions = [
      ['PodReadyToStartContainers', started && !over],
      ['Initialized', started],
      ['Ready', ready],
      ['ContainersReady', ready],
      ['PodScheduled', true],
    ] as const;
    return {
      phase,
      conditions: conditions.map(([type, holds]) => {
        const status = holds ? 'True' : 'False';
        const old = before.conditions?.find((condition) => condition.type === type);
        const lastTransitionTime = old?.status === status ? (old.lastTransitionTime ?? now) : now;
        const reason = holds ? {} : over ? { reason: 'PodCompleted' } : notReady(pod);
        return { type, status, lastProbeTime: null, lastTransitionTime, ...reason };
      }),
      hostIP: nodeAddress,
      hostIPs: [{ ip: nodeAddress }],
      startTime: before.startTime ?? now,
      ...(started ? { podIP: addressOf(key), podIPs: [{ ip: addressOf(key) }] } : {}),
      qosClass: qosClass(pod.spec?.containers ?? []),
      containerStatuses: (pod.spec?.containers ?? []).map((container) =>
        containerStatus(container, station, before, now),
      ),
    };
  }
}

function stationOf(pod: Pod): Station {
  const { phase, conditions } = pod.status ?? {};
  if (phase === 'Succeeded' || phase === 'Failed') return 'Ended';
  if (phase === 'Running') {
    return conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True')
      ? 'Ready'
      : 'Started';
  }
  if (conditions === undefined || conditions.length === 0) return 'New';
  const waiting = ((pod.status?.containerStatuses ?? []) as { state?: { waiting?: { reason?: string } } }[]).some(
    (container) => container.state?.waiting?.reason === 'ImagePullBackOff',
  );
  return waiting ? 'Stuck' : 'Creating';
}

function nextStation(pod: Pod, station: Station): Station | undefined {
  const broken = hasImage(pod, ':broken');
  switch (station) {
    case 'New':
      return 'Creating';
    case 'Creating':
      return broken ? 'Stuck' : 'Started';
    case 'Stuck':
      // Kubernetes allows to change the image of an existing pod.
      return broken ? undefined : 'Started';
    case 'Started':
      return endsByItself(pod) ? 'Ended' : 'Ready';
    case 'Ready':
    case 'Ended':
      return undefined;
  }
}

function endsByItself(pod: Pod): boolean {
  return (pod.spec?.restartPolicy ?? 'Always') !== 'Always';
}

function phaseAt(station: Station, pod: Pod): string {
  if (station === 'Ended') return hasImage(pod, ':failing') ? 'Failed' : 'Succeeded';
  return station === 'Started' || station === 'Ready' ? 'Running' : 'Pending';
}

function containerStatus(container: Container, station: Station, before: PodStatus, now: string): object {
  const { name, image = '' } = container;
  const earlier = (
    (before.containerStatuses ?? []) as { name: string; state?: { running?: { startedAt: string } } }[]
  ).find((one) => one.name === name);
  const startedAt = earlier?.state?.running?.startedAt ?? now;
  const running = station === 'Started' || station === 'Ready';
  const exitCode = image.endsWith(':failing') ? 1 : 0;
  const reason = exitCode === 0 ? 'Completed' : 'Error';
  const state = running
    ? { running: { startedAt } }
    : station === 'Ended'
      ? { terminated: { exitCode, reason, startedAt, finishedAt: now } }
      : {
          waiting:
            station === 'Stuck' && image.endsWith(':broken') ? pullBackOff(image) : { reason: 'ContainerCreating' },
        };
  return {
    name,
    image,
    imageID: running || station === 'Ended' ? `${image}@embedded` : '',
    ready: station === 'Ready',
    started: running,
    restartCount: 0,
    lastState: {},
    state,
  };
}

function pullBackOff(image: string): object {
  return { reason: 'ImagePullBackOff', message: `Back-off pulling image "${image}"` };
}

function notReady(pod: Pod): object {
  const names = (pod.spec?.containers ?? []).map((container) => container.name).join(' ');
  return { reason: 'ContainersNotReady', message: `containers with unready status: [${names}]` };
}

function hasImage(pod: Pod, suffix: string): boolean {
  return (pod.spec?.containers ?? []).some((container) => container.image?.endsWith(suffix));
}

/** An address of the form 10.244.x.y, made from the pod's name. It is stable, and probably unique. */
function addressOf(key: ObjectKey): string {
  let hash = 0;
  for (const char of `${key.namespace}/${key.name}`) hash = (Math.imul(hash, 31) + char.charCodeAt(0)) >>> 0;
  return `10.244.${(hash >>> 8) & 0xff}.${1 + ((hash & 0xff) % 254)}`;
}

/** https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/ */
function qosClass(containers: readonly Container[]): string {
  const resources = containers.map((container) => container.resources ?? {});
  const none = resources.every(
    ({ requests = {}, limits = {} }) => Object.keys({ ...requests, ...limits }).length === 0,
  );
  if (none) return 'BestEffort';
  const guaranteed = resources.every(({ requests = {}, limits = {} }) =>
    ['cpu', 'memory'].every((name) => limits[name] !== undefined && (requests[name] ?? limits[name]) === limits[name]),
  );
  return guaranteed ? 'Guaranteed' : 'Burstable';
}
