/** The producing end of a feed: rows with an index by revision, tombstones until they are acknowledged, and the rule that decides who may resume. */

import { hash128, hashBytes } from '../object/hash.ts';
import { BanyanError } from '../runtime/errors.ts';
import type { Random } from '../runtime/random.ts';
import { concat, equalBytes, hex, readU48, u48, u48Bytes } from '../store/bytes.ts';
import type { Reader, Transaction } from '../store/store.ts';
import { contentRecordOf, dropContentReference, readContent } from './content.ts';
import { type Digest, decodeDigest, moveDigest } from './digest.ts';
import type { FarAhead } from './far-ahead.ts';
import {
  type Batch,
  type BatchLimits,
  type Content,
  type ContentReference,
  entryBytes,
  type FeedRow,
  type Producer,
  type ResumeTuple,
  type WireEntry,
} from './feed.ts';
import { piecedBytesMax } from './pieces.ts';
import {
  headBytes,
  headKey,
  progressIn,
  progressKey,
  readHead,
  readProgress,
  readState,
  tombstoneAt,
  writeState,
} from './producer-state.ts';
import { RecentRows } from './recent-rows.ts';
import type { SharedContents } from './shared-contents.ts';
import {
  checkCollision,
  openTable,
  referTo,
  removeRow,
  rowAt,
  rowKey,
  TableRows,
  tableKey,
  writeRowAt,
} from './table.ts';
import { producerRowsTopic } from './topics.ts';

/** Number of incarnations that the producer stores. A consumer of an older incarnation has to reconcile; this is safe, but costs more than to resume. */
const incarnationsMax = 64;
/**
 * Limit for the rows that are counted for a backlog. 1,000 are enough to distinguish a slow child from a dead one. They take 1 ms, so one turn of the event
 * loop can count dozens of children.
 */
const backlogRowsMax = 1_000;
/** Limit for the contents that are read to estimate the bytes of a backlog. One content takes about 20 us. */
const backlogContentsMax = 64;

export interface ProducerOptions {
  readonly name: string;
  /** The boot nonce of this start of the process: 16 bytes, in hex. */
  readonly bootNonce: string;
  readonly random: Random;
  /** A cache for producers that have many contents in common. */
  readonly contents?: SharedContents;
  /** Finds origin revisions that no space can have reached yet. Every value may replace a row with such a revision. Absent: all revisions count as possible. */
  readonly isFarAhead?: FarAhead;
}

export class FeedProducer extends TableRows implements Producer {
  readonly epoch: string;
  readonly incarnation: string;
  readonly #contents: SharedContents | undefined;
  readonly #recent = new RecentRows();
  readonly #isFarAhead: FarAhead | undefined;

  /** Begins an incarnation. The incarnation must be durable before the node sends any frame of this feed. */
  static open(t: Transaction, options: ProducerOptions): FeedProducer {
    const { name, bootNonce, random } = options;
    const id = openTable(t, name);
    const stored = readState(t, id);
    const state = stored ?? {
      epoch: hex(random.bytes(16)),
      incarnations: [],
    };
    if (state.incarnations.at(-1)?.bootNonce !== bootNonce) {
      const incarnation = { bootNonce, startRevision: readHead(t, id) };
      writeState(t, id, { ...state, incarnations: [...state.incarnations, incarnation].slice(-incarnationsMax) });
    }
    return new FeedProducer(id, state.epoch, options);
  }

  private constructor(id: number, epoch: string, { name, bootNonce, contents, isFarAhead }: ProducerOptions) {
    super(name, id);
    this.epoch = epoch;
    this.incarnation = bootNonce;
    this.#contents = contents;
    this.#isFarAhead = isFarAhead;
  }

  /** The table was dropped after it was opened: the consumer has left for good. */
  isDropped(reader: Reader): boolean {
    return readState(reader, this.id) === undefined;
  }

  head(reader: Reader): number {
    return readHead(reader, this.id);
  }

  /** Digest of the live rows at the head. */
  digest(reader: Reader): Digest {
    return decodeDigest(reader.get(headKey(this.id))?.subarray(u48Bytes));
  }

  purgeRevision(reader: Reader): number {
    return readProgress(reader, this.id).purgeRevision;
  }

  acknowledged(reader: Reader): number {
    return readProgress(reader, this.id).acknowledged;
  }

  put(t: Transaction, content: Content, originRevision: number): boolean {
    const keyHash = hash128(content.key);
    const at = rowKey(this.id, keyHash);
    const before = rowAt(t, at, keyHash);
    const record = contentRecordOf(content);
    if (this.#keeps(before, record.hash, originRevision, () => content.key)) return false;
    checkCollision(t, before, content.key);
    checkSize(record.record, content.key);
    this.#replace(t, at, before, { keyHash, originRevision, content: referTo(t, record) });
    return true;
  }

  putReference(t: Transaction, keyHash: Uint8Array, reference: ContentReference, originRevision: number): boolean {
    const at = rowKey(this.id, keyHash);
    const before = rowAt(t, at, keyHash);
    if (this.#keeps(before, reference.hash, originRevision, () => readContent(t, reference).key)) return false;
    this.#replace(t, at, before, { keyHash, originRevision, content: referTo(t, reference) });
    return true;
  }

  remove(t: Transaction, keyHash: Uint8Array, originRevision: number): boolean {
    const at = rowKey(this.id, keyHash);
    const before = rowAt(t, at, keyHash);
    if (!before?.content || this.#isNewer(before, originRevision, () => readContent(t, before.content!).key))
      return false;
    this.#replace(t, at, before, { keyHash, originRevision });
    return true;
  }

  resumable(reader: Reader, tuple: ResumeTuple): boolean {
    const { incarnations } = readState(reader, this.id)!;
    // A consumer that has never attached has no old rows, so it gets all rows from the first revision.
    if (tuple.epoch === '') return true;
    if (tuple.epoch !== this.epoch) return false;
    const at = incarnations.findIndex(({ bootNonce }) => bootNonce === tuple.incarnation);
    if (at < 0) return false;
    const end = incarnations[at + 1]?.startRevision ?? this.head(reader);
    return tuple.seenHead <= end && tuple.cursor <= tuple.seenHead && tuple.cursor >= this.purgeRevision(reader);
  }

  /**
   * True: the consumer has received revisions of this feed that the producer does not have, so the producer's store was restored from an older copy. The
   * cursor decides this, not seenHead: a cursor covers only durable revisions, but a simple crash may lose revisions that a head announced.
   */
  wasPutBack(reader: Reader, tuple: ResumeTuple): boolean {
    // Without an incarnation, the consumer has rows of two histories (an unfinished reconciliation), and its cursor proves nothing.
    if (tuple.epoch !== this.epoch || tuple.incarnation === '') return false;
    const { incarnations } = readState(reader, this.id)!;
    const at = incarnations.findIndex(({ bootNonce }) => bootNonce === tuple.incarnation);
    return at < 0 || tuple.cursor > (incarnations[at + 1]?.startRevision ?? this.head(reader));
  }

  /** True: the consumer has, or may have, rows that do not belong to this producer's history. */
  isOtherHistory(reader: Reader, tuple: ResumeTuple): boolean {
    if (tuple.epoch === '') return false;
    return tuple.epoch !== this.epoch || tuple.incarnation === '' || this.wasPutBack(reader, tuple);
  }

  batch(reader: Reader, after: number, durableHead: number, limits: BatchLimits): Batch | undefined {
    if (after >= durableHead) return undefined;
    const entries: WireEntry[] = [];
    let bytes = 0;
    // If no limit ends the batch before, the batch reaches the durable head, even if the last revisions were purged or superseded. Otherwise the consumer
    // would not see that it has caught up.
    let to = durableHead;
    const headRecord = reader.get(headKey(this.id));
    const head = headRecord ? readU48(headRecord) : 0;
    const recent = this.#recent.rowsAfter(headRecord, after);
    for (const row of recent ?? this.#rowsAfter(reader, after, durableHead, limits.maxEntries + 1)) {
      // The recent rows may include rows that were sent already and rows that are not durable yet.
      if (row.revision <= after || row.revision > durableHead) continue;
      const content = row.content && (this.#contents?.read(reader, row.content) ?? readContent(reader, row.content));
      const size = entryBytes(content ? { content } : {});
      const last = entries.at(-1);
      if (last && (entries.length >= limits.maxEntries || bytes + size > limits.maxBytes)) {
        to = last.revision;
        break;
      }
      bytes += size;
      const { keyHash, revision, originRevision } = row;
      entries.push(content ? { keyHash, revision, originRevision, content } : { keyHash, revision, originRevision });
    }
    if (to >= head) this.#recent.forget();
    // The batch announces the written head, not the durable head. Some revisions up to `durableHead` are missing because newer ones, up to the written head,
    // superseded them. A crash may undo the newer revisions. Then the consumer must not resume (rule 3): it would never get the superseded revisions.
    return { entries, from: after, to, head, epoch: this.epoch, incarnation: this.incarnation };
  }

  acknowledge(t: Transaction, cursor: number): void {
    const record = t.get(headKey(this.id));
    const [head, lastTombstone] = record ? [readU48(record), readU48(record, tombstoneAt)] : [0, 0];
    const at = progressKey(this.id);
    const { acknowledged, purgeRevision } = progressIn(t.get(at));
    if (cursor > head) {
      throw new BanyanError('Protocol', `${this.name}: acknowledged revision ${cursor} is beyond the head ${head}`);
    }
    if (cursor <= acknowledged) return;
    const tombstonesTo = Math.min(cursor, lastTombstone);
    const purged = tombstonesTo > acknowledged ? this.#purge(t, acknowledged, tombstonesTo) : 0;
    const progress = Buffer.allocUnsafe(2 * u48Bytes);
    progress.writeUIntBE(cursor, 0, u48Bytes);
    progress.writeUIntBE(Math.max(purgeRevision, purged), u48Bytes, u48Bytes);
    t.put(at, progress);
  }

  /** Purges the tombstones with revisions after `after`, up to `to`. Returns the revision of the last purged tombstone; 0: none. */
  #purge(t: Transaction, after: number, to: number): number {
    let last = 0;
    for (const [key, value] of [...this.#revisions(t, after, to)]) {
      if (!isTombstone(value)) continue;
      last = readU48(key, key.length - u48Bytes);
      removeRow(t, this.id, keyHashOf(value));
      t.remove(key);
    }
    if (last > 0) this.#recent.forget();
    return last;
  }

  backlog(reader: Reader): { entries: number; bytes: number; oldestRevision?: number } {
    const keyHashes: Uint8Array[] = [];
    let oldestRevision: number | undefined;
    const revisions = this.#revisions(reader, this.acknowledged(reader), this.head(reader), backlogRowsMax);
    for (const [key, value] of revisions) {
      oldestRevision ??= readU48(key, key.length - u48Bytes);
      keyHashes.push(keyHashOf(value));
    }
    const entries = keyHashes.length;
    const every = Math.ceil(entries / backlogContentsMax);
    const measured = keyHashes.filter((_, i) => i % every === 0);
    const bytes = measured.reduce((sum, keyHash) => {
      const content = this.contentOf(reader, this.get(reader, keyHash));
      return sum + entryBytes(content ? { content } : {});
    }, 0);
    const estimatedBytes = entries > 0 ? Math.round((bytes * entries) / measured.length) : 0;
    return { entries, bytes: estimatedBytes, ...(oldestRevision === undefined ? {} : { oldestRevision }) };
  }

  newest(row: FeedRow | undefined): number | undefined {
    return row && !this.#isFarAhead?.(row.originRevision) ? row.originRevision : undefined;
  }

  /** The rows that were written after this revision, oldest first. Includes tombstones that are not acknowledged yet. */
  *since(reader: Reader, revision: number): Generator<FeedRow> {
    yield* this.#rowsAfter(reader, revision, this.head(reader));
  }

  /** The present entry of one key, for a reconciliation. */
  entry(reader: Reader, keyHash: Uint8Array): WireEntry | undefined {
    const row = this.get(reader, keyHash);
    if (!row?.content) return undefined;
    const { revision, originRevision } = row;
    return {
      keyHash: keyHash.slice(0, hashBytes),
      revision,
      originRevision,
      content: readContent(reader, row.content),
    };
  }

  *#rowsAfter(reader: Reader, after: number, to: number, limit?: number): Generator<FeedRow> {
    for (const [, value] of this.#revisions(reader, after, to, limit)) {
      const row = this.get(reader, keyHashOf(value));
      if (!row) throw new Error(`the feed ${this.name} has a revision without a row`);
      yield row;
    }
  }

  /** Reads the index after `after`, up to `to`. Often only one object has changed: a single revision is read without a scan, because that is faster. */
  *#revisions(reader: Reader, after: number, to: number, limit?: number): Generator<[Uint8Array, Uint8Array]> {
    if (to === after + 1) {
      const key = revisionKey(this.id, to);
      const value = reader.get(key);
      if (value) yield [key, value];
    } else if (to > after) {
      const range = { from: revisionKey(this.id, after + 1), to: revisionKey(this.id, to + 1) };
      yield* reader.scan(limit === undefined ? range : { ...range, limit });
    }
  }

  /** True: the row stays as it is, because it has exactly this content and origin revision, or because it is newer. */
  #keeps(row: FeedRow | undefined, hash: Uint8Array, originRevision: number, key: () => string): boolean {
    if (!row) return false;
    if (this.#isNewer(row, originRevision, key)) return true;
    return row.content !== undefined && equalBytes(row.content.hash, hash) && row.originRevision === originRevision;
  }

  #isNewer(row: FeedRow, originRevision: number, key: () => string): boolean {
    return row.originRevision > originRevision && !this.#isFarAhead?.(row.originRevision, key);
  }

  #replace(t: Transaction, at: Uint8Array, before: FeedRow | undefined, next: Omit<FeedRow, 'revision'>): void {
    const headAt = headKey(this.id);
    const head = t.get(headAt);
    const record = head ? Buffer.from(head) : Buffer.alloc(headBytes);
    const revision = readU48(record) + 1;
    record.writeUIntBE(revision, 0, u48Bytes);
    moveDigest(record, u48Bytes, before?.content?.hash, next.content?.hash);
    if (!next.content) record.writeUIntBE(revision, tombstoneAt, u48Bytes);
    t.put(headAt, record);
    if (before) t.remove(revisionKey(this.id, before.revision));
    if (before?.content) dropContentReference(t, before.content);
    const row = { ...next, revision };
    writeRowAt(t, at, row);
    this.#recent.put(head, record, before, row);
    t.put(revisionKey(this.id, revision), next.content ? next.keyHash : concat(next.keyHash, tombstoneMark));
    t.announce(producerRowsTopic, this.name);
  }
}

/** A byte after the key hash in the index by revision. With this mark, an acknowledgement finds the tombstones to purge without reading every row. */
const tombstoneMark = Buffer.of(0);

function isTombstone(indexed: Uint8Array): boolean {
  return indexed.length > hashBytes;
}

function keyHashOf(indexed: Uint8Array): Uint8Array {
  return indexed.subarray(0, hashBytes);
}

function revisionKey(id: number, revision: number): Uint8Array {
  return tableKey('tableRevision', id, u48(revision));
}

/**
 * Refuses an entry that is too large. If the node sent it, each session would end, and all entries behind it would wait for ever. Rooms that make entries of
 * growing size have to leave out the large parts themselves.
 */
function checkSize({ length }: Uint8Array, key: string): void {
  if (length <= piecedBytesMax) return;
  throw new BanyanError(
    'TooLarge',
    `the entry "${key}" has ${length} bytes, and no consumer takes more than ${piecedBytesMax}`,
  );
}
