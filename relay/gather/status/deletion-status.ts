/**
 * The conditions of a placement that was deleted and waits for its finalizers. Its objects are withdrawn (relay/spaces/deleted-in-space.ts), and the counts are
 * about the destinations that have removed them.
 */
import { type NewCondition, withCondition } from '../../../core/object/conditions.ts';
import type { Condition, KubeObject } from '../../../core/object/meta.ts';
import { isTerminating, terminating } from '../../../core/object/terminating.ts';
import type { DestinationCounts } from '../../../core/summary/partial.ts';
import { type PlacementStatus, shortNumber } from './placement-status.ts';

/** True: no destination has an object of the placement any more. A finalizer may wait for this condition. */
const withdrawnType = 'Withdrawn';

/** Returns the status with the conditions of a deleted placement. A placement that was not deleted keeps its status. `before`: the stored conditions. */
export function withDeletion(
  placement: KubeObject,
  status: PlacementStatus,
  before: readonly Condition[],
  now: string,
): PlacementStatus {
  if (!isTerminating(placement)) return status;
  const { observedGeneration, summary } = status;
  const stated = [ready(placement), withdrawn(summary)].reduce<readonly Condition[]>(
    (conditions, next) => withCondition(conditions, { ...next, observedGeneration }, now),
    before.filter(({ type }) => type === 'Ready' || type === withdrawnType),
  );
  const others = status.conditions.filter(({ type }) => stated.every((one) => one.type !== type));
  return { ...status, conditions: [...stated, ...others] };
}

function ready({ metadata }: KubeObject): NewCondition {
  const finalizers = (metadata.finalizers ?? []).join(', ');
  const message = `the placement was deleted, and its objects are withdrawn; the placement waits for its finalizers ${finalizers}`;
  return { type: 'Ready', status: 'False', reason: terminating, message };
}

function withdrawn({ applied, expected, stale }: DestinationCounts): NewCondition {
  if (applied === expected) {
    const message = `all ${shortNumber(expected)} destinations have removed the objects of the placement`;
    return { type: withdrawnType, status: 'True', reason: 'AllRemoved', message };
  }
  const away = stale > 0 ? `; ${shortNumber(stale)} are not connected` : '';
  const message = `${shortNumber(applied)} of ${shortNumber(expected)} destinations have removed the objects of the placement${away}; see status.failures`;
  return { type: withdrawnType, status: 'False', reason: 'Removing', message };
}
