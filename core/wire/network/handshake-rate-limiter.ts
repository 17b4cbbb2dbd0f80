/**
 * The door of a listener: after a relay's restart all its children come at once, and each handshake costs signatures. Before anything of a connection is
 * read it waits a little for its turn; those for whom it would be too long are closed, and come again after their own waits. Where a gateway sends the
 * calls of many over one connection there is no handshake for each, but a proof with as many signatures: each such call has a turn here as well.
 */
import { nextSlot, type RateState } from '../../runtime/rate.ts';

/** A handshake is some 2 ms of a core at either end: half a core at most goes into a storm. */
const handshakesPerSecond = 200;
/** Connections that are let in at once: a small tree never waits. */
const handshakeBurst = 100;
/** How long a connection may wait at the door; a dialer gives up after 10 s, and the handshake comes after. */
const handshakeWaitMaxMs = 5_000;

/** What is asked for each connection, before its handshake, and for each further session on one that is shared, before its proof. */
export class HandshakeRateLimiter {
  #turns: RateState;

  /** Ms to wait; undefined: too long, it is turned away. */
  admit(nowMs: number): number | undefined {
    const { waitMs, turns } = nextSlot(
      { intervalMs: 1_000 / handshakesPerSecond, burst: handshakeBurst },
      this.#turns,
      nowMs,
    );
    if (waitMs > handshakeWaitMaxMs) return undefined;
    this.#turns = turns;
    return waitMs;
  }
}
