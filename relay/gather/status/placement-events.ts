/**
 * Writes Events about a placement when its status changes: ready, failing, stale, conflicts, steps of a rollout. Only the node that has the placement in an own
 * space writes them. The status has the same facts, so an Event that is left out loses nothing.
 *
 * Bounds: a repetition counts up in one Event (relay/inventory-status/object-event.ts). A placement whose status changes all the time gets `burst` Events, and
 * then one in five minutes, as client-go does it for its recorders. The space bounds the number and the age of all Events (core/apiserver/lifecycle/event-expiry.ts).
 */
import type { Space } from '../../../core/apiserver/space.ts';
import type { Condition, KubeObject } from '../../../core/object/meta.ts';
import type { Clock } from '../../../core/runtime/clock.ts';
import type { Logger } from '../../../core/runtime/logger.ts';
import { TokenBucket } from '../../../core/runtime/token-bucket.ts';
import { type ObjectEvent, writeEvent } from '../../inventory-status/object-event.ts';
import type { PlacementStatus, StatusFailure } from './placement-status.ts';

/** https://github.com/kubernetes/client-go/blob/master/tools/record/events_cache.go has the same numbers. */
const burst = 25;
const refillMs = 5 * 60_000;
/** Limit for the placements with a bucket. When it is reached, full buckets are deleted, or else the oldest one. */
const bucketsMax = 4_096;
/** A destination that is away for less than this time is no news: a node that starts again is back before. */
const staleAfterMs = 60_000;

/** The parts of a stored status that the Events depend on. */
export type StatusBefore = Partial<Pick<PlacementStatus, 'summary' | 'rollout' | 'conditions'>>;
type PlacementEvent = Omit<ObjectEvent, 'component'>;

export class PlacementEvents {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #buckets = new Map<string, TokenBucket>();
  /** The uids of the placements whose present absence was reported. A restart reports it once more. */
  readonly #stale = new Set<string>();

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  report(space: Space, placement: KubeObject, before: StatusBefore, after: PlacementStatus): void {
    const { name, uid = '' } = placement.metadata;
    const events = [...statusEvents(before, after), ...this.#staleEvents(uid, after)];
    for (const event of events) {
      if (this.#take(uid) > 0) {
        this.#log.debug({ placement: name, reason: event.reason }, 'an event was left out: there were too many');
        continue;
      }
      const refused = writeEvent(
        space,
        placement,
        { ...event, component: 'banyan.io/placement' },
        this.#clock.wallMs(),
      );
      if (refused) this.#log.debug({ placement: name, reason: refused }, 'an event was not written');
    }
  }

  #staleEvents(uid: string, { summary, failures }: PlacementStatus): PlacementEvent[] {
    const wasStale = this.#stale.has(uid);
    if (summary.stale === 0) {
      this.#stale.delete(uid);
      const message = `all ${summary.expected} destinations are connected again`;
      return wasStale ? [{ type: 'Normal', reason: 'Reconnected', message }] : [];
    }
    const ageMs = this.#clock.wallMs() - Date.parse(summary.oldestSince ?? '');
    if (wasStale || !(ageMs >= staleAfterMs)) return [];
    this.#stale.add(uid);
    const first = failures?.find(({ reason }) => reason === 'Away');
    const where = first ? `: ${first.path} since ${first.since ?? 'an unknown time'}` : '';
    const message = `${summary.stale} of ${summary.expected} destinations are not connected${where}`;
    return [{ type: 'Warning', reason: 'Stale', message }];
  }

  #take(uid: string): number {
    const nowMs = this.#clock.monotonicMs();
    const bucket = this.#buckets.get(uid) ?? new TokenBucket(burst, refillMs, nowMs);
    if (!this.#buckets.has(uid) && this.#buckets.size >= bucketsMax) this.#shrink(nowMs);
    this.#buckets.set(uid, bucket);
    return bucket.take(nowMs);
  }

  #shrink(nowMs: number): void {
    for (const [uid, bucket] of this.#buckets) if (bucket.isIdle(nowMs)) this.#buckets.delete(uid);
    for (const uid of this.#buckets.keys()) {
      if (this.#buckets.size < bucketsMax) return;
      this.#buckets.delete(uid);
    }
  }
}

/** Returns the Events of one change of a status. Pure. */
export function statusEvents(before: StatusBefore, after: PlacementStatus): PlacementEvent[] {
  return [...conflictEvents(before, after), ...readyEvents(before, after), ...rolloutEvents(before, after)];
}

function conflictEvents(before: StatusBefore, after: PlacementStatus): PlacementEvent[] {
  const conflict = conditionOf(after.conditions, 'Conflicted');
  if (!conflict || (conditionOf(before.conditions, 'Conflicted')?.status ?? 'False') === conflict.status) return [];
  const isConflict = conflict.status === 'True';
  const reason = isConflict ? 'Conflicted' : 'ConflictResolved';
  return [{ type: isConflict ? 'Warning' : 'Normal', reason, message: conflict.message }];
}

function readyEvents(before: StatusBefore, after: PlacementStatus): PlacementEvent[] {
  const ready = conditionOf(after.conditions, 'Ready');
  const was = conditionOf(before.conditions, 'Ready');
  const events: PlacementEvent[] = [];
  if (ready?.status === 'True' && was?.status !== 'True') {
    events.push({ type: 'Normal', reason: 'Ready', message: ready.message });
  }
  if (ready?.reason === 'NoMatchingLocations' && was?.reason !== ready.reason) {
    events.push({ type: 'Warning', reason: 'NoMatchingLocations', message: ready.message });
  }
  const { failed, expected } = after.summary;
  if (failed > 0 && (before.summary?.failed ?? 0) === 0) {
    const message = `${failed} of ${expected} destinations fail${firstFailure(after.failures)}`;
    events.push({ type: 'Warning', reason: 'Failing', message });
  }
  return events;
}

function firstFailure(failures: readonly StatusFailure[] = []): string {
  const first = failures.find(({ object }) => object !== undefined);
  return first ? `; ${first.object} at ${first.path}: ${first.message}` : '';
}

/** Each release and each wave is a step with an Event of its own. */
function rolloutEvents({ rollout: before }: StatusBefore, { rollout: after }: PlacementStatus): PlacementEvent[] {
  if (!after || after.release === 0) return [];
  const { release, phase, wave, message } = after;
  const isNew = before?.release !== release;
  const events: PlacementEvent[] = [];
  if (wave !== undefined && (isNew || before?.wave !== wave) && phase !== 'RolledBack') {
    const what = `release ${release}: wave ${wave} has begun`;
    events.push({ type: 'Normal', reason: 'WaveStarted', message: what, step: `${release}/${wave}` });
  }
  if (isNew ? !pastPhases.has(phase) : before?.phase === phase) return events;
  const step = `${release}`;
  switch (phase) {
    case 'Promoted':
      events.push({ type: 'Normal', reason: 'ReleasePromoted', message, step });
      break;
    case 'RolledBack':
      events.push({ type: 'Warning', reason: 'RolledBack', message, step });
      break;
    case 'Paused':
      events.push({ type: 'Warning', reason: 'RolloutPaused', message: `release ${release}: ${message}`, step });
      break;
    case 'WaitingForApproval':
      events.push({ type: 'Normal', reason: 'WaitingForApproval', message: `release ${release}: ${message}`, step });
      break;
    case 'Progressing':
    case 'Soaking':
    case 'WaitingForGate':
      break;
  }
  return events;
}

/** Phases in which a new release may be seen for the first time, because statuses are not written for each step. */
const pastPhases: ReadonlySet<string> = new Set(['Promoted', 'RolledBack', 'Paused', 'WaitingForApproval']);

function conditionOf(conditions: readonly Condition[] | undefined, of: string): Condition | undefined {
  return conditions?.find(({ type }) => type === of);
}
