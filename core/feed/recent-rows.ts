/**
 * The newest rows of a producer, as they were put: they are sent in the turn after, and reading them back takes as long as all else that is done to send
 * them. They are believed only while the head's record in the store is the one that the last of them left there, which a transaction that was undone, or a
 * store that was put back, does not leave: revision and digest of a table are the same only when its rows are.
 */
import { equalBytes, lasting } from '../store/bytes.ts';
import type { FeedRow } from './feed.ts';

/** What a change of a placement and some objects writes for a child; what is more is read back. */
export const recentRowsMax = 8;

export class RecentRows {
  /** In order of revision: all that are live behind `#after`. */
  #rows: FeedRow[] = [];
  #after = 0;
  #head: Uint8Array | undefined;

  /** A row was put, and was `before`; of the head's record, what stood there and what stands there now. */
  put(headBefore: Uint8Array | undefined, head: Uint8Array, before: FeedRow | undefined, row: FeedRow): void {
    const goesOn = this.#head && headBefore && equalBytes(this.#head, headBefore);
    this.#head = kept(head);
    if (!goesOn || this.#rows.length === 0) {
      this.#rows = [keptRow(row)];
      this.#after = row.revision - 1;
      return;
    }
    if (before && before.revision > this.#after) {
      this.#rows = this.#rows.filter(({ revision }) => revision !== before.revision);
    }
    this.#rows.push(keptRow(row));
    if (this.#rows.length > recentRowsMax) this.#after = this.#rows.shift()!.revision;
  }

  /** The live rows behind a revision, if they are known. */
  behind(head: Uint8Array | undefined, after: number): readonly FeedRow[] | undefined {
    if (!this.#head || !head || after < this.#after || this.#rows.length === 0) return undefined;
    return equalBytes(this.#head, head) ? this.#rows : undefined;
  }

  /** They were sent: what is idle keeps nothing. */
  forget(): void {
    this.#rows = [];
    this.#head = undefined;
  }
}

/** What was kept last: one row goes into many mailboxes, one after the other, and all of them share these. */
const none: Uint8Array = Buffer.alloc(0);
const last = { keyHash: none, content: { hash: none } };

/** In memory of their own: a child that is away leaves them here, and a few bytes of Buffer's pool keep 64 KB of it. */
function keptRow({ keyHash, revision, originRevision, content }: FeedRow): FeedRow {
  if (!equalBytes(last.keyHash, keyHash)) last.keyHash = lasting(keyHash);
  if (!content) return { keyHash: last.keyHash, revision, originRevision };
  if (!equalBytes(last.content.hash, content.hash)) last.content = { hash: lasting(content.hash) };
  return { keyHash: last.keyHash, revision, originRevision, content: last.content };
}

function kept(bytes: Uint8Array): Uint8Array {
  const own = new Uint8Array(bytes.length);
  own.set(bytes);
  return own;
}
