/** The consuming end of a feed: rows, and how far it has come, committed together. */

import { hash128, hashBytes } from '../object/hash.ts';
import { BanyanError } from '../runtime/errors.ts';
import { asText, concat, equalBytes, text, u32 } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Reader, Transaction } from '../store/store.ts';
import { contentHash, releaseContent, storeContent } from './content.ts';
import type { AppliedChange, Batch, Consumer, ResumeTuple, WireEntry } from './feed.ts';
import { withPieces } from './pieces.ts';
import { checkCollision, openTable, removeRow, TableRows, writeRow } from './table.ts';

const neverAttached: ResumeTuple = { epoch: '', incarnation: '', cursor: 0, seenHead: 0 };

export class FeedConsumer extends TableRows implements Consumer {
  static open(t: Transaction, { name }: { readonly name: string }): FeedConsumer {
    return new FeedConsumer(name, openTable(t, name));
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
    return entries.map((entry) => this.#applyEntry(t, entry)).filter((change) => change !== undefined);
  }

  /** Removes a key that a ready producer has proven to be gone. */
  removeKey(t: Transaction, keyHash: Uint8Array): AppliedChange | undefined {
    const row = this.get(t, keyHash);
    return row && this.#applyEntry(t, { keyHash, revision: row.revision, originRevision: row.originRevision });
  }

  setResume(t: Transaction, tuple: ResumeTuple): void {
    t.put(stateKey(this.id), text(JSON.stringify(tuple)));
  }

  #applyEntry(t: Transaction, entry: WireEntry): AppliedChange | undefined {
    const { content, revision, originRevision } = entry;
    if (entry.pieces) throw new Error('an entry whose content was not put together');
    const keyHash = entry.keyHash.slice(0, hashBytes);
    const row = this.get(t, keyHash);
    if (row && row.originRevision > originRevision) return undefined;
    const before = this.contentOf(t, row);
    if (!content) {
      if (!row) return undefined;
      removeRow(t, this.id, keyHash);
      if (row.content) releaseContent(t, row.content);
      return before && { keyHash, key: before.key, originRevision, before };
    }
    if (!equalBytes(keyHash, hash128(content.key))) {
      throw new BanyanError('Protocol', `${this.name}: the entry "${content.key}" came under another key's hash`);
    }
    checkCollision(t, row, content.key);
    const same = row?.content !== undefined && equalBytes(row.content.hash, contentHash(content));
    const reference = same && row?.content ? row.content : storeContent(t, content);
    writeRow(t, this.id, { keyHash, revision, originRevision, content: reference });
    if (same) return undefined;
    if (row?.content) releaseContent(t, row.content);
    return { keyHash, key: content.key, originRevision, after: content, ...(before ? { before } : {}) };
  }
}

function stateKey(id: number): Uint8Array {
  return concat(prefixOf('consumerState'), u32(id));
}
