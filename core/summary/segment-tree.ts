/**
 * The merge of many slots. After a change of one slot, the new total costs at most ceil(log2(slots)) merges. The merge must be associative, but needs no
 * inverse (minimum and samples have none): a value can be removed without one. A running total would need an inverse.
 *
 * Merges are made only when the total is asked for. Several changes before this share the merges of the nodes that are above all of them. So even a change of
 * all slots costs at most one merge for each slot. An empty slot has `undefined` and costs no merge.
 */
export class SegmentTree<T> {
  readonly #merge: (a: T, b: T) => T;
  /** Node i has the children 2i and 2i+1. The leaves begin at #capacity. */
  #nodes: (T | undefined)[];
  /** Marks the inner nodes with a changed slot below them. If a node is marked, then all nodes above it are marked too. */
  #stale: Uint8Array;
  #capacity = 1;
  readonly #slots = new Map<string, number>();
  readonly #free: number[] = [];
  /** Number of merges since the start. Tests check with it that a change costs at most log2(n) merges. */
  merges = 0;

  constructor(merge: (a: T, b: T) => T) {
    this.#merge = merge;
    this.#nodes = new Array(2).fill(undefined);
    this.#stale = new Uint8Array(1);
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

  /** The merge of all slots. Undefined: there are no slots. */
  total(): T | undefined {
    return this.#capacity === 1 ? this.#nodes[1] : this.#at(1);
  }

  keys(): IterableIterator<string> {
    return this.#slots.keys();
  }

  #write(slot: number, value: T | undefined): void {
    this.#nodes[this.#capacity + slot] = value;
    // All nodes above a stale node are stale already.
    for (let at = (this.#capacity + slot) >> 1; at >= 1 && this.#stale[at] === 0; at >>= 1) this.#stale[at] = 1;
  }

  #at(node: number): T | undefined {
    if (node < this.#capacity && this.#stale[node] === 1) {
      this.#stale[node] = 0;
      this.#nodes[node] = this.#join(this.#at(2 * node), this.#at(2 * node + 1));
    }
    return this.#nodes[node];
  }

  #grow(): void {
    const leaves = this.#nodes.slice(this.#capacity);
    this.#capacity *= 2;
    this.#nodes = new Array(2 * this.#capacity).fill(undefined);
    for (let i = 0; i < leaves.length; i++) this.#nodes[this.#capacity + i] = leaves[i];
    this.#stale = new Uint8Array(this.#capacity).fill(1);
  }

  #join(a: T | undefined, b: T | undefined): T | undefined {
    if (a === undefined) return b;
    if (b === undefined) return a;
    this.merges++;
    return this.#merge(a, b);
  }
}
