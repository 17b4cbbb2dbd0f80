/** Bytes in their order, put in and taken out in pieces of any size; each byte is copied once at most. */
export class ByteQueue {
  #chunks: Uint8Array[] = [];
  /** Of the first chunk: taken already. */
  #taken = 0;

  put(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
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

  clear(): void {
    this.#chunks = [];
    this.#taken = 0;
  }
}
