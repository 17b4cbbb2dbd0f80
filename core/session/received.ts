/**
 * Counts the received bytes that this side has not acknowledged yet, to check that the peer does not exceed its credit. flow.ts counts the same at the sender.
 * This side subtracts the bytes before the peer receives the acknowledgement. So this count is never higher than the count of a correct peer, and a correct
 * peer never exceeds the limit.
 */
import { maxFrameBytes } from '../wire/codec/frames.ts';
import { SessionError } from './session-ends.ts';

/** One message may always be in flight, even if it is larger than the credit (flow.ts, `roomBytes`). */
const slackBytes = maxFrameBytes;

export class Received {
  readonly #creditBytes: number;
  #unacknowledgedBytes = 0;

  constructor(creditBytes: number) {
    this.#creditBytes = creditBytes;
  }

  /** Call it before the received bytes are used. Throws Protocol if the peer has exceeded its credit. */
  arrived(bytes: number): void {
    this.#unacknowledgedBytes += bytes;
    if (this.#unacknowledgedBytes <= this.#creditBytes + slackBytes) return;
    const message = `${this.#unacknowledgedBytes} bytes in flight, where ${this.#creditBytes} and one message are allowed`;
    throw new SessionError('CreditExceeded', 'Protocol', message);
  }

  /** Call it directly before an acknowledgement or credit for these bytes is sent. */
  acknowledged(bytes: number): void {
    this.#unacknowledgedBytes -= bytes;
  }
}
