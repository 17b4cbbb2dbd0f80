/**
 * Computes the next step of a release from the stored state, the spec, and the present counts. The caller asks again after each change that may matter. Only
 * the fields of state.ts are stored.
 *
 * A wave is done if two conditions hold. First, the release was handed to all connected destinations of this wave and of the waves before it. Second, the
 * release is available at all of them, or the wave has expression gates and these pass. A wave that is done soaks: it waits for `soakSeconds`. Then all its
 * gates have to pass. A release is promoted when its last wave has passed.
 */
import { amountOf, isSpent } from './budget.ts';
import { evaluateGate, type GateResult } from './gates.ts';
import { countsUpTo, noCounts, type RolloutPart, type WaveCounts } from './part.ts';
import { type Gate, gateConditionsOf, type RolloutSpec, type Wave, wavesOf } from './spec.ts';
import { nextRelease, type Phase, type RolloutState, type StopReason, withPromotion } from './state.ts';
import { greatestCount } from './waves.ts';

/** The `status` of a RolloutGate. The owner of the gate writes it. */
export interface GateStatus {
  readonly phase?: string;
  readonly message?: string;
  /** The release that the status is for. Absent: every release. */
  readonly release?: number;
  readonly wave?: string;
}

export interface ControllerInput {
  readonly nowMs: number;
  readonly rollout: RolloutSpec;
  readonly part: RolloutPart | undefined;
  /** Number of all destinations of the placement. */
  readonly expected: number;
  /** The number of the release that a person has approved. */
  readonly approved?: number;
  gateStatus(name: string): GateStatus | undefined;
  /** Returns the newest answer of a webhook for this release. Undefined: there is no answer yet. */
  webhookResult(wave: number, gate: number): GateResult | undefined;
}

export interface RolloutStep {
  readonly state: RolloutState;
  /** Text for people, in the status of the placement. */
  readonly message: string;
  readonly wave?: { readonly name: string; readonly number: number; readonly of: number };
  readonly counts: WaveCounts;
  /** Webhooks that the caller has to ask now. */
  readonly asks: readonly { readonly wave: number; readonly gate: number }[];
  /** Time at which the caller has to ask again, even if nothing changes. */
  readonly wakeAtMs?: number;
}

/**
 * Time without a change before a release begins. One command (for example `kubectl apply`) writes its objects one after the other; with this wait, all its
 * writes are one release.
 */
const quietMs = 1_000;
/**
 * Time for which a wave without connected destinations waits. A child notices a lost parent after 60 s, and is at another replica at most half a minute
 * later.
 */
const awayMaxMs = 90_000;

export function stepRollout(former: RolloutState, input: ControllerInput): RolloutStep {
  const before = notAhead(former, input.nowMs);
  if (before.held === 0) {
    const state = before.phase === 'Promoted' ? before : withPromotion(before);
    const message = state.release === 0 ? 'nothing to roll out' : `release ${state.release} is promoted`;
    return { state, message, counts: noCounts, asks: [] };
  }
  const { rollout, nowMs } = input;
  if (before.phase === 'RolledBack') return stepAt(before, input, stopMessage(before));
  if (rollout.paused === true) {
    const state = { ...before, phase: 'Paused' as const, progressAtMs: nowMs };
    return stepAt(state, input, 'paused by hand; goes on when spec.rollout.paused is false');
  }
  if (before.stopped) return stepAt({ ...before, phase: 'Paused' }, input, stopMessage(before));
  const state = renewed(before, input);
  const outcome = state.wave < 0 ? authoriseFirst(state, input) : stepWave(state, input);
  return withLease(outcome, rollout);
}

/** Corrects the state if the clock was set back: times in the future become the present time. Otherwise the rollout would wait until the clock reaches them. */
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
      ...stepAt(inPhase(state, 'Progressing'), input, 'begins when no object has changed for 1 s'),
      wakeAtMs: quietAtMs,
    };
  }
  const conditions = gateConditionsOf(rollout);
  if (greatestCount(conditions) > 0 && !hasReceivedRelease(state, part)) {
    return waitUntilDeadline(inPhase(state, 'Progressing'), input, 'waits for the relays to count their destinations');
  }
  const nobody = greatestCount(conditions) > 0 && input.expected > 0 && part?.smallest.length === 0;
  const waiting = awayFor(state, nobody, input);
  if (waiting) return waiting;
  return authorised({ ...state, drawn: part?.smallest.slice(0, greatestCount(conditions)) ?? [] }, input);
}

function stepWave(state: RolloutState, input: ControllerInput): RolloutStep {
  const { rollout, part, expected, nowMs } = input;
  const waves = wavesOf(rollout);
  const wave = waves[Math.min(state.wave, waves.length - 1)]!;
  const upTo = part?.release === state.id ? countsUpTo(part, state.wave) : noCounts;
  if (part?.release === state.id && isSpent(rollout.errorBudget, upTo.failed, expected)) {
    const budget = `${amountOf(rollout.errorBudget, expected)} of ${expected}`;
    return stop(state, input, 'ErrorBudgetSpent', `${upTo.failed} destinations fail; the error budget is ${budget}`);
  }
  if (isBarred(upTo, part)) {
    const message = `${upTo.failed} destinations fail, and the relays that have them hold back ${part?.barred} more`;
    return stop(state, input, 'ErrorBudgetSpent', `${message}; each has its share of the error budget`);
  }
  if (state.passed >= state.wave) return advance(state, input, waves);
  const progressed = noteProgress(state, upTo, nowMs);
  if (!hasReceivedRelease(state, part)) {
    return waitUntilDeadline(
      inPhase(progressed, 'Progressing'),
      input,
      'waits for connected relays that have not received the release',
    );
  }
  const alone = part?.waves[state.wave] ?? noCounts;
  const waiting = awayFor(progressed, alone.expected > 0 && alone.fresh === 0, input);
  if (waiting) return waiting;
  const { awayAtMs: _awayAtMs, ...present } = progressed;
  const afterAway = alone.fresh > 0 ? present : progressed;
  const gates =
    alone.expected === 0 ? (wave.gates ?? []).filter(({ expression }) => expression === undefined) : wave.gates;
  if (!isDone(upTo, alone, gates ?? [])) {
    const { doneAtMs: _doneAtMs, ...undone } = afterAway;
    return waitUntilDeadline(inPhase(undone, 'Progressing'), input, waitsForDestinations(upTo));
  }
  return afterDone({ ...afterAway, doneAtMs: afterAway.doneAtMs ?? nowMs }, input, wave, waves, { upTo, alone });
}

/**
 * Waits if no destination of the wave is connected: the destinations may be on the way to another replica. After `awayMaxMs`, the rollout goes on, so that
 * destinations that stay away do not block it.
 */
function awayFor(state: RolloutState, isAway: boolean, input: ControllerInput): RolloutStep | undefined {
  if (!isAway) return undefined;
  const awayAtMs = state.awayAtMs ?? input.nowMs;
  const untilMs = awayAtMs + awayMaxMs;
  if (input.nowMs >= untilMs) return undefined;
  const message = `none of its destinations is connected, goes on without them at ${timeOf(untilMs)}`;
  return { ...stepAt(inPhase({ ...state, awayAtMs }, 'Progressing'), input, message), wakeAtMs: untilMs };
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
    const message = `soaks until ${timeOf(soakedAtMs)}`;
    return { ...stepAt(inPhase(state, 'Soaking'), input, message), wakeAtMs: soakedAtMs };
  }
  const soaked = { ...state, progressAtMs: Math.max(state.progressAtMs, soakedAtMs) };
  const asks: { wave: number; gate: number }[] = [];
  for (const [index, gate] of (wave.gates ?? []).entries()) {
    if (counts.alone.expected === 0 && gate.expression !== undefined) continue;
    const result = resultOf(gate, index, soaked, input, wave, counts);
    if (gate.webhook && !result.passed) asks.push({ wave: state.wave, gate: index });
    if (result.passed) continue;
    const message = `gate '${gate.name ?? gate.rolloutGate ?? index + 1}' (${result.message})`;
    if (result.failed) return stop(soaked, input, 'GateFailed', message);
    return { ...waitUntilDeadline(inPhase(soaked, 'WaitingForGate'), input, `waits for ${message}`), asks };
  }
  return advance({ ...soaked, passed: state.wave }, input, waves);
}

function advance(state: RolloutState, input: ControllerInput, waves: readonly Wave[]): RolloutStep {
  if (state.wave + 1 >= waves.length) {
    const done = withPromotion(state);
    return { state: done, message: `release ${done.release} is promoted`, counts: noCounts, asks: [] };
  }
  if (input.rollout.strategy === 'BlueGreen' && state.wave === 0 && input.approved !== state.release) {
    // A person has to decide, and the status asks for the decision. So there is no progress deadline.
    const waiting = { ...inPhase(state, 'WaitingForApproval'), progressAtMs: input.nowMs };
    return stepAt(waiting, input, `waits for the annotation ${approveAnnotation}: "${state.release}"`);
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
  return stepAt(next, input, 'begins');
}

// ------------------------------------------------------------------------------------------------------------ rules

/** True: the rollout cannot go on, because last hops have spent their share of the error budget. All other destinations have the release and have reported. */
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
  const isAboutThisWave =
    (status.release ?? state.release) === state.release && (status.wave ?? wave.name) === wave.name;
  if (status.phase === undefined || !isAboutThisWave) {
    const subject = `release ${state.release}, wave ${wave.name}`;
    return { passed: false, failed: false, message: `nobody has written its status for ${subject}` };
  }
  if (status.phase === 'Passed') return { passed: true };
  const message = status.message ?? `its phase is ${status.phase}`;
  return { passed: false, failed: status.phase === 'Failed', message };
}

function hasReceivedRelease(state: RolloutState, part: RolloutPart | undefined): boolean {
  return part?.release === state.id && part.received >= state.wave;
}

/** Records progress: more destinations have the release, or the release is available at more of them. */
function noteProgress(state: RolloutState, counts: WaveCounts, nowMs: number): RolloutState {
  const progress = counts.exposed + counts.available;
  return progress > state.progress ? { ...state, progress, progressAtMs: nowMs } : state;
}

/** Makes the release wait, at most until the progress deadline. After the deadline, stops it. */
function waitUntilDeadline(state: RolloutState, input: ControllerInput, message: string): RolloutStep {
  const deadlineAtMs = state.progressAtMs + input.rollout.progressDeadlineSeconds * 1000;
  if (input.nowMs >= deadlineAtMs) {
    const seconds = input.rollout.progressDeadlineSeconds;
    return stop(state, input, 'ProgressDeadlineExceeded', `no progress for ${seconds} s; ${message}`);
  }
  return { ...stepAt(state, input, message), wakeAtMs: deadlineAtMs };
}

/** Stops the release. A rollback is a new release that no destination gets. So the content of a delivered release never changes. */
function stop(state: RolloutState, input: ControllerInput, reason: StopReason, message: string): RolloutStep {
  const waves = wavesOf(input.rollout);
  const waveText = `wave ${state.wave + 1}/${waves.length} '${waves[state.wave]?.name ?? ''}'`;
  const stopped = { reason, message: state.wave < 0 ? message : `${waveText}: ${message}` };
  const next: RolloutState =
    input.rollout.onFailure === 'Rollback'
      ? { ...nextRelease(state, input.nowMs), phase: 'RolledBack', stopped }
      : { ...inPhase(state, 'Paused'), stopped };
  return stepAt(next, input, stopMessage(next));
}

function renewed(state: RolloutState, { nowMs, rollout }: ControllerInput): RolloutState {
  const ageMs = nowMs - state.leaseAtMs;
  // If the age is negative, the clock was set back: the authorisation is renewed too.
  if (ageMs >= 0 && ageMs < renewEveryMs(rollout)) return state;
  return { ...state, lease: state.lease + 1, leaseAtMs: nowMs };
}

/** The origin renews an authorisation three times before it expires, so two renewals may be lost. */
function renewEveryMs(rollout: RolloutSpec): number {
  return (rollout.authorizationSeconds * 1000) / 3;
}

function withLease(outcome: RolloutStep, rollout: RolloutSpec): RolloutStep {
  const { state } = outcome;
  if (state.held === 0 || state.stopped) return outcome;
  const leaseDueMs = state.leaseAtMs + renewEveryMs(rollout);
  return { ...outcome, wakeAtMs: Math.min(outcome.wakeAtMs ?? leaseDueMs, leaseDueMs) };
}

// ------------------------------------------------------------------------------------------------------------ texts

function stepAt(state: RolloutState, input: ControllerInput, message: string): RolloutStep {
  const waves = wavesOf(input.rollout);
  const wave = waves[state.wave];
  const { part } = input;
  const counts = part && part.release === state.id ? countsUpTo(part, state.wave) : noCounts;
  if (!wave) return { state, message, counts, asks: [] };
  const place = `wave ${state.wave + 1}/${waves.length} '${wave.name}'`;
  return {
    state,
    message: state.stopped ? message : `${place}: ${counts.available} of ${counts.fresh} available, ${message}`,
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

function stopMessage(state: RolloutState): string {
  const reason = state.stopped?.message ?? 'stopped';
  return state.phase === 'RolledBack'
    ? `rolled back: ${reason}; every destination has what was promoted before; change the objects or the placement to start again`
    : `paused: ${reason}; destinations that have the release keep it; change the objects or the placement to try again`;
}

function inPhase(state: RolloutState, phase: Phase): RolloutState {
  return state.phase === phase ? state : { ...state, phase };
}

/** The time as text, for example `10:03:10Z`. */
function timeOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(11, 19)}Z`;
}
