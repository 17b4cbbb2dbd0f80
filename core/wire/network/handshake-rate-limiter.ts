/**
 * Limits the rate of handshakes at a listener. After the restart of a relay, all its children connect at once, and each handshake computes signatures. So
 * each connection waits for its turn before the listener reads anything from it. If a connection would have to wait too long, the listener closes it, and
 * its child dials again after a wait of its own. A gateway may send the calls of many children over one connection. Such a call has no handshake, but a
 * proof with as many signatures, so each such call needs a turn too.
 */
import { nextSlot, type RateState } from '../../runtime/rate.ts';

/** A handshake needs about 2 ms of one core at each end. So even if all children connect at once, handshakes use at most half a core. */
const handshakesPerSecond = 200;
/** Number of connections that are admitted at once, so that a small tree never waits. */
const handshakeBurst = 100;
/** Longest wait of a connection for its turn. A dialer gives up after 10 s, and the handshake follows the wait. */
const handshakeWaitMaxMs = 5_000;

/** The listener asks it for each connection before the handshake, and for each further session on a shared connection before the proof. */
export class HandshakeRateLimiter {
  #rate: RateState;

  /** The ms to wait. Undefined: the wait would be too long, so close the connection. */
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
