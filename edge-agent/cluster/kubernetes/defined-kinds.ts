/**
 * Waits until a starting API server serves all defined kinds. Such a server answers a second or two before it serves them. Whoever asks for the served kinds
 * in this time would take every object of the defined kinds as deleted: objects that were created at the edge would be withdrawn above. So the first request
 * to a server waits until all defined kinds are served.
 */
import type { Clock } from '../../../core/runtime/clock.ts';
import { BanyanError } from '../../../core/runtime/errors.ts';

export interface DefinedKindsPorts {
  readonly clock: Clock;
  /** The names of the definitions that the cluster has: `tills.shop.example`. */
  defined(): Promise<readonly string[]>;
  /** The served resources by discovery, in the form of these names. */
  served(): Promise<ReadonlySet<string>>;
  /** The next request asks the cluster. */
  forget(): void;
}

const lookEveryMs = 250;
/**
 * On two busy cores it took two seconds. The wait for a definition that is never established, for example because another one has its names, also ends after
 * this time.
 */
const waitMsMax = 5_000;

export class DefinedKinds {
  readonly #ports: DefinedKindsPorts;
  #waiting: Promise<void> | undefined;

  constructor(ports: DefinedKindsPorts) {
    this.#ports = ports;
  }

  /** Another server may answer from now on, or the server may have restarted. */
  again(): void {
    this.#waiting = undefined;
  }

  /** Resolves when the served kinds are complete. Does not report an error if the cluster does not answer. */
  ready(): Promise<void> {
    if (!this.#waiting) {
      const waiting = this.#wait();
      this.#waiting = waiting.catch((error: unknown) => {
        // An agent that may not list definitions uses the served kinds as they are.
        const isForbidden = error instanceof BanyanError && error.code === 'Forbidden';
        if (!isForbidden) this.#waiting = undefined;
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
