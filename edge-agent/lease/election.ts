/**
 * Who is active: a pure machine for one candidate.
 *
 * No two hold it at one instant. A holder counts from before it asked for what was granted, and gives up `renewDeadlineMs` after that by its own clock; a candidate
 * counts from when it was told of a record, and writes over it when it has not changed for `durationMs`, at the least, by its own clock. So between the end of
 * what the former one believes and the first moment of the next one lie `durationMs - renewDeadlineMs` on clocks of any time of day, as long as they run at rates
 * that differ by less than a fifth. Only what was written over the very version that was read is ever held, so that time is all that a late answer costs.
 *
 * A Lease that is not there may have been deleted under its holder, and one that somebody has cleared is no word of its holder either: both are waited for.
 * What is not there is made first, held by nobody, since only a version can be known not to have changed. A holder that ends in order says so by a duration
 * of `releasedLeaseMs`.
 */
import type { LeaseHandover, LeaseRecord } from './lease.ts';

/** As with leases of leader election elsewhere, but short enough that a standby is active within 15 s. */
export const durationMs = 10_000;
/** A fifth less, for clocks that run at other rates and for a request that is on its way. */
export const renewDeadlineMs = 8_000;
/** What client-go writes into a Lease that its holder has released. */
export const releasedLeaseMs = 1_000;
/** Three renewals may be lost. It is also how often a candidate looks. */
export const renewMs = 2_000;
/** Of a holder that got no answer: it has not long. */
const againMs = 500;

export interface ElectionState {
  /** Of this process alone: one that starts anew is another. */
  readonly me: string;
  /** Whose Lease it is. */
  readonly path: string;
  readonly role: 'candidate' | 'holder' | 'released' | 'lost';
  /** What was read or written last, and since when it is known to be so. */
  readonly seen: { readonly record: LeaseRecord | undefined; readonly sinceMs: number } | undefined;
  /** Of a holder. */
  readonly heldUntilMs: number;
  /** What it asks for now, and since when. One question at a time. */
  readonly asking: { readonly type: 'read' | 'write'; readonly sentMs: number } | undefined;
  readonly dueMs: number;
  /** One that was not answered asks nothing before, whatever there is to ask. */
  readonly restsUntilMs: number;
  /** A holder goes by what it read, before it writes. */
  readonly looks: boolean;
  /** What its record is to say. */
  readonly words: LeaseHandover;
  readonly ending: boolean;
}

export type ElectionInput =
  | { readonly type: 'tick' }
  | { readonly type: 'read'; readonly record: LeaseRecord | undefined }
  | { readonly type: 'written'; readonly record: LeaseRecord }
  /** Somebody else has written it. */
  | { readonly type: 'refused' }
  /** What became of the question is not known. */
  | { readonly type: 'failed' }
  | { readonly type: 'say'; readonly words: LeaseHandover }
  /** In order: whoever holds it says that it does so no more. */
  | { readonly type: 'end' };

export type ElectionEffect =
  | { readonly type: 'read' }
  | {
      readonly type: 'write';
      readonly over: LeaseRecord | undefined;
      readonly holder: string;
      readonly durationMs: number;
      readonly transitions: number;
      readonly words: LeaseHandover;
    };

export interface ElectionStep {
  readonly state: ElectionState;
  /** At most one, and only when none is under way. */
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
    restsUntilMs: nowMs,
    looks: false,
    words: {},
    ending: false,
  };
}

/** Now, and as long as nobody is asked again: no later than `heldUntilMs`. */
export function holds(state: ElectionState, nowMs: number): boolean {
  return state.role === 'holder' && nowMs < state.heldUntilMs;
}

/** Why a candidate can never have it: it is another agent's. */
export function isOfAnother({ seen, path }: ElectionState): string | undefined {
  const owner = seen?.record?.words.path;
  return owner === undefined || owner === path ? undefined : owner;
}

/** When it wants its next tick; undefined: an answer comes first, or it is over. */
export function nextElectionTickMs(state: ElectionState): number | undefined {
  if (state.asking || isOver(state)) return undefined;
  const expiryMs = state.role === 'candidate' ? expiryOf(state) : Number.POSITIVE_INFINITY;
  return Math.max(state.restsUntilMs, Math.min(state.dueMs, expiryMs));
}

export function stepElection(state: ElectionState, input: ElectionInput, nowMs: number): ElectionStep {
  switch (input.type) {
    case 'tick':
      return go(state, nowMs);
    case 'say':
      return go({ ...state, words: { ...state.words, ...input.words }, dueMs: nowMs }, nowMs);
    case 'end':
      return go({ ...state, ending: true, dueMs: nowMs }, nowMs);
    case 'written':
      return go(written(state, input.record, nowMs), nowMs);
    case 'refused':
      return go({ ...state, asking: undefined, dueMs: nowMs, looks: true }, nowMs);
    case 'failed': {
      const againAtMs = nowMs + (state.role === 'holder' ? againMs : renewMs);
      return go({ ...state, asking: undefined, dueMs: againAtMs, restsUntilMs: againAtMs }, nowMs);
    }
    case 'read':
      return go(read({ ...state, asking: undefined, looks: false }, input.record, nowMs), nowMs);
  }
}

function written(state: ElectionState, record: LeaseRecord, nowMs: number): ElectionState {
  const sentMs = state.asking?.sentMs ?? nowMs;
  const seen = { record, sinceMs: nowMs };
  if (record.holder !== state.me) {
    const role = state.role === 'candidate' ? 'candidate' : 'released';
    return { ...state, asking: undefined, seen, role, dueMs: nowMs + renewMs };
  }
  // What was said meanwhile is not in it.
  const isAsWished = recordsAll(record.words, state.words) && !state.ending;
  const dueMs = isAsWished ? sentMs + renewMs : nowMs;
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
  const { me, role, seen, looks, ending } = state;
  if (ending && role === 'candidate') return { state: { ...state, role: 'released' } };
  if (nowMs < state.restsUntilMs) return { state };
  const isDue = nowMs >= state.dueMs;
  if (role === 'candidate') {
    if (!seen || looks) return ask({ ...state, looks: false }, { type: 'read' }, nowMs);
    if (!seen.record) return isDue ? write(state, '', nowMs) : { state };
    if (mayTake(state, nowMs)) return write({ ...state, words: { ...seen.record.words, path: state.path } }, me, nowMs);
    return isDue ? ask(state, { type: 'read' }, nowMs) : { state };
  }
  if (!isDue) return { state };
  if (looks) return ask(state, { type: 'read' }, nowMs);
  return ending ? write({ ...state, heldUntilMs: Number.NEGATIVE_INFINITY }, '', nowMs) : write(state, me, nowMs);
}

function mayTake(state: ElectionState, nowMs: number): boolean {
  const record = state.seen?.record;
  if (!record || isOfAnother(state) !== undefined) return false;
  if (record.holder === '' && record.durationMs <= releasedLeaseMs) return true;
  // One that this very process wrote, without having heard of it.
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
  return ask(state, { type: 'write', over, holder, durationMs: promisedMs, transitions, words: state.words }, nowMs);
}

function ask(state: ElectionState, effect: ElectionEffect, nowMs: number): ElectionStep {
  return { state: { ...state, asking: { type: effect.type, sentMs: nowMs } }, effect };
}

function isOver({ role }: ElectionState): boolean {
  return role === 'released' || role === 'lost';
}

export function recordsAll(said: LeaseHandover, words: LeaseHandover): boolean {
  return (Object.keys(words) as (keyof LeaseHandover)[]).every((name) => said[name] === words[name]);
}
