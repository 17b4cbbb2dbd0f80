/** The conditions of an aggregated status. */
import { leftOutMessage } from './left-out.ts';
import { type ConditionStatus, isBadWhenTrue, type MergedCondition } from './status-conditions.ts';
import type { ObjectStanding, StatusPartial } from './status-partial.ts';
import { availableTotal, replicasTotal, type StatusRules } from './status-rules.ts';
import type { StatusVerdict } from './verdict.ts';

export interface StatusCondition {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
}

type Reason = Pick<StatusCondition, 'reason' | 'message'>;

/** The conditions by which kstatus, and with it Flux and helm 4, judge every kind. The aggregate sets them itself. */
const kstatusTypes: ReadonlySet<string> = new Set(['Stalled', 'Reconciling']);
/** The types that say of most kinds whether an object is available. */
const readyTypes: ReadonlySet<string> = new Set(['Ready', 'Available']);

export function aggregatedConditions(
  rules: StatusRules,
  partial: StatusPartial,
  verdict: StatusVerdict,
  isRolledBack: boolean,
): readonly StatusCondition[] {
  const why = isRolledBack ? rolledBack : reasonOf(partial, verdict);
  const conditions =
    rules.conditions === 'made'
      ? made(rules, partial, verdict, why)
      : rules.conditions === 'ended'
        ? ended(partial, verdict, why)
        : merged(rules, partial, verdict, why);
  const { leftOut } = partial;
  return [
    ...conditions,
    ...kstatusConditions(rules, conditions, verdict, why),
    ...(leftOut ? [leftOutCondition(leftOut, verdict)] : []),
  ];
}

/** The condition is no problem of the object: kstatus and Argo CD do not judge by it. */
function leftOutCondition(leftOut: readonly string[], { destinations }: StatusVerdict): StatusCondition {
  const message = leftOutMessage(leftOut, placesText(destinations));
  return { type: 'FieldsLeftOut', status: 'True', reason: 'NoRule', message };
}

/** `Stalled` when the object has failed, `Reconciling` while it is not available. A Job that is complete everywhere does not wait for anybody. */
function kstatusConditions(
  rules: StatusRules,
  conditions: readonly StatusCondition[],
  { isAvailable, isFailed }: StatusVerdict,
  why: Reason,
): StatusCondition[] {
  if (isFailed) return [{ type: 'Stalled', status: 'True', ...why }];
  const isComplete = rules.conditions === 'ended' && conditions.some(({ type }) => type === 'Complete');
  return isAvailable || isComplete ? [] : [{ type: 'Reconciling', status: 'True', ...why }];
}

// ------------------------------------------------------------------------------------------- kinds of their own

function made(
  rules: StatusRules,
  partial: StatusPartial,
  { isAvailable, isFailed, destinations }: StatusVerdict,
  why: Reason,
) {
  const conditions: StatusCondition[] = [];
  const replicas = `${amount(partial, availableTotal)} of ${amount(partial, replicasTotal)} replicas are available`;
  if (rules.ready !== undefined) {
    const all = { reason: 'MinimumReplicasAvailable', message: `${replicas} at ${placesText(destinations)}` };
    const not = { reason: why.reason, message: `${why.message} (${replicas})` };
    conditions.push({ type: rules.ready, status: isAvailable ? 'True' : 'False', ...(isAvailable ? all : not) });
    conditions.push(progressing(isAvailable, isFailed, all.message, why));
  }
  // Argo CD takes a ReplicaSet with this condition as failed.
  const isRefused = rules.ready === undefined ? isFailed : hasReplicaFailure(partial);
  if (isRefused) conditions.push({ type: 'ReplicaFailure', status: 'True', ...why });
  return conditions;
}

function hasReplicaFailure({ worst }: StatusPartial): boolean {
  const isTold = worst?.standing === 'waiting' || worst?.standing === 'failed';
  return isTold && worst.reason === 'ReplicaFailure';
}

/** kubectl, Argo CD and kstatus know a failed Deployment only by this reason. */
function progressing(isAvailable: boolean, isFailed: boolean, all: string, why: Reason): StatusCondition {
  const type = 'Progressing';
  if (isFailed) return { type, status: 'False', reason: 'ProgressDeadlineExceeded', message: why.message };
  if (isAvailable) return { type, status: 'True', reason: 'NewReplicaSetAvailable', message: all };
  return { type, status: 'True', reason: 'ReplicaSetUpdated', message: why.message };
}

/** Only conditions that are True: Argo CD takes any condition of a Job as true. */
function ended(
  { conditions }: StatusPartial,
  { destinations, isFailed }: StatusVerdict,
  why: Reason,
): StatusCondition[] {
  const shown = conditions.filter(({ type, count, status }) =>
    isBadWhenTrue(type) ? status === 'True' : !isFailed && count === destinations && status === 'True',
  );
  const known = shown.map(shownCondition);
  if (!isFailed || known.some(({ type }) => type === 'Failed')) return known;
  return [...known, { type: 'Failed', status: 'True', ...why }];
}

// ------------------------------------------------------------------------------------------------- other kinds

function merged(rules: StatusRules, partial: StatusPartial, verdict: StatusVerdict, why: Reason): StatusCondition[] {
  const { isAvailable, destinations } = verdict;
  const conditions = partial.conditions.filter(({ type }) => !kstatusTypes.has(type));
  const shown = conditions.map((condition) => {
    const { type, count } = condition;
    const isReady = type === rules.ready || readyTypes.has(type) || (rules.readyToo?.includes(type) ?? false);
    if (isReady && !isAvailable) return { type, status: 'False' as const, ...why };
    if (type === rules.ready && rules.decidesReady) return { ...shownCondition(condition), status: 'True' as const };
    // A destination at which the object is available without this condition does not wait for it.
    const isMissed = count < destinations && !isBadWhenTrue(type) && !isReady;
    return isMissed ? notEverywhere(condition, destinations) : shownCondition(condition);
  });
  const { ready } = rules;
  if (ready === undefined || isAvailable || shown.some(({ type }) => type === ready)) return shown;
  return [...shown, { type: ready, status: 'False', ...why }];
}

function notEverywhere({ type, count }: MergedCondition, destinations: number): StatusCondition {
  const message = `${count} of ${placesText(destinations)} report this condition`;
  return { type, status: 'Unknown', reason: 'NotReportedEverywhere', message };
}

function shownCondition({ type, status, reason, message, path }: MergedCondition): StatusCondition {
  return { type, status, reason, message: path === undefined ? message : `${path}: ${message}` };
}

// ----------------------------------------------------------------------------------------------------- reasons

const rolledBack: Reason = {
  reason: 'RolledBack',
  message: 'the release with this form of the object was rolled back; see status.rollout of its placement',
};

/** The reasons are those of the condition Ready of a placement. */
const sayings: Readonly<
  Record<ObjectStanding, { readonly reason: string; readonly one: string; readonly many: string }>
> = {
  failed: { reason: 'Failing', one: 'fails', many: 'fail' },
  conflicted: {
    reason: 'Conflicted',
    one: 'has the object of another source',
    many: 'have the object of another source',
  },
  quarantined: { reason: 'Quarantined', one: 'has a quarantined entry', many: 'have quarantined entries' },
  stale: { reason: 'Stale', one: 'is not connected', many: 'are not connected' },
  never: { reason: 'NeverReported', one: 'has not reported yet', many: 'have not reported yet' },
  waiting: { reason: 'Progressing', one: 'is not ready', many: 'are not ready' },
  available: { reason: 'AllAvailable', one: 'is available', many: 'are available' },
};

function reasonOf({ worst, counts }: StatusPartial, { destinations }: StatusVerdict): Reason {
  const standing = worst?.standing ?? 'available';
  const { reason, one, many } = sayings[standing];
  const count = counts[standing];
  const said = `${count} of ${placesText(destinations)} ${count === 1 ? one : many}`;
  if (!worst) return { reason, message: said };
  const isKnown = standing === 'stale' || standing === 'never' || worst.message === '';
  return { reason, message: isKnown ? `${said}: ${worst.path}` : `${said}: ${worst.path}: ${worst.message}` };
}

function placesText(destinations: number): string {
  return `${destinations} ${destinations === 1 ? 'destination' : 'destinations'}`;
}

function amount({ fields }: StatusPartial, name: string): number {
  const value = fields[name];
  return typeof value === 'number' ? value : 0;
}
