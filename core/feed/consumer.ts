/** The consuming end of a feed: rows, and how far it has come, committed together. */

import { hash128 } from '../object/hash.ts';
import { BanyanError } from '../runtime/errors.ts';
import { equalBytes } from '../store/bytes.ts';
import type { Reader, Transaction } from '../store/store.ts';
import { ConsumerState, neverAttached, readDigest, readResume } from './consumer-state.ts';
import { contentRecordOf, dropContentReference, storeContent } from './content.ts';
import {
  type DeletionGuard,
  forgetHeldRow,
  type HeldRows,
  heldRows,
  judge,
  noteHeldRows,
  readHeld,
} from './deletions.ts';
import type { Digest } from './digest.ts';
import type { FarAhead } from './far-ahead.ts';
import type {
  AppliedChange,
  Batch,
  Consumer,
  Content,
  FeedRow,
  Listed,
  ResumeTuple,
  Table,
  WireEntry,
} from './feed.ts';
import { contentWithPieces } from './pieces.ts';
import {
  countQuarantined,
  type EntryFlaw,
  type GoodForm,
  goodForm,
  type Judge,
  listQuarantined,
  putQuarantined,
  type Quarantined,
  removeQuarantined,
  SoundRows,
} from './quarantine.ts';
import { checkSameKey, openTable, removeRow, rowAt, rowKey, TableRows, writeRow, writeRowAt } from './table.ts';
import { heldRowsTopic, quarantineTopic } from './topics.ts';

/**
 * Entries by which a producer that could not make a row anew, and has nothing of the former one, says that the consumer is to keep its own: without it,
 * a reconciliation would take away what the producer does not have.
 */
export interface KeepRule {
  /** The key of the entry that would keep the row of this key. */
  keepEntryKeyOf(key: string): string | undefined;
  /** The key of the row that the entry of this key keeps. */
  keptBy(key: string): string | undefined;
}

/** Without a guard, what a ready producer lacks is deleted whatever it is; without a judge, every entry is taken for what its key says. */
export interface ConsumerOptions {
  readonly name: string;
  readonly keepRule?: KeepRule;
  readonly guard?: DeletionGuard;
  readonly judge?: Judge;
  /**
   * All that the producer has is its own word and of no space: the order of its feed alone says what is newer, and an origin revision is read as 0, whatever it
   * says. A word that claims to be newer than those to come would else stand for good, and one of an agent that numbered its reports by the time as well.
   */
  readonly ofNoSpace?: true;
  /** A row whose origin revision no space can have given gives way to whatever comes; absent: all revisions are believed. */
  readonly isFarAhead?: FarAhead;
}

/** Revision of a row that only its keeper keeps: the producer has none of it. Those of producers begin at 1. */
const keptRevision = 0;

export class FeedConsumer extends TableRows implements Consumer {
  readonly #keepRule: KeepRule | undefined;
  readonly #guard: DeletionGuard | undefined;
  readonly #judge: Judge | undefined;
  readonly #ofNoSpace: boolean;
  readonly #isFarAhead: FarAhead | undefined;
  /** What the rooms read. */
  readonly sound: Table;

  static open(t: Transaction, options: ConsumerOptions): FeedConsumer {
    return new FeedConsumer(openTable(t, options.name), options);
  }

  private constructor(id: number, { name, keepRule, guard, judge, ofNoSpace, isFarAhead }: ConsumerOptions) {
    super(name, id);
    this.#keepRule = keepRule;
    this.#guard = guard;
    this.#judge = judge;
    this.#ofNoSpace = ofNoSpace ?? false;
    this.#isFarAhead = isFarAhead;
    this.sound = new SoundRows(id, this);
  }

  /** Entries that are not what their keys say, in order of key hash. */
  quarantined(reader: Reader, limit?: number): Quarantined[] {
    return listQuarantined(reader, this.id, limit);
  }

  quarantinedCount(reader: Reader): number {
    return countQuarantined(reader, this.id);
  }

  resume(reader: Reader): ResumeTuple {
    return readResume(reader, this.id);
  }

  apply(t: Transaction, batch: Batch): AppliedChange[] {
    const state = new ConsumerState(t, this.id);
    const tuple = state.resume;
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
    const { epoch, incarnation, to: cursor, head: seenHead } = batch;
    const changes = this.applyEntries(t, contentWithPieces(t, this.id, batch.entries), state);
    state.setResume({ epoch, incarnation, cursor, seenHead });
    state.write();
    return changes;
  }

  applyAhead(t: Transaction, batch: Batch): AppliedChange[] {
    const { epoch, incarnation, head } = batch;
    const state = new ConsumerState(t, this.id);
    const tuple = state.resume;
    if ((tuple.epoch !== '' && tuple.epoch !== epoch) || batch.from <= tuple.cursor) {
      const message = `${this.name}: a batch ahead, from revision ${batch.from} of epoch ${epoch}, at cursor ${tuple.cursor} of ${tuple.epoch}`;
      throw new BanyanError('Protocol', message, {}, { retry: 'resync' });
    }
    const changes = this.applyEntries(t, contentWithPieces(t, this.id, batch.entries), state);
    state.setResume({ epoch, incarnation, cursor: tuple.cursor, seenHead: Math.max(tuple.seenHead, head) });
    state.write();
    return changes;
  }

  /** Entries without their place in the feed: the body of a batch, or what a reconciliation fetched. Whoever passes the state writes it. */
  applyEntries(t: Transaction, entries: readonly WireEntry[], state?: ConsumerState): AppliedChange[] {
    const own = state ?? new ConsumerState(t, this.id);
    const changes: AppliedChange[] = [];
    for (const entry of entries) {
      const change = this.#applyEntry(t, entry, own);
      if (!change) continue;
      changes.push(change);
      const kept = change.after ? undefined : this.#released(t, change.key, own);
      if (kept) changes.push(kept);
    }
    if (!state) own.write();
    return changes;
  }

  /** Of the live rows, without those that are held: that is what both ends should agree on. */
  digest(reader: Reader): Digest {
    return readDigest(reader, this.id);
  }

  #remove(t: Transaction, keyHash: Uint8Array, state: ConsumerState): AppliedChange | undefined {
    const row = this.get(t, keyHash);
    return row && this.#applyEntry(t, { keyHash, revision: row.revision, originRevision: row.originRevision }, state);
  }

  /** Keeps a key that a ready producer has proven not to have, if an entry here says so; `keeperHash` is of that entry's key. */
  keepKey(t: Transaction, keyHash: Uint8Array, isGone: (keeperHash: Uint8Array) => boolean): boolean {
    const row = this.get(t, keyHash);
    const keeper = row?.content && this.#keepRule?.keepEntryKeyOf(this.content(t, row.content).key);
    if (!row || keeper === undefined) return false;
    const keeperHash = hash128(keeper);
    if (isGone(keeperHash) || !this.get(t, keeperHash)?.content) return false;
    writeRow(t, this.id, { ...row, revision: keptRevision });
    return true;
  }

  /** A newer value does not give way to an older one, unless its producer has lost it, or it can't be as new as it says. */
  takes(reader: Reader, row: FeedRow, originRevision: number): boolean {
    if (this.#ofNoSpace || row.originRevision <= originRevision || row.revision === keptRevision) return true;
    return this.#isFarAhead?.(row.originRevision, () => this.contentOf(reader, row)?.key) === true;
  }

  /** A reconciliation need not fetch what the producer lists: it is what the row has, or older. */
  needsNot(reader: Reader, row: FeedRow, listed: Listed): boolean {
    if (!row.content) return false;
    return listed.isLike(row) || !this.takes(reader, row, listed.originRevision);
  }

  /** Holds no longer what the producer lists, if nothing of it has to be fetched: true if that was so. */
  letGoOf(t: Transaction, listed: Listed): boolean {
    const row = this.get(t, listed.keyHash);
    if (!row?.held || !this.needsNot(t, row, listed)) return false;
    const state = new ConsumerState(t, this.id);
    this.#letGo(t, row, state);
    state.write();
    return true;
  }

  /** The keeper has gone, and the producer has not put anything in the place of what it kept. */
  #released(t: Transaction, keeper: string, state: ConsumerState): AppliedChange | undefined {
    const key = this.#keepRule?.keptBy(keeper);
    const row = key === undefined ? undefined : this.get(t, hash128(key));
    return row?.revision === keptRevision ? this.#remove(t, row.keyHash, state) : undefined;
  }

  /** At the end of a reconciliation: removes the rows that the producer has proven to lack, or holds them where it may have lost them; see deletions.ts. */
  removeAbsent(t: Transaction, keyHashes: readonly Uint8Array[], isRemoved = false): AppliedChange[] {
    const guard = isRemoved ? undefined : this.#guard;
    const held = guard ? this.#toHold(t, guard, keyHashes) : new Set<Uint8Array>();
    const state = new ConsumerState(t, this.id);
    const goes = keyHashes.filter((keyHash) => !held.has(keyHash));
    const changes = goes.map((keyHash) => this.#remove(t, keyHash, state)).filter((change) => change !== undefined);
    if (guard && held.size > 0) this.#hold(t, [...held], guard.wallMs(), state);
    state.write();
    return changes;
  }

  /** What the producer lacks and this consumer keeps all the same. */
  held(reader: Reader): HeldRows | undefined {
    return readHeld(reader, this.id);
  }

  /** Deletes what is held, if that is still what the token was given for. */
  release(t: Transaction, token: string): AppliedChange[] {
    if (this.held(t)?.token !== token) return [];
    const state = new ConsumerState(t, this.id);
    const changes = heldRows(t, this.id).map((keyHash) => this.#remove(t, keyHash, state));
    state.write();
    return changes.filter((change) => change !== undefined);
  }

  #toHold(t: Transaction, guard: DeletionGuard, absent: readonly Uint8Array[]): Set<Uint8Array> {
    const keyHashes = absent.filter((keyHash) => {
      const content = this.contentOf(t, this.get(t, keyHash));
      return content === undefined || !guard.mayGo(content.key);
    });
    const isLost = (keyHash: Uint8Array) => {
      const row = this.get(t, keyHash);
      const content = this.contentOf(t, row);
      return row !== undefined && content !== undefined && guard.isLost(t, this.sound, content.key, row.originRevision);
    };
    const lost = keyHashes.filter(isLost);
    const held = this.held(t)?.entries ?? 0;
    const total = this.digest(t).count + held;
    const verdict = judge({ gone: keyHashes.length, lost: lost.length, held, total }, guard.limits);
    return new Set(verdict === 'all' ? keyHashes : verdict === 'lost' ? lost : []);
  }

  #hold(t: Transaction, keyHashes: readonly Uint8Array[], wallMs: number, state: ConsumerState): void {
    const rows: { keyHash: Uint8Array; key: string }[] = [];
    for (const keyHash of keyHashes) {
      const row = this.get(t, keyHash);
      const content = this.contentOf(t, row);
      if (!row || !content || row.held) continue;
      writeRow(t, this.id, { ...row, held: true });
      state.moved(row.content?.hash, undefined);
      rows.push({ keyHash, key: content.key });
    }
    noteHeldRows(t, this.id, rows, wallMs);
    t.announce(heldRowsTopic, this.name);
  }

  setResume(t: Transaction, tuple: ResumeTuple): void {
    const state = new ConsumerState(t, this.id);
    state.setResume(tuple);
    state.write();
  }

  /**
   * At the beginning of a session: the producer begins with its first revision again, as with a consumer that never attached. For where what was said is of no
   * use: a producer of another history would say nothing before it is ready, and it may wait for what this node gives it by its word. Rows stay; what the
   * producer does not have is found by its digest.
   */
  beginAgain(t: Transaction): void {
    if (this.resume(t).epoch !== '') this.setResume(t, neverAttached);
  }

  /** At the beginning of a session: where nothing that was said is any good, it is said again. */
  forgetPoison(t: Transaction): void {
    if (this.quarantinedCount(t) === 0) return;
    for (const _good of this.sound.rows(t)) return;
    this.beginAgain(t);
  }

  /** The producer has the key again, or says itself that it is gone. */
  #letGo(t: Transaction, { held: _held, ...row }: FeedRow, state: ConsumerState): void {
    forgetHeldRow(t, this.id, row.keyHash, this.contentOf(t, row)?.key ?? '');
    writeRow(t, this.id, row);
    state.moved(undefined, row.content?.hash);
    t.announce(heldRowsTopic, this.name);
  }

  #applyEntry(t: Transaction, entry: WireEntry, state: ConsumerState): AppliedChange | undefined {
    const { content, revision } = entry;
    const originRevision = this.#ofNoSpace ? 0 : entry.originRevision;
    if (entry.pieces) throw new Error('an entry whose content was not put together');
    const { keyHash } = entry;
    const at = rowKey(this.id, keyHash);
    const row = rowAt(t, at, keyHash);
    if (row && !this.takes(t, row, originRevision)) {
      if (content && row.held) this.#letGo(t, row, state);
      return undefined;
    }
    const before = this.contentOf(t, row);
    if (row?.held) this.#letGo(t, row, state);
    if (!content) {
      if (!row) return undefined;
      removeRow(t, this.id, keyHash);
      state.moved(row.content?.hash, undefined);
      const good = this.#goodOf(t, row);
      const gone = this.#endQuarantine(t, row) ? this.#goodContent(t, good) : before;
      if (good) dropContentReference(t, good.content);
      if (row.content && row.poisoned) dropContentReference(t, row.content);
      return gone && { keyHash, key: gone.key, originRevision, before: gone };
    }
    // A key that is here already was looked at when it came first.
    if (before?.key !== content.key && !equalBytes(keyHash, hash128(content.key))) {
      throw new BanyanError('Protocol', `${this.name}: the entry "${content.key}" came under another key's hash`);
    }
    if (before) checkSameKey(before, content.key);
    const record = contentRecordOf(content);
    const same = row?.content !== undefined && equalBytes(row.content.hash, record.hash);
    const reference = same && row?.content ? row.content : storeContent(t, record);
    const flaw = same ? undefined : this.#judge?.(content);
    const poisoned = flaw !== undefined || (same && row?.poisoned === true);
    const next = { keyHash, revision, originRevision, content: reference };
    writeRowAt(t, at, poisoned ? { ...next, poisoned } : next);
    if (same) return undefined;
    state.moved(row?.content?.hash, record.hash);
    const good = this.#goodOf(t, row);
    if (row?.content && row.poisoned) dropContentReference(t, row.content);
    if (flaw) {
      this.#quarantine(t, { keyHash, key: content.key, originRevision }, flaw, good);
      return undefined;
    }
    const former = this.#endQuarantine(t, row) ? this.#goodContent(t, good) : before;
    if (good) dropContentReference(t, good.content);
    return { keyHash, key: content.key, originRevision, after: content, ...(former ? { before: former } : {}) };
  }

  /** The form of a row that was told last, with its reference: the row's own unless that is quarantined. */
  #goodOf(t: Transaction, row: FeedRow | undefined): GoodForm | undefined {
    if (row?.poisoned) return goodForm(t, this.id, row.keyHash);
    return row?.content && { revision: row.revision, originRevision: row.originRevision, content: row.content };
  }

  #goodContent(t: Transaction, good: GoodForm | undefined): Content | undefined {
    return good && this.content(t, good.content);
  }

  /** What was told of the key stays as it is: there is no change to tell. */
  #quarantine(
    t: Transaction,
    { keyHash, ...entry }: { readonly keyHash: Uint8Array; readonly key: string; readonly originRevision: number },
    flaw: EntryFlaw,
    good: GoodForm | undefined,
  ): void {
    putQuarantined(t, this.id, keyHash, { ...entry, ...flaw }, good);
    t.announce(quarantineTopic, this.name);
  }

  #endQuarantine(t: Transaction, row: FeedRow | undefined): boolean {
    if (!row?.poisoned) return false;
    removeQuarantined(t, this.id, row.keyHash);
    t.announce(quarantineTopic, this.name);
    return true;
  }
}
