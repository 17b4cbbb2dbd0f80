/** Finds the rows of moves whose deadline has passed, by wall time, and reports their placements. */

import type { PlacementId } from '../../core/entries/placement-id.ts';
import { dueMs, isAhead, type Move, type MoveRow } from '../../core/move/move.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import type { Placements } from '../placements/placements.ts';
import type { MoveStore } from './move-store.ts';

export interface DeadlinesPorts {
  readonly clock: Clock;
  readonly moveStore: MoveStore;
  readonly placements: Placements;
  /** Called with the placements whose rows have reached their deadline. */
  due(ids: readonly PlacementId[]): void;
}

/**
 * Longest time between two checks. A timer does not notice when somebody sets the clock of the machine, or when the machine sleeps. So a deadline is late by at
 * most this time.
 */
const recheckMs = 30_000;

export class Deadlines {
  readonly #ports: DeadlinesPorts;
  #nextDueMs = Number.POSITIVE_INFINITY;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(ports: DeadlinesPorts) {
    this.#ports = ports;
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.stop();
  }

  await(move: Move, row: MoveRow): void {
    const atMs = dueMs(move, row);
    if (atMs >= this.#nextDueMs || this.#stopped) return;
    this.#nextDueMs = atMs;
    this.#arm();
  }

  #arm(): void {
    const { clock } = this.#ports;
    this.#timer?.stop();
    const delayMs = Math.min(recheckMs, Math.max(0, this.#nextDueMs - clock.wallMs()));
    this.#timer = clock.after(delayMs, () => this.#check());
  }

  /** When the first deadline has passed, all rows are read. They are few: only moves that are going on have rows. */
  #check(): void {
    const { moveStore, placements, clock, due } = this.#ports;
    const nowMs = clock.wallMs();
    const dueIds = new Set<PlacementId>();
    this.#nextDueMs = Number.POSITIVE_INFINITY;
    for (const id of moveStore.placements()) {
      const move = placements.get(id)?.move;
      for (const row of moveStore.rowsOf(id).values()) {
        if (!move || row.granted) continue;
        if (dueMs(move, row) <= nowMs || isAhead(row, nowMs)) dueIds.add(id);
        else this.#nextDueMs = Math.min(this.#nextDueMs, dueMs(move, row));
      }
    }
    if (Number.isFinite(this.#nextDueMs)) this.#arm();
    if (dueIds.size > 0) due([...dueIds]);
  }
}
