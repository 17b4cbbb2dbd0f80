/** Invariant 14, of what a side has under way on one feed: no more than its peer allows and one message, by what both have said so far. */

import type { Frame } from '../../../core/wire/generated/mesh.ts';
import { bytesOf } from './frame-bounds.ts';

/** What a peer allows that says nothing of it; the most that a side has in flight whatever is allowed; one message more may always go. */
export const [creditDefault, windowMax, messageMax] = [512 * 1024, 4 * 1024 * 1024, 256 * 1024];
/** Messages in flight. */
export const messagesMax = 64;

interface Message {
  readonly bytes: number;
  /** The cursor that takes it off; absent: credit does. */
  readonly to?: number;
}

export class InFlight {
  #messages: Message[] = [];
  #creditBytes = creditDefault;
  /** Given back of the oldest message that credit takes off. */
  #creditedBytes = 0;

  allowed(bytes: number): void {
    this.#creditBytes = bytes > 0 ? bytes : creditDefault;
  }

  /** In words what is too much. */
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

  /** The oldest goes first, whichever it was given back for: what is left counts for the next. */
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
