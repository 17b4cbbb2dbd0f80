/**
 * Runs the selections, the inventory and the scheduler whenever something is dirty, one bounded transaction at a time, and lets others have their turn
 * between them. Level-based: a call of `poke` while it runs is not lost and not queued twice.
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
  /** What makes the scheduler's work, in this order: what spaces contribute, and inventory on its way down. */
  before(): Iterable<{ step(t: Transaction): boolean }>;
  /** Calls back soon, after what waits already: setImmediate in the product. */
  defer(run: () => void): void;
  /** Nothing is left to do. */
  idle(): void;
  /** A step failed, and not for want of room: the store is broken. */
  failed(error: unknown): void;
}

/** Writes that wait for room. They come with what children and the clock do meanwhile; with more of them a start that looks at all anew is the shorter way. */
const heldMax = 10_000;

export class ScheduleLoop {
  readonly #ports: LoopPorts;
  readonly #turn: CoalescedTask;
  readonly #held: ((t: Transaction) => void)[] = [];
  #busy = true;
  /** Work came since the present step began. */
  #isAsked = false;
  /** Of what may wait for company. */
  #timer: Timer | undefined;

  constructor(ports: LoopPorts) {
    this.#ports = ports;
    this.#turn = new CoalescedTask(
      (run) => ports.defer(run),
      () => this.#run(),
    );
  }

  /** False between a poke and the end of the work that it started; true at first only after one run. */
  get quiet(): boolean {
    return !this.#busy;
  }

  wake(): void {
    this.#busy = true;
    this.#isAsked = true;
    this.#turn.ask();
  }

  /** After so many ms, or sooner with anything else that is to be done. */
  wakeIn(ms: number): void {
    if (ms <= 0) return this.wake();
    this.#busy = true;
    this.#isAsked = true;
    this.#timer ??= this.#ports.clock.after(ms, () => {
      this.#timer = undefined;
      this.#turn.ask();
    });
  }

  /** Writes what has fallen due, or was decided outside a transaction, and looks at what that has made. Where there is no room this is done once there is: in order, and before any further step. */
  enqueue(act: (t: Transaction) => void): void {
    if (this.#held.length === heldMax) throw new Error(`more than ${heldMax} writes wait for room`);
    this.#held.push(act);
    if (this.#writeHeld()) this.wake();
  }

  stop(): void {
    this.#timer?.stop();
    this.#turn.stop();
  }

  #run(): void {
    this.#timer?.stop();
    this.#timer = undefined;
    if (!this.#writeHeld()) return;
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

  /** False: not all of it, yet. */
  #writeHeld(): boolean {
    for (let act = this.#held.shift(); act; act = this.#held.shift()) {
      const present = act;
      const done = this.#attempt((t) => {
        present(t);
        return true;
      });
      if (done) continue;
      this.#held.unshift(present);
      return false;
    }
    return true;
  }

  /** Undefined where it failed. Without room nothing of it was begun, and it is tried again in a while. */
  #attempt<T>(act: (t: Transaction) => T): T | undefined {
    try {
      return this.#ports.store.write(act);
    } catch (error) {
      // A store that is full or broken is not the fault of the piece that met it.
      if (error instanceof BanyanError) this.#ports.guard.rest();
      if (lacksRoom(error)) this.wakeIn(roomAgainMs);
      else this.#ports.failed(error);
      return undefined;
    }
  }

  /** The rows that these make are the scheduler's work. */
  #step(t: Transaction): boolean {
    for (const room of this.#ports.before()) if (room.step(t)) return true;
    return this.#ports.scheduler.step(t);
  }
}
