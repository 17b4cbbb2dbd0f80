/**
 * Keeps the newest rows of a producer in memory. The producer sends them in the next turn; reading them back from the store would take as long as all other
 * work of sending. The rows are used only if the head's record in the store is still the one that the newest of these rows wrote. After an aborted
 * transaction, or in a restored store, the record is different: two tables have the same revision and digest only if their rows are the same.
 */
import { equalBytes, lasting } from '../store/bytes.ts';
import type { FeedRow } from './feed.ts';

/** Number of rows that are kept: a typical change of a placement with a few objects. If more rows were put, the producer reads the store. */
export const recentRowsMax = 8;

export class RecentRows {
  /** All present rows after revision `#after`, with tombstones, in the order of their revisions. */
  #rows: FeedRow[] = [];
  #after = 0;
  #head: Uint8Array | undefined;

  /** Adds a row that was put. `before`: the previous row of this key. `headBefore` and `head`: the head's record before and after the put. */
  put(headBefore: Uint8Array | undefined, head: Uint8Array, before: FeedRow | undefined, row: FeedRow): void {
    const isContinuation = this.#head && headBefore && equalBytes(this.#head, headBefore);
    this.#head = copyOf(head);
    if (!isContinuation || this.#rows.length === 0) {
      this.#rows = [lastingRow(row)];
      this.#after = row.revision - 1;
      return;
    }
    if (before && before.revision > this.#after) {
      this.#rows = this.#rows.filter(({ revision }) => revision !== before.revision);
    }
    this.#rows.push(lastingRow(row));
    if (this.#rows.length > recentRowsMax) this.#after = this.#rows.shift()!.revision;
  }

  /** Rows in the order of their revisions, among them all rows after `after`. Undefined: this cache does not have all of them. */
  rowsAfter(head: Uint8Array | undefined, after: number): readonly FeedRow[] | undefined {
    if (!this.#head || !head || after < this.#after || this.#rows.length === 0) return undefined;
    return equalBytes(this.#head, head) ? this.#rows : undefined;
  }

  /** Forgets all rows, for example when they were sent: an idle producer keeps no rows in memory. */
  forget(): void {
    this.#rows = [];
    this.#head = undefined;
  }
}

/** The newest copies. The same row often goes into many mailboxes, one after the other; all of them share one copy. */
const none: Uint8Array = Buffer.alloc(0);
const last = { keyHash: none, content: { hash: none } };

/**
 * Copies the hashes out of Buffer's memory pool. The rows of a child that is away stay in memory for long, and each reference to a few bytes of the pool
 * would keep 64 KB of the pool in memory.
 */
function lastingRow({ keyHash, revision, originRevision, content }: FeedRow): FeedRow {
  if (!equalBytes(last.keyHash, keyHash)) last.keyHash = lasting(keyHash);
  if (!content) return { keyHash: last.keyHash, revision, originRevision };
  if (!equalBytes(last.content.hash, content.hash)) last.content = { hash: lasting(content.hash) };
  return { keyHash: last.keyHash, revision, originRevision, content: last.content };
}

function copyOf(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(bytes.length);
  copy.set(bytes);
  return copy;
}
