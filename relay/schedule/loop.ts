/**
 * Runs the selections, the inventory and the scheduler whenever something is dirty, one bounded transaction at a time, and lets others have their turn
 * between them. Level-based: a call of `poke` while it runs is not lost and not queued twice.
 */

import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import { Turn } from '../../core/runtime/turn.ts';
import type { Store, Transaction } from '../../core/store/store.ts';
import type { Step } from './ports.ts';
import type { Scheduler } from './schedule.ts';
import type { WorkGuard } from './work-guard.ts';

export interface LoopPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly scheduler: Scheduler;
  readonly guard: Pick<WorkGuard, 'rest'>;
  /** What makes the scheduler's work, in this order: what spaces contribute, and inventory on its way down. */
  before(): Iterable<{ step(t: Transaction): boolean }>;
  /** Calls back soon, after what waits already: setImmediate in the product. */
  soon(run: () => void): void;
  /** After the commit of a step that did something. */
  stepped(step: Step): void;
  /** Nothing is left to do. */
  idle(): void;
  /** A step failed: the store is full or broken. */
  failed(error: unknown): void;
}

export class ScheduleLoop {
  readonly #ports: LoopPorts;
  readonly #turn: Turn;
  #busy = true;
  /** Of what may wait for company. */
  #timer: Timer | undefined;

  constructor(ports: LoopPorts) {
    this.#ports = ports;
    this.#turn = new Turn(
      (run) => ports.soon(run),
      () => this.#run(),
    );
  }

  /** False between a poke and the end of the work that it started; true at first only after one run. */
  get quiet(): boolean {
    return !this.#busy;
  }

  poke(): void {
    this.#busy = true;
    this.#turn.ask();
  }

  /** After so many ms, or sooner with anything else that is to be done. */
  pokeIn(ms: number): void {
    if (ms <= 0) return this.poke();
    this.#busy = true;
    this.#timer ??= this.#ports.clock.after(ms, () => {
      this.#timer = undefined;
      this.#turn.ask();
    });
  }

  stop(): void {
    this.#timer?.stop();
    this.#turn.stop();
  }

  #run(): void {
    this.#timer?.stop();
    this.#timer = undefined;
    let step: Step;
    try {
      step = this.#ports.store.write((t) => this.#step(t));
    } catch (error) {
      // A store that is full or broken is not the fault of the piece that met it.
      if (error instanceof BanyanError) this.#ports.guard.rest();
      this.#ports.failed(error);
      return;
    }
    if (step.worked) this.#ports.stepped(step);
    if (step.more) {
      this.poke();
    } else {
      this.#busy = false;
      this.#ports.idle();
    }
  }

  /** The rows that these make are the scheduler's work. */
  #step(t: Transaction): Step {
    for (const room of this.#ports.before()) {
      if (room.step(t)) return { more: true, worked: false, changed: new Set(), changedWith: new Map() };
    }
    return this.#ports.scheduler.step(t);
  }
}
