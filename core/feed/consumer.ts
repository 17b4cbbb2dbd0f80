/** The consuming end of a feed: the rows and the place in the feed, committed together. */

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
 * Keep entries. A producer that cannot make a row again, and has no earlier form of the row, sends such an entry: the consumer keeps its own form. Without
 * the entry, a reconciliation would remove the row that the producer does not have.
 */
export interface KeepRule {
  /** The key of the entry that would keep the row of this key. */
  keepEntryKeyOf(key: string): string | undefined;
  /** The key of the row that the entry of this key keeps. */
  keptBy(key: string): string | undefined;
}

/** Without a guard, every row that a ready producer lacks is deleted. Without a judge, every entry counts as valid. */
export interface ConsumerOptions {
  readonly name: string;
  readonly keepRule?: KeepRule;
  readonly guard?: DeletionGuard;
  readonly judge?: Judge;
  /**
   * The producer's entries are its own reports, and belong to no space: only the order of the feed decides which entry is newer, and every origin revision is
   * read as 0. Otherwise an entry that claims to be newer than all later entries would stay for ever; so would the entry of an agent that numbered its
   * reports by the time.
   */
  readonly ofNoSpace?: true;
  /** A row whose origin revision no space can have given yields to every entry. Absent: all revisions are believed. */
  readonly isFarAhead?: FarAhead;
}

/** Revision of a row that only a keep entry keeps: the producer does not have the row. Revisions of producers begin at 1. */
const keptRevision = 0;

export class FeedConsumer extends TableRows implements Consumer {
  readonly #keepRule: KeepRule | undefined;
  readonly #guard: DeletionGuard | undefined;
  readonly #judge: Judge | undefined;
  readonly #ofNoSpace: boolean;
  readonly #isFarAhead: FarAhead | undefined;
  /** The rows as rooms read them: quarantined rows in their last valid form. */
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

  /** Quarantined entries, in order of key hash. */
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
      const message = `${this.name}: a batch ahead does not fit: it begins at revision ${batch.from} of epoch ${epoch}; the cursor is ${tuple.cursor} of epoch ${tuple.epoch}`;
      throw new BanyanError('Protocol', message, {}, { retry: 'resync' });
    }
    const changes = this.applyEntries(t, contentWithPieces(t, this.id, batch.entries), state);
    state.setResume({ epoch, incarnation, cursor: tuple.cursor, seenHead: Math.max(tuple.seenHead, head) });
    state.write();
    return changes;
  }

  /**
   * Applies entries without their place in the feed: the body of a batch, or the entries of a reconciliation. A caller that passes the state also writes it.
   */
  applyEntries(t: Transaction, entries: readonly WireEntry[], state?: ConsumerState): AppliedChange[] {
    const ownState = state ?? new ConsumerState(t, this.id);
    const changes: AppliedChange[] = [];
    for (const entry of entries) {
      const change = this.#applyEntry(t, entry, ownState);
      if (!change) continue;
      changes.push(change);
      const keptRemoval = change.after ? undefined : this.#removeKept(t, change.key, ownState);
      if (keptRemoval) changes.push(keptRemoval);
    }
    if (!state) ownState.write();
    return changes;
  }

  /** Digest of the live rows without the held rows: the rows that both ends should agree on. */
  digest(reader: Reader): Digest {
    return readDigest(reader, this.id);
  }

  #remove(t: Transaction, keyHash: Uint8Array, state: ConsumerState): AppliedChange | undefined {
    const row = this.get(t, keyHash);
    return row && this.#applyEntry(t, { keyHash, revision: row.revision, originRevision: row.originRevision }, state);
  }

  /**
   * Keeps the row of a key that a ready producer has proven not to have, if a keep entry here covers the row. `isGone`: whether the producer lacks the entry
   * with this key hash too.
   */
  keepKey(t: Transaction, keyHash: Uint8Array, isGone: (keepEntryHash: Uint8Array) => boolean): boolean {
    const row = this.get(t, keyHash);
    const keepEntryKey = row?.content && this.#keepRule?.keepEntryKeyOf(this.content(t, row.content).key);
    if (!row || keepEntryKey === undefined) return false;
    const keepEntryHash = hash128(keepEntryKey);
    if (isGone(keepEntryHash) || !this.get(t, keepEntryHash)?.content) return false;
    writeRow(t, this.id, { ...row, revision: keptRevision });
    return true;
  }

  /**
   * Whether an entry with this origin revision replaces the row. A newer row does not yield to an older entry, unless the producer has lost the row, or the
   * row's revision cannot be true.
   */
  takes(reader: Reader, row: FeedRow, originRevision: number): boolean {
    if (this.#ofNoSpace || row.originRevision <= originRevision || row.revision === keptRevision) return true;
    return this.#isFarAhead?.(row.originRevision, () => this.contentOf(reader, row)?.key) === true;
  }

  /** Whether a reconciliation need not fetch the listed entry: the row has the same content, or is newer. */
  isUpToDate(reader: Reader, row: FeedRow, listed: Listed): boolean {
    if (!row.content) return false;
    return listed.isLike(row) || !this.takes(reader, row, listed.originRevision);
  }

  /** Ends the holding of a row that the producer lists, if nothing has to be fetched for the row. True: a holding has ended. */
  unholdListed(t: Transaction, listed: Listed): boolean {
    const row = this.get(t, listed.keyHash);
    if (!row?.held || !this.isUpToDate(t, row, listed)) return false;
    const state = new ConsumerState(t, this.id);
    this.#unhold(t, row, state);
    state.write();
    return true;
  }

  /** A keep entry was removed: removes the row that it kept, if the producer has put nothing in that row's place. */
  #removeKept(t: Transaction, keepEntryKey: string, state: ConsumerState): AppliedChange | undefined {
    const key = this.#keepRule?.keptBy(keepEntryKey);
    const row = key === undefined ? undefined : this.get(t, hash128(key));
    return row?.revision === keptRevision ? this.#remove(t, row.keyHash, state) : undefined;
  }

  /**
   * Runs at the end of a reconciliation: removes the rows that the producer has proven to lack, or holds them where the producer may have lost them; see
   * deletions.ts. `isRemoved`: the producer has removed them on purpose, so none are held.
   */
  removeAbsent(t: Transaction, keyHashes: readonly Uint8Array[], isRemoved = false): AppliedChange[] {
    const guard = isRemoved ? undefined : this.#guard;
    const toHold = guard ? this.#toHold(t, guard, keyHashes) : new Set<Uint8Array>();
    const state = new ConsumerState(t, this.id);
    const removable = keyHashes.filter((keyHash) => !toHold.has(keyHash));
    const changes = removable
      .map((keyHash) => this.#remove(t, keyHash, state))
      .filter((change) => change !== undefined);
    if (guard && toHold.size > 0) this.#hold(t, [...toHold], guard.wallMs(), state);
    state.write();
    return changes;
  }

  /** The rows that the producer lacks and that this consumer keeps all the same. */
  held(reader: Reader): HeldRows | undefined {
    return readHeld(reader, this.id);
  }

  /** Deletes the held rows, if they are still the rows for which the token was given. */
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
    const alreadyHeld = this.held(t)?.entries ?? 0;
    const total = this.digest(t).count + alreadyHeld;
    const verdict = judge({ gone: keyHashes.length, lost: lost.length, held: alreadyHeld, total }, guard.limits);
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
   * Runs at the beginning of a session: the producer sends its feed from the first revision, as to a consumer that never attached. For cases in which the
   * received rows are of no use: a producer of another history would send nothing before it is ready, and it may wait for what this node sends only after
   * such a report. The rows stay. Their digest shows later which of them the producer does not have.
   */
  restartFeed(t: Transaction): void {
    if (this.resume(t).epoch !== '') this.setResume(t, neverAttached);
  }

  /** Runs at the beginning of a session: if all rows are quarantined, the producer sends its feed again. */
  restartIfAllQuarantined(t: Transaction): void {
    if (this.quarantinedCount(t) === 0) return;
    for (const _valid of this.sound.rows(t)) return;
    this.restartFeed(t);
  }

  /** The producer has the key again, or has itself removed the key. */
  #unhold(t: Transaction, { held: _held, ...row }: FeedRow, state: ConsumerState): void {
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
      if (content && row.held) this.#unhold(t, row, state);
      return undefined;
    }
    const before = this.contentOf(t, row);
    if (row?.held) this.#unhold(t, row, state);
    if (!content) {
      if (!row) return undefined;
      removeRow(t, this.id, keyHash);
      state.moved(row.content?.hash, undefined);
      const good = this.#goodOf(t, row);
      const formerContent = this.#endQuarantine(t, row) ? this.#goodContent(t, good) : before;
      if (good) dropContentReference(t, good.content);
      if (row.content && row.poisoned) dropContentReference(t, row.content);
      return formerContent && { keyHash, key: formerContent.key, originRevision, before: formerContent };
    }
    // The key of a row was checked when the row came first.
    if (before?.key !== content.key && !equalBytes(keyHash, hash128(content.key))) {
      throw new BanyanError('Protocol', `${this.name}: the entry "${content.key}" came under another key's hash`);
    }
    if (before) checkSameKey(before, content.key);
    const record = contentRecordOf(content);
    const isSame = row?.content !== undefined && equalBytes(row.content.hash, record.hash);
    const reference = isSame && row?.content ? row.content : storeContent(t, record);
    const flaw = isSame ? undefined : this.#judge?.(content);
    const poisoned = flaw !== undefined || (isSame && row?.poisoned === true);
    const next = { keyHash, revision, originRevision, content: reference };
    writeRowAt(t, at, poisoned ? { ...next, poisoned } : next);
    if (isSame) return undefined;
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

  /** The form of a row that rooms have received last, with its reference: the row's own form unless the row is quarantined. */
  #goodOf(t: Transaction, row: FeedRow | undefined): GoodForm | undefined {
    if (row?.poisoned) return goodForm(t, this.id, row.keyHash);
    return row?.content && { revision: row.revision, originRevision: row.originRevision, content: row.content };
  }

  #goodContent(t: Transaction, good: GoodForm | undefined): Content | undefined {
    return good && this.content(t, good.content);
  }

  /** Rooms keep the last valid form of the key, so there is no change to report. */
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
