/** The consuming end of a feed: rows, and how far it has come, committed together. */

import { hash128, hashBytes } from '../object/hash.ts';
import { BanyanError } from '../runtime/errors.ts';
import { asText, concat, equalBytes, text, u32 } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Reader, Transaction } from '../store/store.ts';
import { recordOf, releaseContent, storeContent } from './content.ts';
import { type Digest, decodeDigest, encodeDigest, moved } from './digest.ts';
import type { AppliedChange, Batch, Consumer, ResumeTuple, Row, WireEntry } from './feed.ts';
import { withPieces } from './pieces.ts';
import { checkSameKey, openTable, removeRow, TableRows, writeRow } from './table.ts';

/**
 * Entries by which a producer that could not make a row anew, and has nothing of the former one, says that the consumer is to keep its own: without it,
 * a reconciliation would take away what the producer does not have.
 */
export interface Keeping {
  /** The key of the entry that would keep the row of this key. */
  keeperOf(key: string): string | undefined;
  /** The key of the row that the entry of this key keeps. */
  keptBy(key: string): string | undefined;
}

/** Revision of a row that only its keeper keeps: the producer has none of it. Those of producers begin at 1. */
const keptRevision = 0;

const neverAttached: ResumeTuple = { epoch: '', incarnation: '', cursor: 0, seenHead: 0 };

export class FeedConsumer extends TableRows implements Consumer {
  readonly #keeping: Keeping | undefined;

  static open(t: Transaction, { name, keeping }: { readonly name: string; readonly keeping?: Keeping }): FeedConsumer {
    return new FeedConsumer(name, openTable(t, name), keeping);
  }

  private constructor(name: string, id: number, keeping: Keeping | undefined) {
    super(name, id);
    this.#keeping = keeping;
  }

  resume(reader: Reader): ResumeTuple {
    const bytes = reader.get(stateKey(this.id));
    return bytes ? (JSON.parse(asText(bytes)) as ResumeTuple) : neverAttached;
  }

  apply(t: Transaction, batch: Batch): AppliedChange[] {
    const tuple = this.resume(t);
    if (tuple.epoch !== '' && tuple.epoch !== batch.epoch) {
      throw new BanyanError(
        'Protocol',
        `${this.name}: a batch of epoch ${batch.epoch}, expected ${tuple.epoch}`,
        {},
        { retry: 'resync' },
      );
    }
    if (batch.to <= tuple.cursor) return [];
    if (batch.from !== tuple.cursor) {
      const message = `${this.name}: a batch from revision ${batch.from}, expected ${tuple.cursor}`;
      throw new BanyanError('Protocol', message, {}, { retry: 'resync' });
    }
    const changes = this.applyEntries(t, withPieces(t, this.id, batch.entries));
    this.setResume(t, { epoch: batch.epoch, incarnation: batch.incarnation, cursor: batch.to, seenHead: batch.head });
    return changes;
  }

  applyAhead(t: Transaction, batch: Batch): AppliedChange[] {
    const { epoch, incarnation, head } = batch;
    const tuple = this.resume(t);
    if ((tuple.epoch !== '' && tuple.epoch !== epoch) || batch.from <= tuple.cursor) {
      const message = `${this.name}: a batch ahead, from revision ${batch.from} of epoch ${epoch}, at cursor ${tuple.cursor} of ${tuple.epoch}`;
      throw new BanyanError('Protocol', message, {}, { retry: 'resync' });
    }
    const changes = this.applyEntries(t, batch.entries);
    this.setResume(t, { epoch, incarnation, cursor: tuple.cursor, seenHead: Math.max(tuple.seenHead, head) });
    return changes;
  }

  /** Entries without their place in the feed: the body of a batch, or what a reconciliation fetched. */
  applyEntries(t: Transaction, entries: readonly WireEntry[]): AppliedChange[] {
    const tally = new Tally(t, this.id);
    const changes = entries.flatMap((entry) => {
      const change = this.#applyEntry(t, entry, tally);
      if (!change) return [];
      const kept = change.after ? undefined : this.#released(t, change.key, tally);
      return kept ? [change, kept] : [change];
    });
    tally.write();
    return changes;
  }

  /** Of the live rows. */
  digest(reader: Reader): Digest {
    return decodeDigest(reader.get(digestKey(this.id)));
  }

  /** Removes a key that a ready producer has proven to be gone. */
  removeKey(t: Transaction, keyHash: Uint8Array): AppliedChange | undefined {
    const tally = new Tally(t, this.id);
    const change = this.#remove(t, keyHash, tally);
    tally.write();
    return change;
  }

  #remove(t: Transaction, keyHash: Uint8Array, tally: Tally): AppliedChange | undefined {
    const row = this.get(t, keyHash);
    return row && this.#applyEntry(t, { keyHash, revision: row.revision, originRevision: row.originRevision }, tally);
  }

  /** Keeps a key that a ready producer has proven not to have, if an entry here says so; `keeperHash` is of that entry's key. */
  keepKey(t: Transaction, keyHash: Uint8Array, isGone: (keeperHash: Uint8Array) => boolean): boolean {
    const row = this.get(t, keyHash);
    const keeper = row?.content && this.#keeping?.keeperOf(this.content(t, row.content).key);
    if (!row || keeper === undefined) return false;
    const keeperHash = hash128(keeper);
    if (isGone(keeperHash) || !this.get(t, keeperHash)?.content) return false;
    writeRow(t, this.id, { ...row, revision: keptRevision });
    return true;
  }

  /** A newer value does not give way to an older one, unless its producer has lost it. */
  takes(row: Row, originRevision: number): boolean {
    return row.originRevision <= originRevision || row.revision === keptRevision;
  }

  /** The keeper has gone, and the producer has not put anything in the place of what it kept. */
  #released(t: Transaction, keeper: string, tally: Tally): AppliedChange | undefined {
    const key = this.#keeping?.keptBy(keeper);
    const row = key === undefined ? undefined : this.get(t, hash128(key));
    return row?.revision === keptRevision ? this.#remove(t, row.keyHash, tally) : undefined;
  }

  setResume(t: Transaction, tuple: ResumeTuple): void {
    t.put(stateKey(this.id), text(JSON.stringify(tuple)));
  }

  #applyEntry(t: Transaction, entry: WireEntry, tally: Tally): AppliedChange | undefined {
    const { content, revision, originRevision } = entry;
    if (entry.pieces) throw new Error('an entry whose content was not put together');
    const keyHash = entry.keyHash.slice(0, hashBytes);
    const row = this.get(t, keyHash);
    if (row && !this.takes(row, originRevision)) return undefined;
    const before = this.contentOf(t, row);
    if (!content) {
      if (!row) return undefined;
      removeRow(t, this.id, keyHash);
      tally.moved(row.content?.hash, undefined);
      if (row.content) releaseContent(t, row.content);
      return before && { keyHash, key: before.key, originRevision, before };
    }
    if (!equalBytes(keyHash, hash128(content.key))) {
      throw new BanyanError('Protocol', `${this.name}: the entry "${content.key}" came under another key's hash`);
    }
    if (before) checkSameKey(before, content.key);
    const record = recordOf(content);
    const same = row?.content !== undefined && equalBytes(row.content.hash, record.hash);
    const reference = same && row?.content ? row.content : storeContent(t, record);
    writeRow(t, this.id, { keyHash, revision, originRevision, content: reference });
    if (same) return undefined;
    tally.moved(row?.content?.hash, record.hash);
    if (row?.content) releaseContent(t, row.content);
    return { keyHash, key: content.key, originRevision, after: content, ...(before ? { before } : {}) };
  }
}

/** The digest while entries are applied: read once, written once. */
class Tally {
  readonly #t: Transaction;
  readonly #key: Uint8Array;
  #before: Digest | undefined;
  #digest: Digest | undefined;

  constructor(t: Transaction, id: number) {
    this.#t = t;
    this.#key = digestKey(id);
  }

  moved(before: Uint8Array | undefined, after: Uint8Array | undefined): void {
    this.#before ??= decodeDigest(this.#t.get(this.#key));
    this.#digest = moved(this.#digest ?? this.#before, before, after);
  }

  write(): void {
    if (this.#digest) this.#t.put(this.#key, encodeDigest(this.#digest));
  }
}

function digestKey(id: number): Uint8Array {
  return concat(prefixOf('consumerState'), u32(id), text('digest'));
}

function stateKey(id: number): Uint8Array {
  return concat(prefixOf('consumerState'), u32(id));
}
