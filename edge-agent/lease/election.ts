/**
 * Decides who is active: a pure machine for one candidate.
 *
 * No two agents hold the Lease at one instant. A holder counts from before it sent the request that was granted, and stops `renewDeadlineMs` later by its
 * own clock. A candidate counts from when it received a record. It overwrites the record when the record has not changed for at least `durationMs` by the
 * candidate's own clock. So the end of the former holder's time and the first moment of the next holder are `durationMs - renewDeadlineMs` apart. The clocks
 * may show any time of day, as long as their rates differ by less than a fifth. An agent holds the Lease only by a write over the very version that was
 * read, so a late answer costs no more than this time.
 *
 * A missing Lease may have been deleted while somebody held it. A Lease that somebody has cleared also says nothing about its holder. A candidate waits in
 * both cases. First it creates the missing Lease without a holder, because only a version can be known not to have changed. A holder that ends in order
 * writes the duration `releasedLeaseMs`.
 */
import type { LeaseHandover, LeaseRecord } from './lease.ts';

/** Like the leases of leader election elsewhere, but short enough for a standby to become active within 15 s. */
export const durationMs = 10_000;
/** A fifth less, for clocks with other rates and for a request on its way. */
export const renewDeadlineMs = 8_000;
/** The duration that client-go writes into a Lease that its holder has released. */
export const releasedLeaseMs = 1_000;
/** Three renewals may be lost. A candidate reads the Lease at the same interval. */
export const renewMs = 2_000;
/** How soon a holder without an answer asks again: it has little time. */
const againMs = 500;

export interface ElectionState {
  /** The id of this process alone. After a restart, the process has another id. */
  readonly me: string;
  /** The path of the agent to which the Lease belongs. */
  readonly path: string;
  readonly role: 'candidate' | 'holder' | 'released' | 'lost';
  /** The record that was last read or written, and since when it is known to be unchanged. */
  readonly seen: { readonly record: LeaseRecord | undefined; readonly sinceMs: number } | undefined;
  /** Until when a holder holds the Lease. */
  readonly heldUntilMs: number;
  /** The request that is on its way, and when it was sent. There is one request at a time. */
  readonly asking: { readonly type: 'read' | 'write'; readonly sentMs: number } | undefined;
  readonly dueMs: number;
  /** After a request without an answer, the machine sends nothing before this time. */
  readonly pausesUntilMs: number;
  /** A holder reads the record before its next write. */
  readonly mustRead: boolean;
  /** The values that the record has to hand over to a successor. */
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
  /** An end in order: a holder releases the Lease. */
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
  /** At most one, and only when no request is on its way. */
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

/** Whether the agent holds the Lease now. Without another call, the answer stays true until `heldUntilMs` at the latest. */
export function holds(state: ElectionState, nowMs: number): boolean {
  return state.role === 'holder' && nowMs < state.heldUntilMs;
}

/** The path of the other agent to which the Lease belongs: this candidate can never get it. */
export function isOfAnother({ seen, path }: ElectionState): string | undefined {
  const owner = seen?.record?.handover.path;
  return owner === undefined || owner === path ? undefined : owner;
}

/** When the machine needs its next tick. Undefined: it waits for an answer, or its work is over. */
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
  // The record may lack words that were set after the request was sent.
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
      return write({ ...state, handover: { ...seen.record.handover, path: state.path } }, me, nowMs);
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
