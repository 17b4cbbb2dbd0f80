/**
 * Bytes in order, put in and taken out in pieces of any size. The memory for each byte is bounded. Without that, a peer could send a whole window in frames
 * of one byte, and each would need a buffer of its own of 190 bytes; or send a few bytes in a frame of megabytes, and the bytes would keep the frame in
 * memory. So a chunk that is small, or is a small part of its memory, is copied into blocks. Other chunks are not copied.
 */

/** For a chunk of this size, the cost of its own buffer does not matter. An idle stream keeps at most one block. */
const blockBytes = 4 * 1024;
/** Memory for each byte of a chunk that is not copied: the frames of this product are larger than their data by a few bytes only. */
const keptPerByteMax = 2;

const noBlock = Buffer.alloc(0);

export class ByteQueue {
  #chunks: Uint8Array[] = [];
  /** How many bytes of the first chunk were taken already. */
  #taken = 0;
  /** The block that still has room, if there is one. Bytes in it never change once written, because they may have been taken out without a copy. */
  #block = noBlock;
  #filled = 0;
  /** The part of the block that is in the queue. The next bytes extend it while it is the last chunk. */
  #tail: Uint8Array | undefined;

  get isEmpty(): boolean {
    return this.#chunks.length === 0;
  }

  put(chunk: Uint8Array): void {
    const isCompact = chunk.buffer.byteLength <= keptPerByteMax * chunk.length;
    if (chunk.length >= blockBytes && isCompact) this.#chunks.push(chunk);
    else this.#copy(chunk);
  }

  /** The queue has at least this many bytes. */
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

  /** As many bytes as possible without a copy. */
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
      // Not from Buffer's pool: a part would keep the whole pool in memory.
      if (this.#block.length === 0) this.#block = Buffer.allocUnsafeSlow(Math.max(blockBytes, missing));
      const bytes = Math.min(missing, this.#block.length - this.#filled);
      this.#block.set(chunk.subarray(at, at + bytes), this.#filled);
      this.#append(bytes);
      at += bytes;
      if (this.#filled === this.#block.length) this.#leaveBlock();
    }
  }

  /** Queues the bytes that were just written into the block: extends the last chunk if that is a part of the block. */
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
