/** The status of an EdgePlacement, made from the node's own partial: counts, one line to read, a sample of failures, conditions. */
import { type MovingStatus, movingCondition, movingStatus } from '../../../core/move/move-messages.ts';
import { type NewCondition, timestamp, withCondition } from '../../../core/object/conditions.ts';
import type { Condition } from '../../../core/object/meta.ts';
import type { RolloutStep } from '../../../core/rollout/controller.ts';
import type { AwayPlace } from '../../../core/summary/away.ts';
import { type DestinationCounts, type Failure, failuresMax, type Partial } from '../../../core/summary/partial.ts';
import { progressing, progressingType, type RolloutStatus, rolloutStatus } from '../../rollout/status.ts';

/** An entry of `status.failures`: an object at a destination, or a place as a whole. */
export interface StatusFailure extends Omit<Failure, 'object'> {
  readonly object?: string;
  readonly since?: string;
  readonly destinations?: number;
}

export interface PlacementStatus {
  readonly observedGeneration: number;
  readonly matchingLocationCount: number;
  readonly summary: DestinationCounts & { readonly oldestSince?: string };
  readonly display: string;
  readonly failures?: readonly StatusFailure[];
  readonly rollout?: RolloutStatus;
  readonly moving?: MovingStatus;
  readonly conditions: readonly Condition[];
}

export function placementStatus(
  partial: Partial,
  before: readonly Condition[],
  now: string,
  rollout?: RolloutStep,
  isRolledBack = rollout?.state.phase === 'RolledBack',
): PlacementStatus {
  const { counts, generation, oldestSinceMs } = partial;
  const nowMs = Date.parse(now);
  const oldestAgeMs = oldestSinceMs === undefined ? undefined : Math.max(0, nowMs - oldestSinceMs);
  const failures = [...partial.failures, ...partial.away.map((place) => awayFailure(place, nowMs))];
  return {
    observedGeneration: generation,
    matchingLocationCount: counts.expected,
    summary: { ...counts, ...(oldestSinceMs === undefined ? {} : { oldestSince: timestamp(oldestSinceMs) }) },
    display: display(counts, oldestAgeMs, isRolledBack),
    ...(failures.length > 0 ? { failures: failures.slice(0, failuresMax) } : {}),
    ...(rollout ? { rollout: rolloutStatus(rollout) } : {}),
    ...(partial.move ? { moving: movingStatus(partial.move) } : {}),
    conditions: [
      isRolledBack ? rolledBack(counts) : ready(counts),
      conflicted(partial),
      ...(rollout ? [progressing(rollout)] : []),
      ...moving(partial, before),
    ].reduce<readonly Condition[]>(
      (conditions, next) => withCondition(conditions, { ...next, observedGeneration: generation }, now),
      rollout ? before : before.filter(({ type }) => type !== progressingType),
    ),
  };
}

/** Made once: `toLocaleString` would make a formatter for each number. */
const english = new Intl.NumberFormat('en-US');

/** `9,998` */
export function shortNumber(n: number): string {
  return english.format(n);
}

/** `available 9,998/10,000 (2 stale, oldest 4m)` */
export function display(counts: DestinationCounts, oldestAgeMs?: number, isRolledBack = false): string {
  const notes: string[] = isRolledBack ? ['rolled back'] : [];
  for (const name of ['failed', 'conflicted', 'outdated', 'never', 'quarantined', 'stale'] as const) {
    if (counts[name] > 0) notes.push(`${shortNumber(counts[name])} ${name}`);
  }
  if (counts.stale > 0 && oldestAgeMs !== undefined) notes.push(`oldest ${shortDuration(oldestAgeMs)}`);
  const tail = notes.length > 0 ? ` (${notes.join(', ')})` : '';
  return `available ${shortNumber(counts.available)}/${shortNumber(counts.expected)}${tail}`;
}

/** `away since 2026-11-27 12:03 UTC (18m), with 40 destinations` */
function awayFailure({ path, destinations, reason, sinceMs }: AwayPlace, nowMs: number): StatusFailure {
  const since = sinceMs === undefined ? {} : { since: timestamp(sinceMs) };
  const time = sinceMs === undefined ? '' : `${timestamp(sinceMs).slice(0, 16).replace('T', ' ')} UTC`;
  const age = sinceMs === undefined ? '' : ` (${shortDuration(Math.max(0, nowMs - sinceMs))})`;
  const words = {
    Away: time === '' ? 'not connected' : `away since ${time}${age}`,
    NeverConnected: 'has never connected',
    NotReported: 'connected, but has not reported about this placement yet',
  }[reason];
  const below = destinations > 1 ? `, with ${shortNumber(destinations)} destinations` : '';
  return { path, reason, message: `${words}${below}`, ...since, destinations };
}

export function shortDuration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`;
}

function ready(counts: DestinationCounts): NewCondition {
  const of = `of ${counts.expected}`;
  if (counts.expected === 0) return no('NoMatchingLocations', 'no Location matches; see spec.locationSelectors');
  if (counts.available === counts.expected) {
    return {
      type: 'Ready',
      status: 'True',
      reason: 'AllAvailable',
      message: `all ${counts.expected} destinations are available`,
    };
  }
  if (counts.failed > 0) return no('Failing', `${counts.failed} ${of} destinations fail; see status.failures`);
  if (counts.conflicted > 0)
    return no('Conflicted', `${counts.conflicted} ${of} destinations have objects of another source`);
  if (counts.quarantined > 0)
    return no('Quarantined', `${counts.quarantined} ${of} destinations have quarantined entries`);
  if (counts.stale > 0) return no('Stale', `${counts.stale} ${of} destinations are not connected`);
  if (counts.never > 0) return no('NeverReported', `${counts.never} ${of} destinations have not reported yet`);
  return no('Progressing', `${counts.available} ${of} destinations are available`);
}

/**
 * After a rollback, the counts are about the objects that were promoted before the release. Even if all destinations have these objects again, the placement is
 * not Ready: its author waits for the release.
 */
function rolledBack(counts: DestinationCounts): NewCondition {
  const condition = ready(counts);
  if (condition.reason !== 'AllAvailable' && condition.reason !== 'Progressing') return condition;
  const { available, expected } = counts;
  const who = available === expected ? `all ${expected}` : `${available} of ${expected}`;
  return no(
    'RolledBack',
    `${who} destinations are available with the objects that were promoted before the release that was rolled back; see status.rollout`,
  );
}

/** A placement with a move has the condition Moving. A placement that had a move before gets the condition too; otherwise its old value would stay. */
function moving({ move }: Partial, before: readonly Condition[]): NewCondition[] {
  return move || before.some(({ type }) => type === 'Moving') ? [movingCondition(move)] : [];
}

/** Returns the condition Conflicted. Its message names the winner at one destination; the sample of failures has others. */
function conflicted({ counts, failures }: Partial): NewCondition {
  const type = 'Conflicted';
  if (counts.conflicted === 0) {
    return { type, status: 'False', reason: 'NoConflict', message: 'no destination holds an object of another source' };
  }
  const first = failures.find(({ reason }) => reason === 'Conflicted');
  const such = first ? `; ${first.object} at ${first.path}: ${first.message}` : '';
  const message = `${counts.conflicted} of ${counts.expected} destinations have objects of another source${such}`;
  return { type, status: 'True', reason: 'LostToAnother', message };
}

function no(reason: string, message: string): NewCondition {
  return { type: 'Ready', status: 'False', reason, message };
}
