/** One start of a simulated process. The process ends at an effect that was chosen before, or when it is killed. After that, no part of it acts any more. */
import type { Clock, Timer } from '../../core/runtime/clock.ts';

/** Unwinds the code of the process. This is no error of the product, and the caller of the product ignores it. */
export class Crash extends Error {
  constructor() {
    super('the simulated process has ended');
    this.name = 'Crash';
  }
}

export class SimProcess {
  alive = true;
  /** The number of writes, flushes and sends so far. The process may end before and after each of them. */
  effects = 0;
  crashAtEffect = Number.POSITIVE_INFINITY;
  /** The number of waiting timers and turns. */
  pending = 0;
  readonly #died: () => void;

  constructor(died: () => void) {
    this.#died = died;
  }

  /** Throws Crash if the process has ended, or ends at this effect. */
  effect(): void {
    if (!this.alive) throw new Crash();
    if (++this.effects < this.crashAtEffect) return;
    this.end();
    throw new Crash();
  }

  end(): void {
    if (!this.alive) return;
    this.alive = false;
    this.#died();
  }

  /** Runs code of the process. True: the code has finished. False: the process had ended before, or ended during the code. */
  run(act: () => void, failed: (error: unknown) => void): boolean {
    if (!this.alive) return false;
    try {
      act();
      return true;
    } catch (error) {
      if (!(error instanceof Crash)) failed(error);
      return false;
    }
  }
}

export interface SimProcessClockPorts {
  readonly world: Clock;
  readonly simProcess: SimProcess;
  /** The offset of this machine's wall clock. */
  skewMs(): number;
  failed(error: unknown): void;
}

/** The clock of one process: its timers end with the process. */
export function simProcessClock({ world, simProcess, skewMs, failed }: SimProcessClockPorts): Clock {
  return {
    wallMs: () => Math.floor(world.wallMs() + skewMs()),
    monotonicMs: () => world.monotonicMs(),
    after(delayMs, fire): Timer {
      let over = false;
      simProcess.pending++;
      const done = () => {
        if (!over) simProcess.pending--;
        over = true;
      };
      const timer = world.after(delayMs, () => {
        done();
        simProcess.run(fire, failed);
      });
      return {
        stop() {
          done();
          timer.stop();
        },
      };
    },
  };
}
