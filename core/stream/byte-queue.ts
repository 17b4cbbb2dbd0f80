/**
 * A queue of bytes. Bytes are put in and taken out in chunks of any size. The memory for each byte is bounded. Without this bound, a peer could send a whole
 * window in frames of one byte, each of which needs a buffer of 190 bytes; or a few bytes in a frame of megabytes, which would stay in memory because of
 * these bytes. So the queue copies a chunk into a block if the chunk is small, or is only a small part of its memory. Other chunks are not copied.
 */

/** Size of a block. A chunk of at least this size is not copied, because the cost of its buffer does not matter. An idle stream keeps at most one block. */
const blockBytes = 4 * 1024;
/** Limit for the memory for each byte of a chunk that is not copied. Frames of Banyan nodes are only a few bytes larger than their data. */
const keptPerByteMax = 2;

const noBlock = Buffer.alloc(0);

export class ByteQueue {
  #chunks: Uint8Array[] = [];
  /** Number of bytes of the first chunk that were taken already. */
  #taken = 0;
  /** The block that still has room, if there is one. Written bytes of a block never change, because a caller may have them without a copy. */
  #block = noBlock;
  #filled = 0;
  /** The last chunk of the queue that is a part of the block. While this chunk is the last of the queue, the next bytes extend it. */
  #tail: Uint8Array | undefined;

  get isEmpty(): boolean {
    return this.#chunks.length === 0;
  }

  put(chunk: Uint8Array): void {
    const isCompact = chunk.buffer.byteLength <= keptPerByteMax * chunk.length;
    if (chunk.length >= blockBytes && isCompact) this.#chunks.push(chunk);
    else this.#copy(chunk);
  }

  /** Takes this number of bytes. The queue must have them. */
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

  /** Takes as many bytes as possible without a copy. Undefined: the queue is empty. */
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
      // Allocated outside of Buffer's pool: otherwise a few bytes would keep the whole pool in memory.
      if (this.#block.length === 0) this.#block = Buffer.allocUnsafeSlow(Math.max(blockBytes, missing));
      const bytes = Math.min(missing, this.#block.length - this.#filled);
      this.#block.set(chunk.subarray(at, at + bytes), this.#filled);
      this.#append(bytes);
      at += bytes;
      if (this.#filled === this.#block.length) this.#leaveBlock();
    }
  }

  /** Queues the bytes that were just written into the block. Extends the last chunk if it is a part of the block. */
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
