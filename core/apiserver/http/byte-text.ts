/** A text that is put together from bytes. One copy of each part goes into one buffer: many small buffers would cost more than their bytes. */
import { asBuffer } from '../../store/bytes.ts';

export class ByteText {
  #bytes: Buffer;
  #length = 0;

  /** `capacity`: the expected length in bytes. */
  constructor(capacity: number) {
    this.#bytes = Buffer.allocUnsafeSlow(capacity);
  }

  get length(): number {
    return this.#length;
  }

  /** Adds characters of ASCII. */
  ascii(text: string): void {
    this.#reserve(text.length);
    this.#length += this.#bytes.write(text, this.#length, 'latin1');
  }

  add(bytes: Uint8Array, start = 0, end = bytes.length): void {
    this.#reserve(end - start);
    asBuffer(bytes).copy(this.#bytes, this.#length, start, end);
    this.#length += end - start;
  }

  /** The text so far. The next text begins with this capacity. */
  take(capacity = 0): Buffer {
    const taken = this.#bytes.subarray(0, this.#length);
    this.#bytes = Buffer.allocUnsafeSlow(capacity);
    this.#length = 0;
    return taken;
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}
