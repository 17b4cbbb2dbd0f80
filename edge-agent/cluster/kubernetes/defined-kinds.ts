/**
 * An API server that begins answers a second or two before it serves what is defined. Whoever asks it then what it serves would take every object of these kinds for
 * gone: what was born at the edge would be withdrawn above. So the first question to a server waits until all that is defined is served.
 */
import type { Clock } from '../../../core/runtime/clock.ts';
import { BanyanError } from '../../../core/runtime/errors.ts';

export interface DefinedKindsPorts {
  readonly clock: Clock;
  /** Names of the definitions that the cluster has: `tills.shop.example`. */
  defined(): Promise<readonly string[]>;
  /** By the same names, as discovery says it. */
  served(): Promise<ReadonlySet<string>>;
  /** The next question is asked of the cluster. */
  forget(): void;
}

const lookEveryMs = 250;
/** On two busy cores it took two seconds. A definition that is never established, as one with the names of another, is waited for as long once. */
const waitMsMax = 5_000;

export class DefinedKinds {
  readonly #ports: DefinedKindsPorts;
  #waiting: Promise<void> | undefined;

  constructor(ports: DefinedKindsPorts) {
    this.#ports = ports;
  }

  /** It may be another server from now on, or have begun anew. */
  again(): void {
    this.#waiting = undefined;
  }

  /** Resolves when what is served can be believed; does not say what is wrong where the cluster does not answer. */
  ready(): Promise<void> {
    if (!this.#waiting) {
      const waiting = this.#wait();
      this.#waiting = waiting.catch((error: unknown) => {
        // Who may not list definitions goes by what is served.
        const isSaid = error instanceof BanyanError && error.code === 'Forbidden';
        if (!isSaid) this.#waiting = undefined;
      });
    }
    return this.#waiting;
  }

  async #wait(): Promise<void> {
    const { clock, defined, served, forget } = this.#ports;
    const names = await defined();
    for (let waitedMs = 0; waitedMs < waitMsMax; waitedMs += lookEveryMs) {
      const found = await served();
      if (names.every((name) => found.has(name))) return;
      await new Promise<void>((resolve) => clock.after(lookEveryMs, resolve));
      forget();
    }
  }
}
