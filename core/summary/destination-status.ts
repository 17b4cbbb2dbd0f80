/** The status partial of one destination: made from the state that its agent reports about the object. */

import { leftOutOf } from './left-out.ts';
import { conditionsAt, messageMax, reasonMax } from './status-conditions.ts';
import { type FieldValues, fieldsAt, fieldsOfFormer } from './status-fields.ts';
import { countsOf, type ObjectStanding, type Problem, type StatusPartial } from './status-partial.ts';
import type { StatusRules } from './status-rules.ts';

export type Status = Readonly<Record<string, unknown>>;

export interface DestinationState {
  /** Path of the agent. */
  readonly path: string;
  readonly standing: ObjectStanding;
  /** Why the object is not available. */
  readonly reason: string;
  readonly message: string;
  /** The state is about the present form of the object: the same uid and generation. */
  readonly isCurrent: boolean;
  /** The present generation of the object at its origin. */
  readonly generation: number;
  /** The newest generation of the origin's object that the cluster has accepted. Absent: none, as far as the node knows. */
  readonly accepted?: number;
  /** The `.status` of the object at the destination, with generations of the origin. If the destination is not connected: the last one. */
  readonly status?: Status;
}

/** Standings of destinations that are connected and follow the object. */
const connected: ReadonlySet<ObjectStanding> = new Set(['failed', 'waiting', 'available']);

/**
 * The reason of a Job that counts as ended although the agent has not seen its end (decision 0049). Such a Job will never report a status, so it counts as
 * complete here, with the reason.
 */
export const resultUnknown = 'ResultUnknown';

export function destinationPartial(rules: StatusRules, state: DestinationState): StatusPartial {
  const { standing, path, status, isCurrent } = state;
  if (rules.conditions === 'ended' && standing === 'available' && state.reason === resultUnknown) {
    const { reason, message, generation } = state;
    const conditions = conditionsAt(path, [{ type: 'Complete', status: 'True', reason, message }]);
    return { counts: countsOf(standing), observed: generation, fields: {}, conditions };
  }
  const isConnected = connected.has(standing);
  const isDescribed = isConnected && (isCurrent || rules.observes !== false);
  const hasEnded = rules.conditions === 'ended' && isCurrent && standing === 'stale';
  const merges = rules.conditions !== 'made' && isCurrent && (isConnected || hasEnded);
  const problem = standing === 'available' ? undefined : problemOf(state);
  const observed = observedBy(state);
  const leftOut = isDescribed ? leftOutOf(rules, status) : [];
  return {
    counts: countsOf(standing),
    ...(problem ? { worst: problem } : {}),
    ...(observed === undefined ? {} : { observed }),
    ...(typeof status?.observedGeneration === 'number' ? { observes: true as const } : {}),
    fields: fieldsOf(rules, state, isDescribed, hasEnded),
    ...(leftOut.length > 0 ? { leftOut } : {}),
    conditions: merges ? conditionsAt(path, status?.conditions).filter(kept(rules)) : [],
  };
}

function fieldsOf(rules: StatusRules, state: DestinationState, isDescribed: boolean, hasEnded: boolean): FieldValues {
  const { standing, status } = state;
  // Of a destination that is not connected, the last status counts as far as fieldsOfFormer keeps it.
  const isAvailable = standing === 'available' || standing === 'stale';
  const fields = status ? fieldsAt(rules, { status, isAvailable }) : {};
  if (status && (isDescribed || hasEnded)) return fields;
  return fieldsOfFormer(rules, fields, 1);
}

/** Argo CD takes a condition of a Job as true if it exists, whatever its status is. */
function kept({ conditions }: StatusRules): (condition: { readonly status: string }) => boolean {
  return ({ status }) => conditions !== 'ended' || status === 'True';
}

function problemOf({ standing, path, reason, message }: DestinationState): Problem {
  return { standing, path, reason: reason.slice(0, reasonMax), message: message.slice(0, messageMax) };
}

/** The generation that the destination has observed. Undefined: the destination is not connected, so it does not count. */
function observedBy({ standing, isCurrent, generation, accepted, status }: DestinationState): number | undefined {
  if (standing === 'stale' || standing === 'never' || standing === 'quarantined') return undefined;
  // The destination has looked at the present generation, and can't have the object, or has it.
  if (isCurrent && standing !== 'waiting') return generation;
  const observed = status?.observedGeneration;
  const newest = Math.min(accepted ?? 0, typeof observed === 'number' ? observed : (accepted ?? 0));
  return Math.max(0, isCurrent ? newest : Math.min(newest, generation - 1));
}
