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
  /** Rows of these placements have reached their deadline. */
  due(ids: readonly PlacementId[]): void;
}

/**
 * People may set the wall time, and machines sleep; timers notice neither. So the rows are checked at least this often, and a deadline is late by no more
 * than this.
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

  /** The first deadline causes a look at every row. Rows belong to moves that are going on, and these moves are few and end. */
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
