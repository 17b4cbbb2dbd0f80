/** One start of a simulated process: it ends at an effect that was chosen beforehand, or when it is killed; then nothing of it does anything any more. */
import type { Clock, Timer } from '../../core/runtime/clock.ts';

/** Unwinds whatever the process was doing. It is no error of the product: whoever drives the product passes it over. */
export class Crash extends Error {
  constructor() {
    super('the simulated process has ended');
    this.name = 'Crash';
  }
}

export class Life {
  alive = true;
  /** Writes, flushes and sends so far: each is a boundary at which the process may end, before and after. */
  effects = 0;
  crashAtEffect = Number.POSITIVE_INFINITY;
  /** Timers and turns that wait. */
  pending = 0;
  readonly #died: () => void;

  constructor(died: () => void) {
    this.#died = died;
  }

  /** Throws Crash if the process ends here, or has ended. */
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

  /** Runs something of the process; true if it came to its end, false if the process ended on the way or before. */
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

export interface LifeClockPorts {
  readonly world: Clock;
  readonly life: Life;
  /** By how much this machine's idea of the time of day is off. */
  skewMs(): number;
  failed(error: unknown): void;
}

/** The clock of one process: its timers die with it. */
export function lifeClock({ world, life, skewMs, failed }: LifeClockPorts): Clock {
  return {
    wallMs: () => Math.floor(world.wallMs() + skewMs()),
    monotonicMs: () => world.monotonicMs(),
    after(delayMs, fire): Timer {
      let over = false;
      life.pending++;
      const done = () => {
        if (!over) life.pending--;
        over = true;
      };
      const timer = world.after(delayMs, () => {
        done();
        life.run(fire, failed);
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
