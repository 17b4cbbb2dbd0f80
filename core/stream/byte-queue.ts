/**
 * Bytes in their order, put in and taken out in pieces of any size. What is kept for a byte is bounded: a peer may send a window in frames of a byte each, and
 * a buffer of its own costs 190 bytes; or a few bytes in a frame of megabytes, which they would keep alive. So what is small, or a small part of its
 * memory, is copied into blocks; the rest goes through as it is.
 */

/** Beside as many bytes, a buffer of its own costs nothing; and an idle stream keeps no more than a block. */
const blockBytes = 4 * 1024;
/** Memory that is kept for a byte that is not copied: the frames of this product are larger than their data by some bytes. */
const keptPerByteMax = 2;

const noBlock = Buffer.alloc(0);

export class ByteQueue {
  #chunks: Uint8Array[] = [];
  /** Of the first chunk: taken already. */
  #taken = 0;
  /** The one that has room yet, if any. What is written in it never changes, since it may have been taken out as it is. */
  #block = noBlock;
  #filled = 0;
  /** Of the block: what comes next is added to it as long as it is the last chunk. */
  #tail: Uint8Array | undefined;

  get isEmpty(): boolean {
    return this.#chunks.length === 0;
  }

  put(chunk: Uint8Array): void {
    const isCompact = chunk.buffer.byteLength <= keptPerByteMax * chunk.length;
    if (chunk.length >= blockBytes && isCompact) this.#chunks.push(chunk);
    else this.#copy(chunk);
  }

  /** There are as many. */
  take(bytes: number): Buffer {
    const parts: Uint8Array[] = [];
    let index = 0;
    for (let missing = bytes; missing > 0; ) {
      const chunk = this.#chunks[index]!;
      const part = chunk.subarray(this.#taken, this.#taken + missing);
      parts.push(part);
      missing -= part.length;
      this.#taken += part.length;
      if (this.#taken < chunk.length) break;
      this.#taken = 0;
      index++;
    }
    if (index > 0) this.#chunks.splice(0, index);
    const [only] = parts;
    if (parts.length === 1 && only) return Buffer.from(only.buffer, only.byteOffset, only.byteLength);
    return Buffer.concat(parts);
  }

  /** As many as there are without copying them. */
  takeSome(): Buffer | undefined {
    const first = this.#chunks[0];
    return first && this.take(first.length - this.#taken);
  }

  clear(): void {
    this.#chunks = [];
    this.#taken = 0;
    this.#leaveBlock();
  }

  #copy(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) {
      const missing = chunk.length - at;
      // Not of Buffer's pool, of which a part would keep all.
      if (this.#block.length === 0) this.#block = Buffer.allocUnsafeSlow(Math.max(blockBytes, missing));
      const bytes = Math.min(missing, this.#block.length - this.#filled);
      this.#block.set(chunk.subarray(at, at + bytes), this.#filled);
      this.#append(bytes);
      at += bytes;
      if (this.#filled === this.#block.length) this.#leaveBlock();
    }
  }

  /** What was just written in the block, to the last chunk if that is of it. */
  #append(bytes: number): void {
    const tail = this.#tail;
    const isLast = tail !== undefined && this.#chunks.at(-1) === tail;
    if (isLast) this.#chunks.pop();
    const from = isLast ? tail.byteOffset : this.#filled;
    this.#filled += bytes;
    this.#tail = this.#block.subarray(from, this.#filled);
    this.#chunks.push(this.#tail);
  }

  #leaveBlock(): void {
    this.#block = noBlock;
    this.#filled = 0;
    this.#tail = undefined;
  }
}
