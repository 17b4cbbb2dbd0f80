/**
 * The uids of deleted objects, for the objects that were made anew under the same name. A cluster that was away in between still has the former object. By its
 * uid the agent knows that the space deleted it, and replaces it as a cluster that was there did (decision 0050). If a space has lost its store, nothing here
 * names its former objects. Then the agent changes its objects in place, and deletes nothing.
 */

import { formerUidsMax, shortUid } from '../../core/entries/former-uids.ts';
import { formatKey, type ObjectKey } from '../../core/object/key.ts';
import { asText, concat, prefixRange, readU32, text, u32, u48 } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';

/**
 * Maximal number of deleted objects of one space whose uids are remembered while no object has the name. 10,000 rows take about 2 MB. The space forgets the
 * oldest first: names that are used once, such as generated names, would otherwise fill the store.
 */
const goneMax = 10_000;

interface FormerRow {
  /** Oldest first. */
  readonly uids: readonly string[];
  /** The revision of the last deletion. Absent: an object of this name exists. */
  readonly gone?: number;
}

const nul = Buffer.of(0);

export class FormerObjects {
  readonly #source: string;
  readonly #goneMax: number;

  constructor(source: string, max = goneMax) {
    this.#source = source;
    this.#goneMax = max;
  }

  /** Returns the short uids of the former objects of this name, oldest first. */
  of(reader: Reader, key: ObjectKey): readonly string[] {
    return this.#row(reader, key)?.uids ?? [];
  }

  /**
   * Called in the transaction that deletes an object, and again when its finalizers are gone and the space removes it. `isSent`: nodes below may have the
   * object.
   */
  deleted(t: Transaction, key: ObjectKey, uid: string, revision: number, isSent: boolean): void {
    const before = this.#row(t, key);
    if (!before && !isSent) return;
    const known = before?.uids ?? [];
    const uids = known.at(-1) === shortUid(uid) ? known : [...known, shortUid(uid)].slice(-formerUidsMax);
    if (before?.gone !== undefined) t.remove(this.#goneKey(before.gone, key));
    t.put(this.#rowKey(key), text(JSON.stringify({ uids, gone: revision } satisfies FormerRow)));
    t.put(this.#goneKey(revision, key), new Uint8Array(0));
    if (before?.gone === undefined) this.#count(t, 1);
    this.#forgetOldest(t);
  }

  /** Called in the transaction that creates an object. The row then stays as long as the object. */
  created(t: Transaction, key: ObjectKey): void {
    const before = this.#row(t, key);
    if (before?.gone === undefined) return;
    t.remove(this.#goneKey(before.gone, key));
    t.put(this.#rowKey(key), text(JSON.stringify({ uids: before.uids } satisfies FormerRow)));
    this.#count(t, -1);
  }

  #forgetOldest(t: Transaction): void {
    const prefix = concat(prefixOf('formerGone'), text(this.#source), nul);
    if (this.#gone(t) <= this.#goneMax) return;
    for (const [at] of t.scan(prefixRange(prefix))) {
      t.remove(at);
      t.remove(concat(prefixOf('formerObject'), text(this.#source), nul, at.subarray(prefix.length + u48(0).length)));
      this.#count(t, -1);
      return;
    }
  }

  #gone(reader: Reader): number {
    const bytes = reader.get(this.#countKey());
    return bytes ? readU32(bytes) : 0;
  }

  #count(t: Transaction, by: number): void {
    t.put(this.#countKey(), u32(this.#gone(t) + by));
  }

  #row(reader: Reader, key: ObjectKey): FormerRow | undefined {
    const bytes = reader.get(this.#rowKey(key));
    return bytes && (JSON.parse(asText(bytes)) as FormerRow);
  }

  #rowKey(key: ObjectKey): Uint8Array {
    return concat(prefixOf('formerObject'), text(this.#source), nul, text(formatKey(key)));
  }

  /** In the order of the deletions. */
  #goneKey(revision: number, key: ObjectKey): Uint8Array {
    return concat(prefixOf('formerGone'), text(this.#source), nul, u48(revision), text(formatKey(key)));
  }

  #countKey(): Uint8Array {
    return concat(prefixOf('formerCount'), text(this.#source));
  }
}
