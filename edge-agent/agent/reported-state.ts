/** Computes the reported state of an object and of a placement at this destination, from the desired state, the work done, and the observed state. */

import type { TargetAttributes } from '../../core/entries/down-attributes.ts';
import type { StateAttributes } from '../../core/entries/up-attributes.ts';
import { precedence } from '../../core/match/precedence.ts';
import type { ObjectHealth } from '../../core/object/health.ts';
import { displayKey, parseKey } from '../../core/object/key.ts';
import { terminating } from '../../core/object/terminating.ts';
import { resultUnknown } from '../../core/summary/destination-status.ts';
import {
  adoptedReason,
  emptyPartial,
  type Failure,
  type Partial,
  smallestFailures,
} from '../../core/summary/partial.ts';
import { type ApplyProgress, unasked } from '../apply/progress.ts';
import type { RemovalObstacle } from '../apply/removal-progress.ts';
import { waitReasons } from '../apply/steps.ts';
import type { WaitCause } from '../causes/workload-cause.ts';
import type { Delivery } from '../desired/desired.ts';
import type { ObjectObservation } from '../observe/observer.ts';

export interface ObjectState extends Omit<StateAttributes, 'failed'> {
  /** Another source delivers the object and wins, or a rule of upsync takes the object. This field is not sent, because `reason` contains it. */
  readonly conflicted: boolean;
  readonly failed: boolean;
  /** The object is not available, and `reason` and `message` say why. Such an object is named in the sample of failures. This field is not sent. */
  readonly waits: boolean;
}

export function objectState(
  delivery: Delivery,
  winner: Delivery,
  progress: ApplyProgress | undefined,
  seen: ObjectObservation | undefined,
  /** Why the object is not available, if the agent has found out. */
  cause?: WaitCause,
): ObjectState {
  const base = { ...notApplied, desired: delivery.revision };
  if (delivery.source !== winner.source) {
    return { ...base, conflicted: true, reason: 'Conflicted', message: precedence(winner, delivery) };
  }
  if (!progress || progress.source !== delivery.source || progress.bodyHash !== delivery.bodyHash) {
    return { ...base, reason: unasked, message: 'the cluster has not been asked yet' };
  }
  if (progress.phase === 'absent') {
    const { isAvailable, isFailed, reason, message } = progress;
    const why = reason === undefined ? {} : { reason, message: message ?? '' };
    return { ...base, applied: true, available: isAvailable, failed: isFailed, ...why };
  }
  if (progress.phase !== 'applied') {
    const { phase, reason, message } = progress;
    return { ...base, failed: phase === 'failed', conflicted: phase === 'yielded', reason, message };
  }
  if (!seen)
    return { ...base, applied: true, reason: 'NotSeen', message: 'the cluster has not reported its state yet' };
  const { state, reason, message } = seen.health;
  const { fieldConflict, drift = fieldConflict, isAdopted } = progress;
  const adopted = isAdopted ? { reason: adoptedReason, message: adoptedMessage } : {};
  const noted = drift === undefined ? adopted : { reason: 'Drifted', message: drift };
  // The rules of the placement may allow drift, so drift is no error. The agent still reports it. But during a conflict the object changes all the time, and
  // nobody can rely on it.
  if (state === 'Current') return { ...base, applied: true, available: fieldConflict === undefined, ...noted };
  // Many kinds never become available while the agent corrects them again and again, or while a change of somebody else stays. Then the drift is the more
  // useful reason.
  if (drift !== undefined && state === 'InProgress') return { ...base, applied: true, ...noted };
  const why = cause ? withCause(seen.health, cause) : { reason, message };
  return { ...base, applied: true, failed: state === 'Failed', waits: cause !== undefined, ...why };
}

/** A workload with a deadline fails by the deadline. Its own message says so, and the cause says why. */
function withCause({ reason, message }: ObjectHealth, cause: WaitCause): WaitCause {
  if (reason !== 'ProgressDeadlineExceeded' || cause.reason === reason) return cause;
  return { ...cause, message: `${message.replace(/[.:]*$/, '')}: ${cause.message}` };
}

const notApplied = { applied: false, available: false, conflicted: false, failed: false, waits: false };

/** The state of an object that nobody wants any more and that is still on the cluster. An object whose removal is refused counts as failed. */
export function removalState({ reason, message, isRefused }: RemovalObstacle): ObjectState {
  return { ...notApplied, desired: 0, failed: isRefused, reason, message };
}

/** The state of an object that the site does not accept from its source. */
export function refusedState(desired: number, message: string): ObjectState {
  return { ...notApplied, desired, failed: true, reason: 'NotAccepted', message };
}

const adoptedMessage =
  'the object was on the cluster before; when no placement wants it any more, it gets its former values back and stays';

/** Reasons that are not failures. The sample of failures still has them, because they explain what people see. */
const notableReasons: ReadonlySet<string> = new Set([
  'Drifted',
  resultUnknown,
  adoptedReason,
  terminating,
  ...Object.values(waitReasons),
]);

/**
 * The partial of a placement at one destination: every count is 0 or 1. `settled`: all objects that the placement does not want any more are gone from the
 * cluster. `notes` go into the sample and do not count as failures.
 */
export function placementPartial(
  path: string,
  target: TargetAttributes,
  objects: Iterable<readonly [key: string, state: ObjectState]>,
  settled: boolean,
  notes: readonly Failure[] = [],
): Partial {
  let [applied, available, failed, conflicted] = [settled, settled, false, false];
  let failures = notes;
  for (const [key, state] of objects) {
    applied &&= state.applied;
    available &&= state.applied && state.available;
    failed ||= state.failed;
    conflicted ||= state.conflicted;
    if (!state.failed && !state.conflicted && !state.waits && !notableReasons.has(state.reason ?? '')) continue;
    const { reason = '', message = '' } = state;
    failures = smallestFailures(failures, [{ path, object: displayKey(parseKey(key)), reason, message }]);
  }
  const { counts, ...rest } = emptyPartial(target.generation, target.target);
  const one = { expected: 1, fresh: 1, synced: 1 };
  return {
    ...rest,
    counts: {
      ...counts,
      ...one,
      applied: Number(applied),
      available: Number(available),
      failed: Number(failed),
      conflicted: Number(conflicted),
    },
    failures,
  };
}
