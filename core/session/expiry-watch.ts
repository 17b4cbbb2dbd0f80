/** Ends a session when a certificate of its handshake expires: a new handshake would fail, so an old session must not continue. */
import type { Expiry } from '../identity/expiry.ts';
import type { Clock, Timer } from '../runtime/clock.ts';
import type { Link } from '../wire/link.ts';

/** Somebody may set the wall clock during a session, and timers cannot wait for years. So a distant expiry is checked again after this time. */
const lookMs = 3_600_000;

/**
 * The certificate of this link that has expired by now. Between the handshake and the first frame of a session there may be a slow line, the wait for a turn,
 * and a flush.
 */
export function expiredOf({ expiry }: Link, clock: Clock): Expiry | undefined {
  return expiry && clock.wallMs() >= expiry.atMs ? expiry : undefined;
}

export class ExpiryWatch {
  readonly #clock: Clock;
  readonly #over: () => void;
  #timer: Timer | undefined;

  /** Calls `over` once, when the wall clock has reached `atMs`; never from within the constructor. */
  constructor(clock: Clock, atMs: number, over: () => void) {
    this.#clock = clock;
    this.#over = over;
    this.#wait(atMs);
  }

  stop(): void {
    this.#timer?.stop();
  }

  #wait(atMs: number): void {
    const leftMs = Math.max(0, atMs - this.#clock.wallMs());
    this.#timer = this.#clock.after(Math.min(leftMs, lookMs), () => {
      if (this.#clock.wallMs() < atMs) this.#wait(atMs);
      else this.#over();
    });
  }
}
