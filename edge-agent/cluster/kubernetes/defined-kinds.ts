/**
 * Waits until an API server that has just started serves all defined kinds. Such a server answers a second or two before it serves these kinds. If the agent
 * asked for the served kinds in this time, it would treat every object of the defined kinds as deleted: the nodes above would remove objects that were
 * created at the edge. So the first request to a server waits until the server serves all defined kinds.
 */
import type { Clock } from '../../../core/runtime/clock.ts';
import { BanyanError } from '../../../core/runtime/errors.ts';

export interface DefinedKindsPorts {
  readonly clock: Clock;
  /** The names of the definitions that the cluster has: `tills.shop.example`. */
  defined(): Promise<readonly string[]>;
  /** The resources that discovery shows, in the form of these names. */
  served(): Promise<ReadonlySet<string>>;
  /** Makes the next request ask the cluster. */
  forget(): void;
}

const lookEveryMs = 250;
/**
 * Longest wait. On two busy cores, the server needed two seconds. A definition that is never established, for example because another definition has the same
 * names, also delays no longer than this.
 */
const waitMsMax = 5_000;

export class DefinedKinds {
  readonly #ports: DefinedKindsPorts;
  #waiting: Promise<void> | undefined;

  constructor(ports: DefinedKindsPorts) {
    this.#ports = ports;
  }

  /** Called when another server may answer from now on, or when the server may have restarted. */
  again(): void {
    this.#waiting = undefined;
  }

  /** Resolves when the served kinds are complete. If the cluster does not answer, this resolves too, and reports no error. */
  ready(): Promise<void> {
    if (!this.#waiting) {
      const waiting = this.#wait();
      this.#waiting = waiting.catch((error: unknown) => {
        // An agent that is not allowed to list definitions uses the served kinds as they are.
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
