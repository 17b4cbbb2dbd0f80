/**
 * What the peer has sent and was not told yet to be stored: the other end's count of flow.ts, by which a receiver sees that it is sent more than
 * it allows. What is told is taken off before the peer can hear of it, so an honest peer never counts less.
 */
import { maxFrameBytes } from '../wire/codec/frames.ts';
import { SessionError } from './session-ends.ts';

/** One message may always be in flight, however large it is and however little is allowed (flow.ts, `roomBytes`). */
const slackBytes = maxFrameBytes;

export class Received {
  readonly #creditBytes: number;
  #owedBytes = 0;

  constructor(creditBytes: number) {
    this.#creditBytes = creditBytes;
  }

  /** Throws Protocol, before anything is done with what came. */
  came(bytes: number): void {
    this.#owedBytes += bytes;
    if (this.#owedBytes <= this.#creditBytes + slackBytes) return;
    const message = `${this.#owedBytes} bytes in flight, where ${this.#creditBytes} and one message are allowed`;
    throw new SessionError('CreditExceeded', 'Protocol', message);
  }

  /** An acknowledgement or credit for them goes out now. */
  told(bytes: number): void {
    this.#owedBytes -= bytes;
  }
}
