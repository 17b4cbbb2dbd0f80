/**
 * What becomes of a release: a function of what is remembered, what the spec says, and what is known now. It is asked again after everything that may
 * matter, so what it says is never older than the state: nothing is kept but what state.ts keeps.
 *
 * A wave is done when the release was handed to all of its connected destinations and those of the waves before, and is available there, or its
 * expression gates say that it is good enough; then it soaks; then all its gates have to pass. A release is promoted when its last wave is through.
 */
import { amountOf, isSpent } from './budget.ts';
import { evaluateGate, type GateResult } from './gates.ts';
import { countsUpTo, noCounts, type RolloutPart, type WaveCounts } from './part.ts';
import { type Gate, gateConditionsOf, type RolloutSpec, type Wave, wavesOf } from './spec.ts';
import { nextRelease, type Phase, type RolloutState, type StopReason, withPromotion } from './state.ts';
import { greatestCount } from './waves.ts';

/** `status` of a RolloutGate. */
export interface GateStatus {
  readonly phase?: string;
  readonly message?: string;
  /** What it speaks of; absent: of any. */
  readonly release?: number;
  readonly wave?: string;
}

export interface ControllerInput {
  readonly nowMs: number;
  readonly rollout: RolloutSpec;
  readonly part: RolloutPart | undefined;
  /** Destinations of the placement in all. */
  readonly expected: number;
  /** The release that somebody has approved. */
  readonly approved?: number;
  gateStatus(name: string): GateStatus | undefined;
  /** The last answer of a webhook for this release; undefined: none yet. */
  webhookResult(wave: number, gate: number): GateResult | undefined;
}

export interface RolloutStep {
  readonly state: RolloutState;
  /** In words, for the status. */
  readonly message: string;
  readonly wave?: { readonly name: string; readonly number: number; readonly of: number };
  readonly counts: WaveCounts;
  /** Webhooks whose answer is needed. */
  readonly asks: readonly { readonly wave: number; readonly gate: number }[];
  /** When something may be due though nothing happens. */
  readonly wakeAtMs?: number;
}

/** What one command writes, object by object, is over by then, and is one release. */
const quietMs = 1_000;
/** A parent that is half open is given up after 60 s, and its children are with another one half a minute later at most. */
const awayMaxMs = 90_000;

export function stepRollout(former: RolloutState, input: ControllerInput): RolloutStep {
  const before = notAhead(former, input.nowMs);
  if (before.held === 0) {
    const state = before.phase === 'Promoted' ? before : withPromotion(before);
    const message = state.release === 0 ? 'nothing to roll out' : `release ${state.release} is promoted`;
    return { state, message, counts: noCounts, asks: [] };
  }
  const { rollout, nowMs } = input;
  if (before.phase === 'RolledBack') return at(before, input, wordsOfStop(before));
  if (rollout.paused === true) {
    const state = { ...before, phase: 'Paused' as const, progressAtMs: nowMs };
    return at(state, input, 'paused by hand; goes on when spec.rollout.paused is false');
  }
  if (before.stopped) return at({ ...before, phase: 'Paused' }, input, wordsOfStop(before));
  const state = renewed(before, input);
  const outcome = state.wave < 0 ? authoriseFirst(state, input) : goOn(state, input);
  return withLease(outcome, rollout);
}

/** A clock that was set back: what began ahead of it begins now, so that nobody waits for an hour to come again. */
function notAhead(state: RolloutState, nowMs: number): RolloutState {
  const { doneAtMs, awayAtMs, progressAtMs } = state;
  if (progressAtMs <= nowMs && (doneAtMs ?? 0) <= nowMs && (awayAtMs ?? 0) <= nowMs) return state;
  const done = doneAtMs === undefined ? {} : { doneAtMs: Math.min(doneAtMs, nowMs) };
  const away = awayAtMs === undefined ? {} : { awayAtMs: Math.min(awayAtMs, nowMs) };
  return { ...state, ...done, ...away, progressAtMs: Math.min(progressAtMs, nowMs) };
}

// ------------------------------------------------------------------------------------------------------------ waves

function authoriseFirst(state: RolloutState, input: ControllerInput): RolloutStep {
  const { rollout, nowMs, part } = input;
  const quietAtMs = state.changedAtMs + quietMs;
  if (nowMs >= state.changedAtMs && nowMs < quietAtMs) {
    return {
      ...at(inPhase(state, 'Progressing'), input, 'begins when the objects have come to rest'),
      wakeAtMs: quietAtMs,
    };
  }
  const conditions = gateConditionsOf(rollout);
  if (greatestCount(conditions) > 0 && !hasHeard(state, part)) {
    return late(inPhase(state, 'Progressing'), input, 'waits for the relays to count their destinations');
  }
  const nobody = greatestCount(conditions) > 0 && input.expected > 0 && part?.smallest.length === 0;
  const waiting = awayFor(state, nobody, input);
  if (waiting) return waiting;
  return authorised({ ...state, drawn: part?.smallest.slice(0, greatestCount(conditions)) ?? [] }, input);
}

function goOn(state: RolloutState, input: ControllerInput): RolloutStep {
  const { rollout, part, expected, nowMs } = input;
  const waves = wavesOf(rollout);
  const wave = waves[Math.min(state.wave, waves.length - 1)]!;
  const upTo = part?.release === state.id ? countsUpTo(part, state.wave) : noCounts;
  if (part?.release === state.id && isSpent(rollout.errorBudget, upTo.failed, expected)) {
    const budget = `${amountOf(rollout.errorBudget, expected)} of ${expected}`;
    return stop(state, input, 'ErrorBudgetSpent', `${upTo.failed} destinations fail; the error budget is ${budget}`);
  }
  if (isBarred(upTo, part)) {
    const words = `${upTo.failed} destinations fail, and the relays that have them hold back ${part?.barred} more`;
    return stop(state, input, 'ErrorBudgetSpent', `${words}; each has its share of the error budget`);
  }
  if (state.passed >= state.wave) return advance(state, input, waves);
  const known = noteProgress(state, upTo, nowMs);
  if (!hasHeard(state, part)) {
    return late(inPhase(known, 'Progressing'), input, 'waits for connected relays that have not received the release');
  }
  const alone = part?.waves[state.wave] ?? noCounts;
  const waiting = awayFor(known, alone.expected > 0 && alone.fresh === 0, input);
  if (waiting) return waiting;
  const { awayAtMs: _awayAtMs, ...present } = known;
  const back = alone.fresh > 0 ? present : known;
  const gates =
    alone.expected === 0 ? (wave.gates ?? []).filter(({ expression }) => expression === undefined) : wave.gates;
  if (!isDone(upTo, alone, gates ?? [])) {
    const { doneAtMs: _doneAtMs, ...undone } = back;
    return late(inPhase(undone, 'Progressing'), input, waitsForDestinations(upTo));
  }
  return afterDone({ ...back, doneAtMs: back.doneAtMs ?? nowMs }, input, wave, waves, { upTo, alone });
}

/** None of those that the wave is about is connected: what is away for good holds nobody up, what comes back by another way is waited for. */
function awayFor(state: RolloutState, isAway: boolean, input: ControllerInput): RolloutStep | undefined {
  if (!isAway) return undefined;
  const awayAtMs = state.awayAtMs ?? input.nowMs;
  const untilMs = awayAtMs + awayMaxMs;
  if (input.nowMs >= untilMs) return undefined;
  const words = `none of its destinations is connected, goes on without them at ${timeOf(untilMs)}`;
  return { ...at(inPhase({ ...state, awayAtMs }, 'Progressing'), input, words), wakeAtMs: untilMs };
}

function afterDone(
  state: RolloutState & { readonly doneAtMs: number },
  input: ControllerInput,
  wave: Wave,
  waves: readonly Wave[],
  counts: { upTo: WaveCounts; alone: WaveCounts },
): RolloutStep {
  const { nowMs } = input;
  const soakedAtMs = state.doneAtMs + (counts.alone.expected === 0 ? 0 : (wave.soakSeconds ?? 0) * 1000);
  if (nowMs < soakedAtMs) {
    const words = `soaks until ${timeOf(soakedAtMs)}`;
    return { ...at(inPhase(state, 'Soaking'), input, words), wakeAtMs: soakedAtMs };
  }
  const soaked = { ...state, progressAtMs: Math.max(state.progressAtMs, soakedAtMs) };
  const asks: { wave: number; gate: number }[] = [];
  for (const [index, gate] of (wave.gates ?? []).entries()) {
    if (counts.alone.expected === 0 && gate.expression !== undefined) continue;
    const result = resultOf(gate, index, soaked, input, wave, counts);
    if (gate.webhook && !result.passed) asks.push({ wave: state.wave, gate: index });
    if (result.passed) continue;
    const words = `gate '${gate.name ?? gate.rolloutGate ?? index + 1}' (${result.message})`;
    if (result.failed) return stop(soaked, input, 'GateFailed', words);
    return { ...late(inPhase(soaked, 'WaitingForGate'), input, `waits for ${words}`), asks };
  }
  return advance({ ...soaked, passed: state.wave }, input, waves);
}

function advance(state: RolloutState, input: ControllerInput, waves: readonly Wave[]): RolloutStep {
  if (state.wave + 1 >= waves.length) {
    const done = withPromotion(state);
    return { state: done, message: `release ${done.release} is promoted`, counts: noCounts, asks: [] };
  }
  if (input.rollout.strategy === 'BlueGreen' && state.wave === 0 && input.approved !== state.release) {
    // A person decides, and is told so: no deadline.
    const waiting = { ...inPhase(state, 'WaitingForApproval'), progressAtMs: input.nowMs };
    return at(waiting, input, `waits for the annotation ${approveAnnotation}: "${state.release}"`);
  }
  return authorised(state, input);
}

export const approveAnnotation = 'edge.banyan.io/approve';

function authorised(state: RolloutState, input: ControllerInput): RolloutStep {
  const { nowMs } = input;
  const { doneAtMs: _doneAtMs, awayAtMs: _awayAtMs, ...rest } = state;
  const next: RolloutState = {
    ...rest,
    phase: 'Progressing',
    wave: state.wave + 1,
    lease: state.lease + 1,
    leaseAtMs: nowMs,
    progressAtMs: nowMs,
    progress: 0,
  };
  return at(next, input, 'begins');
}

// ------------------------------------------------------------------------------------------------------------ rules

/** Everybody else has it, and has said how it is there: only spent budgets of last hops are in the way. */
function isBarred(upTo: WaveCounts, part: RolloutPart | undefined): boolean {
  const barred = part?.barred ?? 0;
  return barred > 0 && upTo.exposed + barred >= upTo.fresh && upTo.available + upTo.failed >= upTo.exposed;
}

function isDone(upTo: WaveCounts, alone: WaveCounts, gates: readonly Gate[]): boolean {
  if (upTo.exposed < upTo.fresh) return false;
  if (upTo.available >= upTo.fresh) return true;
  const expressions = gates.filter(({ expression }) => expression !== undefined);
  return expressions.length > 0 && expressions.every((gate) => evaluateGate(gate, upTo, alone).passed);
}

function resultOf(
  gate: Gate,
  index: number,
  state: RolloutState,
  input: ControllerInput,
  wave: Wave,
  { upTo, alone }: { upTo: WaveCounts; alone: WaveCounts },
): GateResult {
  if (gate.expression !== undefined) return evaluateGate(gate, upTo, alone);
  if (gate.webhook) {
    return input.webhookResult(state.wave, index) ?? { passed: false, failed: false, message: 'asks its webhook' };
  }
  const status = input.gateStatus(gate.rolloutGate ?? '');
  if (!status) return { passed: false, failed: false, message: `there is no RolloutGate "${gate.rolloutGate}"` };
  const speaks = (status.release ?? state.release) === state.release && (status.wave ?? wave.name) === wave.name;
  if (status.phase === undefined || !speaks) {
    const of = `release ${state.release}, wave ${wave.name}`;
    return { passed: false, failed: false, message: `nobody has written its status for ${of}` };
  }
  if (status.phase === 'Passed') return { passed: true };
  const message = status.message ?? `it says ${status.phase}`;
  return { passed: false, failed: status.phase === 'Failed', message };
}

function hasHeard(state: RolloutState, part: RolloutPart | undefined): boolean {
  return part?.release === state.id && part.heard >= state.wave;
}

/** More destinations that have it, or have it available, are progress. */
function noteProgress(state: RolloutState, counts: WaveCounts, nowMs: number): RolloutState {
  const progress = counts.exposed + counts.available;
  return progress > state.progress ? { ...state, progress, progressAtMs: nowMs } : state;
}

/** Where it waits for others: not for ever. */
function late(state: RolloutState, input: ControllerInput, words: string): RolloutStep {
  const deadlineAtMs = state.progressAtMs + input.rollout.progressDeadlineSeconds * 1000;
  if (input.nowMs >= deadlineAtMs) {
    const seconds = input.rollout.progressDeadlineSeconds;
    return stop(state, input, 'ProgressDeadlineExceeded', `no progress for ${seconds} s; ${words}`);
  }
  return { ...at(state, input, words), wakeAtMs: deadlineAtMs };
}

/** A rollback is a release of its own, handed to nobody: what was delivered is never relabelled. */
function stop(state: RolloutState, input: ControllerInput, reason: StopReason, message: string): RolloutStep {
  const waves = wavesOf(input.rollout);
  const where = `wave ${state.wave + 1}/${waves.length} '${waves[state.wave]?.name ?? ''}'`;
  const stopped = { reason, message: state.wave < 0 ? message : `${where}: ${message}` };
  const next: RolloutState =
    input.rollout.onFailure === 'Rollback'
      ? { ...nextRelease(state, input.nowMs), phase: 'RolledBack', stopped }
      : { ...inPhase(state, 'Paused'), stopped };
  return at(next, input, wordsOfStop(next));
}

function renewed(state: RolloutState, { nowMs, rollout }: ControllerInput): RolloutState {
  const ageMs = nowMs - state.leaseAtMs;
  // Also when the clock was set back.
  if (ageMs >= 0 && ageMs < renewEveryMs(rollout)) return state;
  return { ...state, lease: state.lease + 1, leaseAtMs: nowMs };
}

/** Two renewals may be lost on the way before an authorisation expires. */
function renewEveryMs(rollout: RolloutSpec): number {
  return (rollout.authorizationSeconds * 1000) / 3;
}

function withLease(outcome: RolloutStep, rollout: RolloutSpec): RolloutStep {
  const { state } = outcome;
  if (state.held === 0 || state.stopped) return outcome;
  const leaseDueMs = state.leaseAtMs + renewEveryMs(rollout);
  return { ...outcome, wakeAtMs: Math.min(outcome.wakeAtMs ?? leaseDueMs, leaseDueMs) };
}

// ------------------------------------------------------------------------------------------------------------ words

function at(state: RolloutState, input: ControllerInput, words: string): RolloutStep {
  const waves = wavesOf(input.rollout);
  const wave = waves[state.wave];
  const { part } = input;
  const counts = part && part.release === state.id ? countsUpTo(part, state.wave) : noCounts;
  if (!wave) return { state, message: words, counts, asks: [] };
  const place = `wave ${state.wave + 1}/${waves.length} '${wave.name}'`;
  return {
    state,
    message: state.stopped ? words : `${place}: ${counts.available} of ${counts.fresh} available, ${words}`,
    wave: { name: wave.name, number: state.wave + 1, of: waves.length },
    counts,
    asks: [],
  };
}

function waitsForDestinations(upTo: WaveCounts): string {
  if (upTo.exposed < upTo.fresh) return `handed to ${upTo.exposed}`;
  const waiting = `waits for ${upTo.fresh - upTo.available} to be available`;
  return upTo.failed > 0 ? `${waiting}, of which ${upTo.failed} fail` : waiting;
}

function wordsOfStop(state: RolloutState): string {
  const why = state.stopped?.message ?? 'stopped';
  return state.phase === 'RolledBack'
    ? `rolled back: ${why}; everything has what was promoted before; change the objects or the placement to begin anew`
    : `paused: ${why}; what has the release keeps it; change the objects, or the placement to try again`;
}

function inPhase(state: RolloutState, phase: Phase): RolloutState {
  return state.phase === phase ? state : { ...state, phase };
}

/** 10:03:10Z */
function timeOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(11, 19)}Z`;
}
