/**
 * Counts the bytes that the peer has sent and that this side has not acknowledged as stored. This is the receiver's side of the count in flow.ts: the
 * receiver sees when the peer sends more than it may. This side subtracts acknowledged bytes before the peer can receive the acknowledgement, so the count of
 * an honest peer is never lower.
 */
import { maxFrameBytes } from '../wire/codec/frames.ts';
import { SessionError } from './session-ends.ts';

/** One message may always be in flight, whatever its size and however little is allowed (flow.ts, `roomBytes`). */
const slackBytes = maxFrameBytes;

export class Received {
  readonly #creditBytes: number;
  #unacknowledgedBytes = 0;

  constructor(creditBytes: number) {
    this.#creditBytes = creditBytes;
  }

  /** Called before anything is done with the received bytes. Throws Protocol. */
  arrived(bytes: number): void {
    this.#unacknowledgedBytes += bytes;
    if (this.#unacknowledgedBytes <= this.#creditBytes + slackBytes) return;
    const message = `${this.#unacknowledgedBytes} bytes in flight, where ${this.#creditBytes} and one message are allowed`;
    throw new SessionError('CreditExceeded', 'Protocol', message);
  }

  /** An acknowledgement or credit for these bytes goes out now. */
  acknowledged(bytes: number): void {
    this.#unacknowledgedBytes -= bytes;
  }
}
