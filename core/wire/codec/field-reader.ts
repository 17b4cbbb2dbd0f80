/**
 * Reads the fields that field-writer.ts writes, for the most frequent frames. The generated code makes a reader for each frame, and a BigInt and a text for
 * each number. This reader only knows what such frames usually contain. If a frame contains anything odd (a number of 50 bits, a text that is not ASCII, a
 * length that reaches too far), the whole frame is left to the generated code, which accepts or refuses it.
 */
import type { Buffer } from 'node:buffer';
import { base } from './field-writer.ts';

/** Seven bytes carry 49 bits; an eighth might go beyond what a number holds. */
const varintBytesMax = 7;
/** Above this value, the generated code makes a negative number of a number of 32 bits. */
const int32Max = 2 ** 31 - 1;

export class FieldReader {
  readonly #bytes: Buffer;
  #at: number;
  /** The end of the message that is being read. */
  #end: number;
  #isOdd = false;

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.#at = at;
    this.#end = bytes.length;
  }

  /** Whether the message has more fields. Always false after something odd. */
  get hasMore(): boolean {
    return this.#at < this.#end && !this.#isOdd;
  }

  /** Everything was read to the last byte, and nothing was odd. */
  get isWhole(): boolean {
    return this.#at === this.#bytes.length && !this.#isOdd;
  }

  /** A tag, a length, or a number. */
  varint(): number {
    const bytes = this.#bytes;
    let value = 0;
    let factor = 1;
    const last = Math.min(this.#end, this.#at + varintBytesMax);
    for (let at = this.#at; at < last; at++) {
      const byte = bytes[at]!;
      value += (byte % base) * factor;
      factor *= base;
      if (byte < base) {
        this.#at = at + 1;
        return value;
      }
    }
    return this.odd(0);
  }

  int32(): number {
    const value = this.varint();
    return value > int32Max ? this.odd(0) : value;
  }

  flag(): boolean {
    const value = this.varint();
    return value > 1 ? this.odd(false) : value === 1;
  }

  /** A view of the bytes, as the generated code gives. */
  bytes(): Buffer {
    const start = this.#take();
    return this.#bytes.subarray(start, this.#at);
  }

  text(): string {
    const start = this.#take();
    for (let at = start; at < this.#at; at++) if (this.#bytes[at]! >= base) return this.odd('');
    return this.#bytes.toString('latin1', start, this.#at);
  }

  /** Begins an inner message. Returns the end of the outer message, for `leave`. */
  enter(): number {
    const outerEnd = this.#end;
    const start = this.#take();
    this.#end = this.#at;
    this.#at = start;
    return outerEnd;
  }

  leave(outerEnd: number): void {
    this.#end = outerEnd;
  }

  /** Marks the frame as odd, and returns the value that the caller returns all the same. */
  odd<T>(value: T): T {
    this.#isOdd = true;
    return value;
  }

  /** Reads a length and skips as many bytes. Returns where these bytes begin. */
  #take(): number {
    const length = this.varint();
    if (length > this.#end - this.#at) return this.odd(this.#at);
    const start = this.#at;
    this.#at += length;
    return start;
  }
}
