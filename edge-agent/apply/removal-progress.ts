/**
 * Objects that are wanted no more and still on the cluster, with the placements that wanted them: a placement is not done, or has
 * not let go, until they have gone. It is in memory; a start reads it from the owner records. With each, why it has not gone yet, as the cluster said last:
 * one reason for an object on record, so that there are never more than records.
 */

import type { PlacementId } from '../../core/entries/placement-id.ts';
import type { TroubleAttributes } from '../../core/entries/up-attributes.ts';
import { displayKey, parseKey } from '../../core/object/key.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import type { OwnerRecords } from './owner-records.ts';

/** Why an object that is wanted no more is still there. */
export interface RemovalObstacle {
  readonly reason: string;
  readonly message: string;
  /** The removal was refused; otherwise it was accepted, and something holds it up. */
  readonly isRefused: boolean;
}

/** Most of what holds up a removal is over by then: a grace period, a namespace that is emptied, an API server that is restarted. */
const stuckAfterMs = 60_000;
/** A line or two for a person. */
const namedMax = 3;
const wordsMax = 500;

export class RemovalProgress {
  readonly #placements = new Map<string, readonly PlacementId[]>();
  readonly #removalObstacles = new Map<string, RemovalObstacle & { readonly sinceMs: number }>();
  readonly #clock: Clock;
  readonly #stuck: () => void;
  #timer: Timer | undefined;

  /** `stuck`: something has been stuck for long now, which nothing but the time tells. */
  constructor(clock: Clock, stuck: () => void) {
    this.#clock = clock;
    this.#stuck = stuck;
  }

  stop(): void {
    this.#timer?.stop();
  }

  /** What is on record and not wanted: it was not over when the process ended. */
  load(records: OwnerRecords, isWanted: (key: string) => boolean): void {
    for (const key of records.keys()) if (!isWanted(key)) this.begin(key, records.get(key)?.placements ?? []);
  }

  /** Told once for each source that lets go of it: all of their placements wait. */
  begin(key: string, placements: readonly PlacementId[]): void {
    const before = this.#placements.get(key) ?? [];
    this.#placements.set(key, before.length === 0 ? placements : [...new Set([...before, ...placements])]);
  }

  /** The object has gone, or is wanted again; the placements that it was leaving. */
  end(key: string): readonly PlacementId[] {
    const placements = this.#placements.get(key) ?? [];
    this.#placements.delete(key);
    this.#removalObstacles.delete(key);
    return placements;
  }

  /** The cluster's last word about the removal; undefined: it goes on. Returns whether that is another one than before. */
  hinder(key: string, hindrance: RemovalObstacle | undefined): boolean {
    const before = this.#removalObstacles.get(key);
    const sinceMs = before?.sinceMs ?? this.#clock.monotonicMs();
    if (hindrance) this.#removalObstacles.set(key, { ...hindrance, sinceMs });
    else this.#removalObstacles.delete(key);
    this.#watch();
    return before?.reason !== hindrance?.reason || before?.message !== hindrance?.message;
  }

  isHindered(key: string): boolean {
    return this.#removalObstacles.has(key);
  }

  placementsOf(key: string): readonly PlacementId[] {
    return this.#placements.get(key) ?? [];
  }

  /** Of the objects that leave the placement. */
  *removalObstacles(id: PlacementId): Generator<readonly [key: string, RemovalObstacle]> {
    for (const [key, hindrance] of this.#removalObstacles)
      if (this.placementsOf(key).includes(id)) yield [key, hindrance];
  }

  /** In words for the node: what has been stuck for long and no placement is left to tell of. */
  trouble(isTold: (id: PlacementId) => boolean): TroubleAttributes | undefined {
    const nowMs = this.#clock.monotonicMs();
    const stuck = [...this.#removalObstacles].filter(
      ([key, { sinceMs }]) => nowMs - sinceMs >= stuckAfterMs && !this.placementsOf(key).some(isTold),
    );
    if (stuck.length === 0) return undefined;
    const named = stuck
      .slice(0, namedMax)
      .map(([key, { reason, message }]) => `${displayKey(parseKey(key))}: ${reason}: ${message.slice(0, wordsMax)}`);
    const more = stuck.length > namedMax ? [`and ${stuck.length - namedMax} more`] : [];
    const message = `objects that nobody wants any more can't be removed: ${[...named, ...more].join('; ')}`;
    return { reason: 'RemovalStuck', message };
  }

  isBeingRemoved(id: PlacementId): boolean {
    for (const placements of this.#placements.values()) if (placements.includes(id)) return true;
    return false;
  }

  /** For the next of those that have not been stuck for long yet. */
  #watch(): void {
    if (this.#timer) return;
    const nowMs = this.#clock.monotonicMs();
    const dueMs = [...this.#removalObstacles.values()]
      .map(({ sinceMs }) => sinceMs + stuckAfterMs)
      .filter((ms) => ms > nowMs);
    if (dueMs.length === 0) return;
    this.#timer = this.#clock.after(Math.min(...dueMs) - nowMs, () => {
      this.#timer = undefined;
      this.#stuck();
      this.#watch();
    });
  }
}
