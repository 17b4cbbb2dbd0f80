/**
 * Limits the rate of handshakes at a listener. After a relay's restart all its children come at once, and each handshake costs signatures. Before anything of
 * a connection is read, the connection waits for its turn. A connection that would have to wait too long is closed, and its child comes again after its own
 * wait. Where a gateway sends the calls of many children over one connection, a call has no handshake of its own, but a proof with as many signatures; so
 * each such call also needs a turn here.
 */
import { nextSlot, type RateState } from '../../runtime/rate.ts';

/** A handshake takes some 2 ms of a core at either end. So a storm uses at most half a core. */
const handshakesPerSecond = 200;
/** Connections that are admitted at once, so that a small tree never waits. */
const handshakeBurst = 100;
/** How long a connection may wait for its turn. A dialer gives up after 10 s, and the handshake comes after the wait. */
const handshakeWaitMaxMs = 5_000;

/** Asked for each connection before its handshake, and for each further session on a shared connection before its proof. */
export class HandshakeRateLimiter {
  #rate: RateState;

  /** Ms to wait. Undefined: the wait would be too long, so the connection is turned away. */
  admit(nowMs: number): number | undefined {
    const { waitMs, turns } = nextSlot(
      { intervalMs: 1_000 / handshakesPerSecond, burst: handshakeBurst },
      this.#rate,
      nowMs,
    );
    if (waitMs > handshakeWaitMaxMs) return undefined;
    this.#rate = turns;
    return waitMs;
  }
}
