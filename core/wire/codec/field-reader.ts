/**
 * Reads the fields that field-writer.ts writes, for the most frequent frames. The generated code makes a reader for each frame, and a BigInt and a text for
 * each number. This reader accepts only the values that such frames usually contain. If a frame contains an unusual value (a number of 50 bits, a text that
 * is not ASCII, a length that is too large), the generated code decodes the whole frame, and accepts or refuses it.
 */
import type { Buffer } from 'node:buffer';
import { base } from './field-writer.ts';

/** Seven bytes hold 49 bits. With eight bytes, a value might be too large for a JavaScript number. */
const varintBytesMax = 7;
/** The generated code decodes a larger value of a 32-bit field as a negative number. */
const int32Max = 2 ** 31 - 1;

export class FieldReader {
  readonly #bytes: Buffer;
  #at: number;
  /** The end of the message that the reader reads now. */
  #end: number;
  #isOdd = false;

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.#at = at;
    this.#end = bytes.length;
  }

  /** True if the message has more fields. Always false after an unusual value. */
  get hasMore(): boolean {
    return this.#at < this.#end && !this.#isOdd;
  }

  /** True if the reader has read all bytes of the frame, and no value was unusual. */
  get isWhole(): boolean {
    return this.#at === this.#bytes.length && !this.#isOdd;
  }

  /** Reads a tag, a length, or a number. */
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

  /** Reads bytes, and returns a view of them, like the generated code. */
  bytes(): Buffer {
    const start = this.#take();
    return this.#bytes.subarray(start, this.#at);
  }

  text(): string {
    const start = this.#take();
    for (let at = start; at < this.#at; at++) if (this.#bytes[at]! >= base) return this.odd('');
    return this.#bytes.toString('latin1', start, this.#at);
  }

  /** Begins an inner message. Returns the end of the outer message; pass it to `leave`. */
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

  /** Marks the frame as unusual. Returns `value`, because the caller must return something. */
  odd<T>(value: T): T {
    this.#isOdd = true;
    return value;
  }

  /** Reads a length and skips that number of bytes. Returns the position at which the skipped bytes begin. */
  #take(): number {
    const length = this.varint();
    if (length > this.#end - this.#at) return this.odd(this.#at);
    const start = this.#at;
    this.#at += length;
    return start;
  }
}
