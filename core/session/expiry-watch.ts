/** A handshake now would fail by an expired certificate, so a session must not go on by one of long ago. */
import type { Expiry } from '../identity/expiry.ts';
import type { Clock, Timer } from '../runtime/clock.ts';
import type { Link } from '../wire/link.ts';

/** Wall clocks are set while a session lasts, and timers can't wait for years: what is far away is looked at again after this. */
const lookMs = 3_600_000;

/** What is over of a link by now: between a handshake and the first word of a session there may be a slow line, a turn and a flush. */
export function expiredOf({ expiry }: Link, clock: Clock): Expiry | undefined {
  return expiry && clock.wallMs() >= expiry.atMs ? expiry : undefined;
}

export class ExpiryWatch {
  readonly #clock: Clock;
  readonly #over: () => void;
  #timer: Timer | undefined;

  /** `over` is called once, when the wall clock has reached `atMs`, never from here. */
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
