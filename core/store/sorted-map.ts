/** A mutable map from bytes to values in byte order: chunks of bounded size, so that an insertion moves few entries. */

const chunkMax = 256;

export class SortedMap<V> {
  #chunks: [key: Buffer, value: V][][] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: Uint8Array): V | undefined {
    const chunk = this.#chunks[this.#chunkOf(key)];
    if (!chunk) return undefined;
    const i = firstNotBefore(chunk, key);
    return i < chunk.length && Buffer.compare(chunk[i]![0], key) === 0 ? chunk[i]![1] : undefined;
  }

  /** Keeps a reference to `key`: the caller does not change it afterwards. */
  set(key: Buffer, value: V): void {
    const at = Math.min(this.#chunkOf(key), Math.max(0, this.#chunks.length - 1));
    const chunk = this.#chunks[at];
    if (!chunk) {
      this.#chunks.push([[key, value]]);
      this.#size++;
      return;
    }
    const i = firstNotBefore(chunk, key);
    if (i < chunk.length && Buffer.compare(chunk[i]![0], key) === 0) {
      chunk[i] = [key, value];
      return;
    }
    chunk.splice(i, 0, [key, value]);
    this.#size++;
    if (chunk.length > chunkMax) this.#chunks.splice(at + 1, 0, chunk.splice(chunkMax >> 1));
  }

  /** Entries with from <= key < to, in order. The map must not change meanwhile. */
  *range(from: Uint8Array, to: Uint8Array): Generator<readonly [Buffer, V]> {
    for (let at = this.#chunkOf(from); at < this.#chunks.length; at++) {
      const chunk = this.#chunks[at]!;
      for (let i = firstNotBefore(chunk, from); i < chunk.length; i++) {
        if (Buffer.compare(chunk[i]![0], to) >= 0) return;
        yield chunk[i]!;
      }
    }
  }

  *entries(): Generator<readonly [Buffer, V]> {
    for (const chunk of this.#chunks) yield* chunk;
  }

  /** First chunk whose last key is not before `key`. */
  #chunkOf(key: Uint8Array): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (Buffer.compare(this.#chunks[middle]!.at(-1)![0], key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function firstNotBefore<V>(chunk: readonly (readonly [Buffer, V])[], key: Uint8Array): number {
  let low = 0;
  let high = chunk.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (Buffer.compare(chunk[middle]![0], key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
