/**
 * An associative merge over many slots, of which one changes at a time: a change costs at most ceil(log2(slots)) merges,
 * whatever the merge is. Retractions (minimum, samples) need no inverse, which a running total would.
 *
 * A slot that is empty holds `undefined` and costs no merge.
 */
export class SegmentTree<T> {
  readonly #merge: (a: T, b: T) => T;
  /** Node i has children 2i and 2i+1; leaves begin at #capacity. */
  #nodes: (T | undefined)[];
  #capacity = 1;
  readonly #slots = new Map<string, number>();
  readonly #free: number[] = [];
  /** Merges done since the start: the promise of log2(n) is asserted on it. */
  merges = 0;

  constructor(merge: (a: T, b: T) => T) {
    this.#merge = merge;
    this.#nodes = new Array(2).fill(undefined);
  }

  get size(): number {
    return this.#slots.size;
  }

  get(key: string): T | undefined {
    const slot = this.#slots.get(key);
    return slot === undefined ? undefined : this.#nodes[this.#capacity + slot];
  }

  set(key: string, value: T): void {
    let slot = this.#slots.get(key);
    if (slot === undefined) {
      slot = this.#free.pop() ?? this.#slots.size;
      this.#slots.set(key, slot);
      if (slot >= this.#capacity) this.#grow();
    }
    this.#write(slot, value);
  }

  delete(key: string): boolean {
    const slot = this.#slots.get(key);
    if (slot === undefined) return false;
    this.#slots.delete(key);
    this.#free.push(slot);
    this.#write(slot, undefined);
    return true;
  }

  /** The merge of all slots; undefined when there is none. */
  total(): T | undefined {
    return this.#nodes[1];
  }

  keys(): IterableIterator<string> {
    return this.#slots.keys();
  }

  #write(slot: number, value: T | undefined): void {
    let at = this.#capacity + slot;
    this.#nodes[at] = value;
    for (at >>= 1; at >= 1; at >>= 1) this.#nodes[at] = this.#join(this.#nodes[2 * at], this.#nodes[2 * at + 1]);
  }

  /** Rebuilds at twice the size; over n insertions that is O(n) merges in all. */
  #grow(): void {
    const leaves = this.#nodes.slice(this.#capacity);
    this.#capacity *= 2;
    this.#nodes = new Array(2 * this.#capacity).fill(undefined);
    for (let i = 0; i < leaves.length; i++) this.#nodes[this.#capacity + i] = leaves[i];
    for (let i = this.#capacity - 1; i >= 1; i--)
      this.#nodes[i] = this.#join(this.#nodes[2 * i], this.#nodes[2 * i + 1]);
  }

  #join(a: T | undefined, b: T | undefined): T | undefined {
    if (a === undefined) return b;
    if (b === undefined) return a;
    this.merges++;
    return this.#merge(a, b);
  }
}
