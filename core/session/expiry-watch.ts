/** Ends a session when a certificate of its TLS handshake expires. A new handshake would fail then, so the old session must not continue. */
import type { Expiry } from '../identity/expiry.ts';
import type { Clock, Timer } from '../runtime/clock.ts';
import type { Link } from '../wire/link.ts';

/** Longest timer. After it, the expiry is checked again: somebody may have set the wall clock meanwhile, and one timer cannot wait for years. */
const lookMs = 3_600_000;

/**
 * Returns the expiry of the link's certificate if the certificate has expired. Call it before a session begins: a slow line, the wait for a turn and a flush
 * may take a long time after the TLS handshake.
 */
export function expiredOf({ expiry }: Link, clock: Clock): Expiry | undefined {
  return expiry && clock.wallMs() >= expiry.atMs ? expiry : undefined;
}

export class ExpiryWatch {
  readonly #clock: Clock;
  readonly #over: () => void;
  #timer: Timer | undefined;

  /** Calls `over` once, when the wall clock has reached `atMs`. Never calls it inside the constructor. */
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
