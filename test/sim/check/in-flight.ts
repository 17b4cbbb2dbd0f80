/** Invariant 14, for the bytes of a side in flight on one feed: no more than the peer's credit and one message. The frames of both sides show this. */

import type { Frame } from '../../../core/wire/generated/mesh.ts';
import { bytesOf } from './frame-bounds.ts';

/**
 * The credit of a peer that names no credit; the highest number of bytes in flight with any credit; the largest message, because one more message is always
 * allowed.
 */
export const [creditDefault, windowMax, messageMax] = [512 * 1024, 4 * 1024 * 1024, 256 * 1024];
/** The highest number of messages in flight. */
export const messagesMax = 64;

interface Message {
  readonly bytes: number;
  /** The cursor that acknowledges the message. Absent: a credit frame gives the bytes of the message back. */
  readonly to?: number;
}

export class InFlight {
  #messages: Message[] = [];
  #creditBytes = creditDefault;
  /** The bytes that credit frames have given back for the oldest message without a cursor. */
  #creditedBytes = 0;

  allowed(bytes: number): void {
    this.#creditBytes = bytes > 0 ? bytes : creditDefault;
  }

  /** Returns a message that names the exceeded limit. */
  sent({ frame }: Frame): string | undefined {
    if (frame?.$case === 'piece') this.#messages.push({ bytes: frame.value.data.length });
    else if (frame?.$case === 'batch') {
      const { entries, ahead, to } = frame.value;
      this.#messages.push(ahead ? { bytes: bytesOf(entries) } : { bytes: bytesOf(entries), to });
    } else return undefined;
    const bytes = this.#messages.reduce((sum, message) => sum + message.bytes, 0);
    const most = Math.min(this.#creditBytes, windowMax) + messageMax;
    if (bytes > most) return `${bytes} bytes in flight, at most ${most}`;
    const count = this.#messages.length;
    return count > messagesMax ? `${count} messages in flight, at most ${messagesMax}` : undefined;
  }

  acknowledged(cursor: number): void {
    this.#messages = this.#messages.filter(({ to }) => to === undefined || to > cursor);
  }

  /** Counts a credit for the oldest message first, whichever message it was given for. The rest counts for the next message. */
  credited(bytes: number): void {
    this.#creditedBytes += bytes;
    for (;;) {
      const oldest = this.#messages.find(({ to }) => to === undefined);
      if (!oldest || this.#creditedBytes < oldest.bytes) return;
      this.#creditedBytes -= oldest.bytes;
      this.#messages.splice(this.#messages.indexOf(oldest), 1);
    }
  }
}
