/**
 * Reads what field-writer.ts writes: the fields of the frames of which there are most, for which the generated code makes a reader for each frame, and a BigInt and
 * a text for each number. It knows only what such a frame has as a rule. With anything odd in it (a number of 50 bits, a text that is not ASCII, a length that
 * reaches too far) all of the frame is left to the generated code, which takes or refuses it.
 */
import type { Buffer } from 'node:buffer';
import { base } from './field-writer.ts';

/** Seven bytes carry 49 bits; an eighth might go beyond what a number holds. */
const varintBytesMax = 7;
/** Beyond this the generated code makes a negative number of one of 32 bits. */
const int32Max = 2 ** 31 - 1;

export class FieldReader {
  readonly #bytes: Buffer;
  #at: number;
  /** Of the message that is being read. */
  #end: number;
  #isOdd = false;

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.#at = at;
    this.#end = bytes.length;
  }

  /** Whether the message goes on; never once something was odd. */
  get hasMore(): boolean {
    return this.#at < this.#end && !this.#isOdd;
  }

  /** Read to the last byte, and nothing was odd. */
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

  /** A view, as the generated code gives one. */
  bytes(): Buffer {
    const start = this.#take();
    return this.#bytes.subarray(start, this.#at);
  }

  text(): string {
    const start = this.#take();
    for (let at = start; at < this.#at; at++) if (this.#bytes[at]! >= base) return this.odd('');
    return this.#bytes.toString('latin1', start, this.#at);
  }

  /** Begins the message within; its end is given to `leave`, which goes on with the one around it. */
  enter(): number {
    const around = this.#end;
    const start = this.#take();
    this.#end = this.#at;
    this.#at = start;
    return around;
  }

  leave(around: number): void {
    this.#end = around;
  }

  /** Gives what the caller has to give all the same. */
  odd<T>(value: T): T {
    this.#isOdd = true;
    return value;
  }

  /** Goes over a length and what it is of; where that starts. */
  #take(): number {
    const length = this.varint();
    if (length > this.#end - this.#at) return this.odd(this.#at);
    const start = this.#at;
    this.#at += length;
    return start;
  }
}
