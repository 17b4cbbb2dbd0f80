/** The cells of a Pod that come from the states of its containers, worked out as kube-apiserver does. */
import type { KubeObject } from '../../object/meta.ts';
import { humanDuration } from './ages.ts';
import { get, listAt, number, type ReadFields, textAt } from './cells.ts';

interface PodCells {
  readonly ready: string;
  readonly status: string;
  readonly restarts: string;
}

interface Restarts {
  readonly count: number;
  /** The end of the last former run of a container. 0: no container has run before. */
  readonly lastMs: number;
}

export function podCells(pod: KubeObject, nowMs: number): PodCells {
  const init = initOf(pod);
  const isInitialized = init.reason === undefined || condition(pod, 'Initialized') === 'True';
  const containers = listAt(pod, 'status.containerStatuses');
  // The restarts of the init containers that are done no longer count when the containers run.
  const restarts = isInitialized ? restartsOf([...init.sidecars, ...containers]) : restartsOf(init.seen);
  const running = isInitialized ? containers.filter((one) => one.ready && get(one, 'state.running')) : [];
  const total = listAt(pod, 'spec.containers').length + listAt(pod, 'spec.initContainers').filter(isSidecar).length;
  const ago = restarts.count && restarts.lastMs ? ` (${humanDuration(nowMs - restarts.lastMs)} ago)` : '';
  return {
    ready: `${init.readySidecars + running.length}/${total}`,
    status: endingStatus(pod) ?? (isInitialized ? runningStatus(pod, running.length > 0, init.reason) : init.reason!),
    restarts: `${restarts.count}${ago}`,
  };
}

interface Init {
  /** Why the Pod is still being initialized. Undefined: every init container is done. */
  readonly reason: string | undefined;
  /** The statuses up to the first init container that is not done. */
  readonly seen: readonly ReadFields[];
  readonly sidecars: readonly ReadFields[];
  readonly readySidecars: number;
}

function initOf(pod: KubeObject): Init {
  const specs = new Map(listAt(pod, 'spec.initContainers').map((one) => [one.name, one]));
  const statuses = listAt(pod, 'status.initContainerStatuses');
  const isOfSidecar = (one: ReadFields) => isSidecar(specs.get(one.name) ?? {});
  const isDone = (one: ReadFields) =>
    (get(one, 'state.terminated') && number(one, 'state.terminated.exitCode') === 0) ||
    (isOfSidecar(one) && one.started === true);
  const at = statuses.findIndex((one) => !isDone(one));
  const seen = at < 0 ? statuses : statuses.slice(0, at + 1);
  const done = at < 0 ? statuses : statuses.slice(0, at);
  return {
    reason: at < 0 ? undefined : initReason(statuses[at]!, at, specs.size),
    seen,
    sidecars: seen.filter(isOfSidecar),
    readySidecars: done.filter((one) => isOfSidecar(one) && !get(one, 'state.terminated') && one.ready).length,
  };
}

function initReason(status: ReadFields, at: number, count: number): string {
  const ended = get(status, 'state.terminated');
  if (ended) return `Init:${endReason(ended)}`;
  const waiting = textAt(status, 'state.waiting.reason');
  return waiting && waiting !== 'PodInitializing' ? `Init:${waiting}` : `Init:${at}/${count}`;
}

function runningStatus(pod: KubeObject, hasRunning: boolean, initial: string | undefined): string {
  // The first container decides.
  const reasons = listAt(pod, 'status.containerStatuses').flatMap(({ state }) => {
    const waiting = textAt(state, 'waiting.reason');
    const ended = get(state, 'terminated');
    return waiting ? [waiting] : ended ? [endReason(ended)] : [];
  });
  const reason = reasons[0] ?? initial ?? podReason(pod);
  if (reason !== 'Completed' || !hasRunning) return reason;
  return condition(pod, 'Ready') === 'True' ? 'Running' : 'NotReady';
}

function podReason(pod: KubeObject): string {
  const isGated = listAt(pod, 'status.conditions').some(
    ({ type, reason }) => type === 'PodScheduled' && reason === 'SchedulingGated',
  );
  return isGated ? 'SchedulingGated' : textAt(pod, 'status.reason') || textAt(pod, 'status.phase', 'Pending');
}

/** The status of a Pod that is being deleted. */
function endingStatus(pod: KubeObject): string | undefined {
  if (!pod.metadata.deletionTimestamp) return undefined;
  if (get(pod, 'status.reason') === 'NodeLost') return 'Unknown';
  return ['Succeeded', 'Failed'].includes(textAt(pod, 'status.phase')) ? undefined : 'Terminating';
}

function endReason(ended: unknown): string {
  const signal = number(ended, 'signal');
  return textAt(ended, 'reason') || (signal ? `Signal:${signal}` : `ExitCode:${number(ended, 'exitCode')}`);
}

function restartsOf(statuses: readonly ReadFields[]): Restarts {
  const ends = statuses.map((one) => Date.parse(textAt(one, 'lastState.terminated.finishedAt')) || 0);
  return { count: statuses.reduce((sum, one) => sum + number(one, 'restartCount'), 0), lastMs: Math.max(0, ...ends) };
}

const isSidecar = ({ restartPolicy }: ReadFields) => restartPolicy === 'Always';

function condition(pod: KubeObject, wanted: string): unknown {
  return listAt(pod, 'status.conditions').find(({ type }) => type === wanted)?.status;
}
