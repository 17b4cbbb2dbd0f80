/**
 * The counters of a transaction. The store writes each counter once, at the end of the transaction. For example, an object that goes into a thousand
 * mailboxes changes the counter of its content a thousand times, and the counter of the replaced content too.
 */
import { asBuffer } from '../bytes.ts';
import { countIn, putCount, type Transaction } from '../store.ts';

interface Counted {
  readonly key: Uint8Array;
  readonly before: number;
  sum: number;
}

export class StoredCounters {
  readonly #byKey = new Map<string, Counted>();

  add(t: Transaction, key: Uint8Array, by: number): number {
    const name = asBuffer(key).toString('latin1');
    let counted = this.#byKey.get(name);
    if (!counted) {
      const before = countIn(t.get(key));
      counted = { key, before, sum: before };
      this.#byKey.set(name, counted);
    }
    counted.sum += by;
    return counted.sum;
  }

  write(t: Transaction): void {
    for (const { key, before, sum } of this.#byKey.values()) if (sum !== before) putCount(t, key, before, sum);
  }
}
