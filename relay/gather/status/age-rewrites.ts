/**
 * Lets the ages in written statuses count on. A partial has times, and no message says that a time has become older. But the text of a status has an age
 * (`oldest 4m`), and a watcher reads only what was written. So the statuses of placements with a disconnected destination are reported again.
 *
 * Bound: a status is written again when its age has grown by a tenth, and at most once a minute. While a destination is away for a day, this makes about 60
 * writes, and the age in the text is never wrong by more than a tenth or a minute. Columns of tables are made from the time itself, so they are exact.
 */
import type { PlacementId } from '../../../core/entries/placement-id.ts';
import type { Clock, Timer } from '../../../core/runtime/clock.ts';

/** Shortest time between two writes of one status, and the time between two looks at all of them. */
export const ageLookEveryMs = 60_000;
const growth = 0.1;

export class AgeRewrites {
  readonly #clock: Clock;
  readonly #mark: (id: PlacementId) => void;
  /** When a status has to be written again, by the monotonic clock. Bound: one time for each placement of the node. */
  readonly #dueAtMs = new Map<PlacementId, number>();
  #timer: Timer | undefined;

  /** `mark` is called with each placement whose status has to be reported again. */
  constructor(clock: Clock, mark: (id: PlacementId) => void) {
    this.#clock = clock;
    this.#mark = mark;
  }

  /** Call it when the status was written. `sinceMs`: the wall time from which the status shows an age. Undefined: the status shows no age. */
  written(id: PlacementId, sinceMs: number | undefined): void {
    if (sinceMs === undefined) {
      this.#dueAtMs.delete(id);
      return;
    }
    const ageMs = Math.max(0, this.#clock.wallMs() - sinceMs);
    this.#dueAtMs.set(id, this.#clock.monotonicMs() + Math.max(ageLookEveryMs, ageMs * growth));
    this.#timer ??= this.#clock.after(ageLookEveryMs, () => this.#look());
  }

  stop(): void {
    this.#timer?.stop();
    this.#dueAtMs.clear();
  }

  #look(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [id, dueAtMs] of this.#dueAtMs) if (dueAtMs <= nowMs) this.#mark(id);
    this.#timer = this.#dueAtMs.size > 0 ? this.#clock.after(ageLookEveryMs, () => this.#look()) : undefined;
  }
}
