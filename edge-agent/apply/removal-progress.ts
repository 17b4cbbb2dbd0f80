/**
 * Unwanted objects that are still on the cluster, and the placements that wanted them. Such a placement is not done, or has not left the agent, until these
 * objects are gone. This state is in memory; a start reads it from the owner records. For each object, the class keeps the newest reason of the cluster why
 * the object is not gone yet. Each object on record has at most one reason, so there are never more reasons than records.
 */

import type { PlacementId } from '../../core/entries/placement-id.ts';
import type { TroubleAttributes } from '../../core/entries/up-attributes.ts';
import { displayKey, parseKey } from '../../core/object/key.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import type { OwnerRecords } from './owner-records.ts';
import { removalWaitMs } from './removal-order.ts';

/** Why an unwanted object is still on the cluster. */
export interface RemovalObstacle {
  readonly reason: string;
  readonly message: string;
  /** True: the cluster refused the removal. False: the cluster accepted the removal, and something delays it. */
  readonly isRefused: boolean;
}

/** Number of objects that the message names. A person reads the names: one or two lines are enough. */
const namedMax = 3;
const messageCharsMax = 500;

export class RemovalProgress {
  readonly #placements = new Map<string, readonly PlacementId[]>();
  readonly #removalObstacles = new Map<string, RemovalObstacle & { readonly sinceMs: number }>();
  readonly #clock: Clock;
  readonly #stuck: () => void;
  #timer: Timer | undefined;

  /** `stuck` is called when a removal begins to count as stuck. No other event reports this. */
  constructor(clock: Clock, stuck: () => void) {
    this.#clock = clock;
    this.#stuck = stuck;
  }

  stop(): void {
    this.#timer?.stop();
  }

  /** Begins with all objects on record that nobody wants: their removal was not complete when the previous process ended. */
  load(records: OwnerRecords, isWanted: (key: string) => boolean): void {
    for (const key of records.keys()) if (!isWanted(key)) this.begin(key, records.get(key)?.placements ?? []);
  }

  /** Called once for each source that no longer wants the object. The placements of all these sources wait for the removal. */
  begin(key: string, placements: readonly PlacementId[]): void {
    const before = this.#placements.get(key) ?? [];
    this.#placements.set(key, before.length === 0 ? placements : [...new Set([...before, ...placements])]);
  }

  /** Called when the object is gone, or when a placement wants it again. Returns the placements that waited for the removal. */
  end(key: string): readonly PlacementId[] {
    const placements = this.#placements.get(key) ?? [];
    this.#placements.delete(key);
    this.#removalObstacles.delete(key);
    return placements;
  }

  /** Notes the cluster's newest answer about the removal. Undefined: nothing hinders it. Returns whether the answer differs from the previous answer. */
  noteObstacle(key: string, obstacle: RemovalObstacle | undefined): boolean {
    const before = this.#removalObstacles.get(key);
    const sinceMs = before?.sinceMs ?? this.#clock.monotonicMs();
    if (obstacle) this.#removalObstacles.set(key, { ...obstacle, sinceMs });
    else this.#removalObstacles.delete(key);
    this.#watch();
    return before?.reason !== obstacle?.reason || before?.message !== obstacle?.message;
  }

  hasObstacle(key: string): boolean {
    return this.#removalObstacles.has(key);
  }

  placementsOf(key: string): readonly PlacementId[] {
    return this.#placements.get(key) ?? [];
  }

  /** The obstacles of the objects that leave the placement. */
  *removalObstacles(id: PlacementId): Generator<readonly [key: string, RemovalObstacle]> {
    for (const [key, obstacle] of this.#removalObstacles)
      if (this.placementsOf(key).includes(id)) yield [key, obstacle];
  }

  /** Returns a message for the report of the node about removals that are stuck and that no placement's report names. */
  trouble(isReported: (id: PlacementId) => boolean): TroubleAttributes | undefined {
    const nowMs = this.#clock.monotonicMs();
    const stuck = [...this.#removalObstacles].filter(
      ([key, { sinceMs }]) => nowMs - sinceMs >= removalWaitMs && !this.placementsOf(key).some(isReported),
    );
    if (stuck.length === 0) return undefined;
    const named = stuck
      .slice(0, namedMax)
      .map(
        ([key, { reason, message }]) => `${displayKey(parseKey(key))}: ${reason}: ${message.slice(0, messageCharsMax)}`,
      );
    const more = stuck.length > namedMax ? [`and ${stuck.length - namedMax} more`] : [];
    const message = `objects that nobody wants any more can't be removed: ${[...named, ...more].join('; ')}`;
    return { reason: 'RemovalStuck', message };
  }

  isBeingRemoved(id: PlacementId): boolean {
    for (const placements of this.#placements.values()) if (placements.includes(id)) return true;
    return false;
  }

  /** Arms the timer for the next removal that will count as stuck. */
  #watch(): void {
    if (this.#timer) return;
    const nowMs = this.#clock.monotonicMs();
    const dueMs = [...this.#removalObstacles.values()]
      .map(({ sinceMs }) => sinceMs + removalWaitMs)
      .filter((ms) => ms > nowMs);
    if (dueMs.length === 0) return;
    this.#timer = this.#clock.after(Math.min(...dueMs) - nowMs, () => {
      this.#timer = undefined;
      this.#stuck();
      this.#watch();
    });
  }
}
