/**
 * The newest rows of a producer, as they were put. They are sent in the next turn, and reading them back would take as long as all other work of sending. The
 * rows count only while the head's record in the store is the record that the newest of them wrote. After a transaction that was undone, or in a store that
 * was restored, the record differs: revision and digest of a table are the same only when its rows are the same.
 */
import { equalBytes, lasting } from '../store/bytes.ts';
import type { FeedRow } from './feed.ts';

/** The number of rows that a change of a placement and some objects writes for a child. More rows are read back. */
export const recentRowsMax = 8;

export class RecentRows {
  /** In order of revision: all live rows after `#after`. */
  #rows: FeedRow[] = [];
  #after = 0;
  #head: Uint8Array | undefined;

  /** Records a row that was put. `before`: the row before. `headBefore` and `head`: the head's record before and after. */
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

  /** The live rows after a revision. Undefined if they are not known. */
  rowsAfter(head: Uint8Array | undefined, after: number): readonly FeedRow[] | undefined {
    if (!this.#head || !head || after < this.#after || this.#rows.length === 0) return undefined;
    return equalBytes(this.#head, head) ? this.#rows : undefined;
  }

  /** The rows were sent. An idle producer keeps no rows. */
  forget(): void {
    this.#rows = [];
    this.#head = undefined;
  }
}

/** The values that were copied last. One row goes into many mailboxes, one after the other, and all of them share these copies. */
const none: Uint8Array = Buffer.alloc(0);
const last = { keyHash: none, content: { hash: none } };

/** Copies the hashes out of Buffer's pool: a child that is away leaves its rows here, and a few bytes of the pool keep 64 KB of it alive. */
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
