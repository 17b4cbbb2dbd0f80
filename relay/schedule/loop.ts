/**
 * Runs the selections, the inventory and the scheduler whenever something is dirty. Each run is one bounded transaction; other tasks of the process run in
 * between. The loop is level-based: a call of `wake` while the loop runs is not lost, and is not queued twice.
 */

import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { CoalescedTask } from '../../core/runtime/coalesced-task.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import { lacksRoom, roomAgainMs } from '../../core/store/room.ts';
import type { Store, Transaction } from '../../core/store/store.ts';
import type { PoisonWorkGuard } from '../work/work-guard.ts';
import type { Scheduler } from './schedule.ts';

export interface LoopPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly scheduler: Scheduler;
  readonly guard: Pick<PoisonWorkGuard, 'rest'>;
  /** Returns the steps that make the scheduler's work, in this order: changes of spaces, and inventory on its way down. */
  before(): Iterable<{ step(t: Transaction): boolean }>;
  /** Runs the function in a later turn of the event loop, after everything that waits already: setImmediate in the product. */
  defer(run: () => void): void;
  /** Called when no work is left. */
  idle(): void;
  /** Called when a step failed for another reason than lack of room: the store is broken. */
  failed(error: unknown): void;
}

/**
 * Limit for the writes that wait for room. Reports of children and timers cause such writes. If more of them wait, a restart, which reads everything again, is
 * faster.
 */
const waitingWritesMax = 10_000;

export class ScheduleLoop {
  readonly #ports: LoopPorts;
  readonly #turn: CoalescedTask;
  readonly #waitingWrites: ((t: Transaction) => void)[] = [];
  #busy = true;
  /** True if work arrived after the current step began. */
  #isAsked = false;
  /** The timer for work that may wait for more work. */
  #timer: Timer | undefined;

  constructor(ports: LoopPorts) {
    this.#ports = ports;
    this.#turn = new CoalescedTask(
      (run) => ports.defer(run),
      () => this.#run(),
    );
  }

  /** False from a call of `wake` until the work is done. After the start, it becomes true after the first run. */
  get quiet(): boolean {
    return !this.#busy;
  }

  wake(): void {
    this.#busy = true;
    this.#isAsked = true;
    this.#turn.ask();
  }

  /** Wakes the loop after `ms`, or earlier together with other work. */
  wakeIn(ms: number): void {
    if (ms <= 0) return this.wake();
    this.#busy = true;
    this.#isAsked = true;
    this.#timer ??= this.#ports.clock.after(ms, () => {
      this.#timer = undefined;
      this.#turn.ask();
    });
  }

  /**
   * Runs a write that is due, or that was decided outside a transaction. Then processes the keys that the write made dirty. With a full disk, the write waits
   * until there is room. Writes run in the order of the calls, and before any further step.
   */
  enqueue(act: (t: Transaction) => void): void {
    if (this.#waitingWrites.length === waitingWritesMax)
      throw new Error(`more than ${waitingWritesMax} writes wait for room`);
    this.#waitingWrites.push(act);
    if (this.#writeWaiting()) this.wake();
  }

  stop(): void {
    this.#timer?.stop();
    this.#turn.stop();
  }

  #run(): void {
    this.#timer?.stop();
    this.#timer = undefined;
    if (!this.#writeWaiting()) return;
    this.#isAsked = false;
    const isMore = this.#attempt((t) => this.#step(t));
    if (isMore === undefined) return;
    if (isMore) {
      this.wake();
    } else if (!this.#isAsked) {
      this.#busy = false;
      this.#ports.idle();
    }
  }

  /** Runs the waiting writes. Returns false if some of them still wait. */
  #writeWaiting(): boolean {
    for (let act = this.#waitingWrites.shift(); act; act = this.#waitingWrites.shift()) {
      const write = act;
      const done = this.#attempt((t) => {
        write(t);
        return true;
      });
      if (done) continue;
      this.#waitingWrites.unshift(write);
      return false;
    }
    return true;
  }

  /** Returns undefined if the write failed. Without room, the write has changed nothing, and the loop tries it again after a while. */
  #attempt<T>(act: (t: Transaction) => T): T | undefined {
    try {
      return this.#ports.store.write(act);
    } catch (error) {
      // If the store is full or broken, the piece of work is not the reason. So the guard ends its record of the piece.
      if (error instanceof BanyanError) this.#ports.guard.rest();
      if (lacksRoom(error)) this.wakeIn(roomAgainMs);
      else this.#ports.failed(error);
      return undefined;
    }
  }

  /** The selections and the inventory run first: the rows that they make are the scheduler's work. */
  #step(t: Transaction): boolean {
    for (const room of this.#ports.before()) if (room.step(t)) return true;
    return this.#ports.scheduler.step(t);
  }
}
