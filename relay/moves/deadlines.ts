/** When rows of moves fall due, by wall time, and that somebody looks then. */

import type { PlacementId } from '../../core/entries/placement-id.ts';
import { dueMs, isAhead, type Move, type MoveRow } from '../../core/move/move.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import type { Placements } from '../placements/placements.ts';
import type { MoveStore } from './move-store.ts';

export interface DeadlinesPorts {
  readonly clock: Clock;
  readonly moveStore: MoveStore;
  readonly placements: Placements;
  /** Rows of these have fallen due. */
  due(ids: readonly PlacementId[]): void;
}

/** Wall time may be set and machines sleep, and timers count neither: a deadline is late by no more than this. */
const lookAgainMs = 30_000;

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
    const delayMs = Math.min(lookAgainMs, Math.max(0, this.#nextDueMs - clock.wallMs()));
    this.#timer = clock.after(delayMs, () => this.#look());
  }

  /** Every row is looked at when the first falls due: rows are of moves that go on, which are few and end. */
  #look(): void {
    const { moveStore, placements, clock, due } = this.#ports;
    const nowMs = clock.wallMs();
    const found = new Set<PlacementId>();
    this.#nextDueMs = Number.POSITIVE_INFINITY;
    for (const id of moveStore.placements()) {
      const move = placements.get(id)?.move;
      for (const row of moveStore.rowsOf(id).values()) {
        if (!move || row.granted) continue;
        if (dueMs(move, row) <= nowMs || isAhead(row, nowMs)) found.add(id);
        else this.#nextDueMs = Math.min(this.#nextDueMs, dueMs(move, row));
      }
    }
    if (Number.isFinite(this.#nextDueMs)) this.#arm();
    if (found.size > 0) due([...found]);
  }
}
