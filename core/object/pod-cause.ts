/**
 * Finds out why a pod is not ready, from the pod alone. The text stays the same while the cause does: the kubelet lets a container alternate between several
 * states while it tries again and again, and this module gives one name to all of them.
 */
import type { KubeObject } from './meta.ts';
import { steadyText } from './steady-text.ts';

export interface PodCause {
  /** CamelCase: `CrashLoopBackOff`. */
  readonly reason: string;
  /** `container app CrashLoopBackOff: exit code 137 (OOMKilled)` */
  readonly message: string;
  /** How much the cause explains. 0: the pod can't become ready by itself. 1: the pod waits for something. 2: only the state is known; see the pod's events. */
  readonly rank: 0 | 1 | 2;
}

interface ContainerStatus {
  readonly name?: string;
  readonly image?: string;
  readonly ready?: boolean;
  readonly started?: boolean;
  readonly restartCount?: number;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
}

interface ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly terminated?: { readonly exitCode?: number; readonly signal?: number; readonly reason?: string };
  readonly running?: object;
}

interface PodView {
  readonly spec?: {
    readonly containers?: readonly { readonly name: string; readonly image?: string }[];
    readonly initContainers?: readonly { readonly name: string; readonly image?: string }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly conditions?: readonly { type: string; status: string; reason?: string; message?: string }[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

export function isReadyPod(pod: KubeObject): boolean {
  const { conditions = [] } = (pod as PodView).status ?? {};
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
}

/** Returns undefined for a pod that is ready or has completed. */
export function podCause(pod: KubeObject): PodCause | undefined {
  const { status = {} } = pod as PodView;
  if (isReadyPod(pod) || status.phase === 'Succeeded') return undefined;
  const scheduled = status.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False' && scheduled.reason === 'Unschedulable') {
    return { reason: 'Unschedulable', message: steadyText(`no node fits: ${scheduled.message ?? ''}`), rank: 0 };
  }
  const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  const causes = containers.flatMap((container) => containerCause(pod as PodView, container) ?? []);
  // The first of the worst, in the order of the spec.
  const [worst] = causes.sort((a, b) => a.rank - b.rank);
  if (status.phase === 'Failed' && status.reason) {
    return { reason: status.reason, message: steadyText(`${status.reason}: ${status.message ?? ''}`), rank: 0 };
  }
  return worst ?? { reason: 'PodPending', message: 'the pod waits', rank: 2 };
}

function containerCause(pod: PodView, container: ContainerStatus): PodCause | undefined {
  const { name = '', state = {}, restartCount = 0, ready = false } = container;
  const { waiting, terminated } = state;
  if (waiting?.reason !== undefined && imageReasons.has(waiting.reason)) {
    const why = pullTrouble(waiting.message ?? '');
    const image = imageOf(pod, name) ?? container.image ?? '';
    return of('ImagePullBackOff', name, `the image ${image} can't be pulled${why === undefined ? '' : `: ${why}`}`, 0);
  }
  const ended = terminated ?? container.lastState?.terminated;
  const isCrashing = waiting?.reason === 'CrashLoopBackOff' || (!ready && restartCount > 0 && isError(ended));
  if (isCrashing)
    return of('CrashLoopBackOff', name, ended ? exitText(ended) : 'the container ends again and again', 0);
  if (terminated) return isError(terminated) ? of('Error', name, exitText(terminated), 0) : undefined;
  if (waiting?.reason !== undefined && !plainWaits.has(waiting.reason)) {
    return of(waiting.reason, name, steadyText(waiting.message ?? ''), 1);
  }
  if (waiting) return of('ContainerCreating', name, 'it is being created', 2);
  return state.running && !ready ? of('NotReady', name, 'it runs and is not ready', 2) : undefined;
}

function of(reason: string, container: string, detail: string, rank: PodCause['rank']): PodCause {
  const text = detail === '' ? '' : `: ${detail}`;
  return { reason, message: steadyText(`container ${container} ${reason}${text}`), rank };
}

const imageReasons: ReadonlySet<string> = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'InvalidImageName',
  'ImageInspectError',
  'RegistryUnavailable',
]);
const plainWaits: ReadonlySet<string> = new Set(['ContainerCreating', 'PodInitializing']);

function imageOf({ spec }: PodView, name: string): string | undefined {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].find((one) => one.name === name)?.image;
}

/** The answers of registries differ, and have ids and addresses. Only these few words say what to do. */
function pullTrouble(message: string): string | undefined {
  return pullTroubles.find(([pattern]) => pattern.test(message))?.[1];
}

const pullTroubles: readonly (readonly [RegExp, string])[] = [
  [/pull access denied|insufficient_scope/i, 'it does not exist, or the cluster may not pull it'],
  [/not found|manifest unknown|name unknown|does not exist/i, 'it does not exist'],
  [/unauthorized|forbidden|denied|authentication required|no basic auth/i, 'the registry refuses the credentials'],
  [/toomanyrequests|too many requests|rate limit/i, 'the registry limits the number of pulls'],
  [/x509|certificate/i, 'the certificate of the registry is not trusted'],
  [
    /no such host|server misbehaving|time.?out|timed out|deadline exceeded|refused|unreachable|no route|EOF/i,
    "the registry can't be reached",
  ],
  [/no matching manifest|no match for platform|exec format/i, 'it is not made for the platform of the node'],
  [/invalid reference|couldn't parse|InvalidImageName/i, 'its name is not valid'],
  [/no space left/i, 'the disk of the node is full'],
];

function isError(terminated: ContainerState['terminated']): boolean {
  return terminated !== undefined && (terminated.exitCode ?? 0) !== 0;
}

function exitText({ exitCode = 0, signal, reason }: NonNullable<ContainerState['terminated']>): string {
  const code = signal ? `signal ${signal}` : `exit code ${exitCode}`;
  return reason && reason !== 'Error' && reason !== 'Completed' ? `${code} (${reason})` : code;
}
