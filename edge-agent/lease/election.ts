/**
 * Decides which agent is active. A pure machine for one candidate.
 *
 * No two agents hold the Lease at the same time. A holder counts its time from before it sent the request that was granted, and stops `renewDeadlineMs` after
 * that, by its own clock. A candidate counts from the time at which it received a record. If the record has not changed for at least `durationMs` by the
 * candidate's own clock, the candidate overwrites it. So `durationMs - renewDeadlineMs` pass between the end of the old holder's time and the first moment of
 * the next holder. The clocks may show any time of day, as long as their rates differ by less than a fifth. An agent gets the Lease only by a write over the
 * version that it has read. So a late answer only costs the time until it arrives.
 *
 * If the Lease is missing, somebody may have deleted it while an agent held it. If somebody has cleared the Lease, it does not show its holder either. A
 * candidate waits in both cases. It first creates the missing Lease without a holder: only for an existing record can it know that the version has not
 * changed. A holder that ends properly writes the duration `releasedLeaseMs`, so that the next candidate need not wait.
 */
import { handoverTo, type LeaseHandover, type LeaseRecord } from './lease.ts';

/** As long as in other leader elections, but short enough for a standby to become active within 15 s. */
export const durationMs = 10_000;
/** A fifth less than `durationMs`, for clocks with other rates and for a request on its way. */
export const renewDeadlineMs = 8_000;
/** The duration that client-go writes into a Lease that its holder has released. */
export const releasedLeaseMs = 1_000;
/** Interval between two renewals. Three renewals may be lost. A candidate reads the Lease at the same interval. */
export const renewMs = 2_000;
/** How soon a holder asks again after no answer: it has little time. */
const againMs = 500;

export interface ElectionState {
  /** The id of this process. After a restart, the process has another id. */
  readonly me: string;
  /** The path of the agent to which the Lease belongs. */
  readonly path: string;
  readonly role: 'candidate' | 'holder' | 'released' | 'lost';
  /** The record that was last read or written, and the time since which it is known to be unchanged. */
  readonly seen: { readonly record: LeaseRecord | undefined; readonly sinceMs: number } | undefined;
  /** The time until which a holder holds the Lease. */
  readonly heldUntilMs: number;
  /** The request that is running, and the time at which it was sent. There is at most one. */
  readonly asking: { readonly type: 'read' | 'write'; readonly sentMs: number } | undefined;
  readonly dueMs: number;
  /** After a request without an answer, the machine sends nothing before this time. */
  readonly pausesUntilMs: number;
  /** True: the agent reads the record before its next write. */
  readonly mustRead: boolean;
  /** The values that the record must contain for a successor. */
  readonly handover: LeaseHandover;
  readonly ending: boolean;
}

export type ElectionInput =
  | { readonly type: 'tick' }
  | { readonly type: 'read'; readonly record: LeaseRecord | undefined }
  | { readonly type: 'written'; readonly record: LeaseRecord }
  /** Somebody else has written the Lease. */
  | { readonly type: 'refused' }
  /** The result of the request is not known. */
  | { readonly type: 'failed' }
  | { readonly type: 'handOver'; readonly handover: LeaseHandover }
  /** The process ends properly: a holder releases the Lease. */
  | { readonly type: 'end' };

export type ElectionEffect =
  | { readonly type: 'read' }
  | {
      readonly type: 'write';
      readonly over: LeaseRecord | undefined;
      readonly holder: string;
      readonly durationMs: number;
      readonly transitions: number;
      readonly handover: LeaseHandover;
    };

export interface ElectionStep {
  readonly state: ElectionState;
  /** At most one request. Absent while another request is running. */
  readonly effect?: ElectionEffect;
}

export function candidate(me: string, path: string, nowMs: number): ElectionState {
  return {
    me,
    path,
    role: 'candidate',
    seen: undefined,
    heldUntilMs: Number.NEGATIVE_INFINITY,
    asking: undefined,
    dueMs: nowMs,
    pausesUntilMs: nowMs,
    mustRead: false,
    handover: {},
    ending: false,
  };
}

/** Whether the agent holds the Lease now. If the state does not change, the answer is true until `heldUntilMs`. */
export function holds(state: ElectionState, nowMs: number): boolean {
  return state.role === 'holder' && nowMs < state.heldUntilMs;
}

/**
 * The path of the other agent to which the Lease belongs. This candidate can never get such a Lease. Undefined: the Lease belongs to this agent, or to no
 * agent. The Lease of another path belongs to this agent too if it was installed for this agent: then this agent has moved.
 */
export function isOfAnother({ seen, path }: ElectionState): string | undefined {
  const { handover, installedFor } = seen?.record ?? {};
  const owner = handover?.path;
  return owner === undefined || owner === path || installedFor === path ? undefined : owner;
}

/** The time at which the machine needs its next tick. Undefined: the machine waits for an answer, or its work is over. */
export function nextElectionTickMs(state: ElectionState): number | undefined {
  if (state.asking || isOver(state)) return undefined;
  const expiryMs = state.role === 'candidate' ? expiryOf(state) : Number.POSITIVE_INFINITY;
  return Math.max(state.pausesUntilMs, Math.min(state.dueMs, expiryMs));
}

export function stepElection(state: ElectionState, input: ElectionInput, nowMs: number): ElectionStep {
  switch (input.type) {
    case 'tick':
      return go(state, nowMs);
    case 'handOver':
      return go({ ...state, handover: { ...state.handover, ...input.handover }, dueMs: nowMs }, nowMs);
    case 'end':
      return go({ ...state, ending: true, dueMs: nowMs }, nowMs);
    case 'written':
      return go(written(state, input.record, nowMs), nowMs);
    case 'refused':
      return go({ ...state, asking: undefined, dueMs: nowMs, mustRead: true }, nowMs);
    case 'failed': {
      const againAtMs = nowMs + (state.role === 'holder' ? againMs : renewMs);
      return go({ ...state, asking: undefined, dueMs: againAtMs, pausesUntilMs: againAtMs }, nowMs);
    }
    case 'read':
      return go(read({ ...state, asking: undefined, mustRead: false }, input.record, nowMs), nowMs);
  }
}

function written(state: ElectionState, record: LeaseRecord, nowMs: number): ElectionState {
  const sentMs = state.asking?.sentMs ?? nowMs;
  const seen = { record, sinceMs: nowMs };
  if (record.holder !== state.me) {
    const role = state.role === 'candidate' ? 'candidate' : 'released';
    return { ...state, asking: undefined, seen, role, dueMs: nowMs + renewMs };
  }
  // The record may lack handover values that were set after the request was sent.
  const isUpToDate = recordsAll(record.handover, state.handover) && !state.ending;
  const dueMs = isUpToDate ? sentMs + renewMs : nowMs;
  return { ...state, asking: undefined, seen, role: 'holder', heldUntilMs: sentMs + renewDeadlineMs, dueMs };
}

function read(state: ElectionState, record: LeaseRecord | undefined, nowMs: number): ElectionState {
  const { seen, role, me } = state;
  const isSame = seen !== undefined && seen.record?.version === record?.version;
  const next: ElectionState = { ...state, seen: isSame ? seen : { record, sinceMs: nowMs } };
  if (role === 'candidate') return { ...next, dueMs: record ? nowMs + renewMs : nowMs };
  return record?.holder === me ? { ...next, dueMs: nowMs } : { ...next, role: 'lost' };
}

function go(state: ElectionState, nowMs: number): ElectionStep {
  if (state.asking || isOver(state)) return { state };
  const { me, role, seen, mustRead, ending } = state;
  if (ending && role === 'candidate') return { state: { ...state, role: 'released' } };
  if (nowMs < state.pausesUntilMs) return { state };
  const isDue = nowMs >= state.dueMs;
  if (role === 'candidate') {
    if (!seen || mustRead) return ask({ ...state, mustRead: false }, { type: 'read' }, nowMs);
    if (!seen.record) return isDue ? write(state, '', nowMs) : { state };
    if (mayTake(state, nowMs))
      return write({ ...state, handover: handoverTo(seen.record.handover, state.path) }, me, nowMs);
    return isDue ? ask(state, { type: 'read' }, nowMs) : { state };
  }
  if (!isDue) return { state };
  if (mustRead) return ask(state, { type: 'read' }, nowMs);
  return ending ? write({ ...state, heldUntilMs: Number.NEGATIVE_INFINITY }, '', nowMs) : write(state, me, nowMs);
}

function mayTake(state: ElectionState, nowMs: number): boolean {
  const record = state.seen?.record;
  if (!record || isOfAnother(state) !== undefined) return false;
  if (record.holder === '' && record.durationMs <= releasedLeaseMs) return true;
  // This very process may have written the record without receiving the answer.
  return record.holder === state.me || nowMs >= expiryOf(state);
}

function expiryOf(state: ElectionState): number {
  const { seen } = state;
  if (!seen?.record || isOfAnother(state) !== undefined) return Number.POSITIVE_INFINITY;
  return seen.sinceMs + Math.max(durationMs, seen.record.durationMs);
}

function write(state: ElectionState, holder: string, nowMs: number): ElectionStep {
  const over = state.seen?.record;
  const transitions = (over?.transitions ?? 0) + (holder === '' || holder === over?.holder ? 0 : 1);
  const isReleased = holder === '' && over !== undefined;
  const promisedMs = isReleased ? releasedLeaseMs : durationMs;
  return ask(
    state,
    { type: 'write', over, holder, durationMs: promisedMs, transitions, handover: state.handover },
    nowMs,
  );
}

function ask(state: ElectionState, effect: ElectionEffect, nowMs: number): ElectionStep {
  return { state: { ...state, asking: { type: effect.type, sentMs: nowMs } }, effect };
}

function isOver({ role }: ElectionState): boolean {
  return role === 'released' || role === 'lost';
}

export function recordsAll(recorded: LeaseHandover, handover: LeaseHandover): boolean {
  return (Object.keys(handover) as (keyof LeaseHandover)[]).every((name) => recorded[name] === handover[name]);
}
