/** The consuming end of a feed. Its rows and its place in the feed are committed together. */

import { hash128 } from '../object/hash.ts';
import { BanyanError } from '../runtime/errors.ts';
import { equalBytes } from '../store/bytes.ts';
import type { Reader, Transaction } from '../store/store.ts';
import { ConsumerQuota } from './consumer-quota.ts';
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
  quarantinedRows,
  removeQuarantined,
  SoundRows,
} from './quarantine.ts';
import type { RowQuota, Shortage } from './row-quota.ts';
import { checkSameKey, openTable, removeRow, rowAt, rowKey, TableRows, writeRow, writeRowAt } from './table.ts';
import { heldRowsTopic, quarantineTopic } from './topics.ts';

/**
 * The rule for keep entries. If a producer cannot make a row and has no earlier form of the row, it sends a keep entry for the row, and the consumer keeps
 * its own form. Without the keep entry, a reconciliation would remove the row, because the producer lacks it.
 */
export interface KeepRule {
  /** Returns the key of the keep entry for the row with this key. Undefined: rows of this kind have no keep entries. */
  keepEntryKeyOf(key: string): string | undefined;
  /** Returns the key of the row that the keep entry with this key keeps. Undefined: the key is not one of a keep entry. */
  keptBy(key: string): string | undefined;
}

/** Without a guard, every row that a ready producer lacks is deleted. Without a judge, every entry counts as valid. */
export interface ConsumerOptions {
  readonly name: string;
  readonly keepRule?: KeepRule;
  readonly guard?: DeletionGuard;
  readonly judge?: Judge;
  /**
   * True: the entries are the producer's own reports and belong to no space. Only the order of the feed decides which entry is newer, and every origin
   * revision is read as 0. Without this, an entry with a very high origin revision would never be replaced: for example a forged entry, or the entry of an
   * agent that used the time as the number of its reports.
   */
  readonly ofNoSpace?: true;
  /** Returns the quota of the producer's rows. Absent: there is none. */
  readonly quota?: () => RowQuota;
  /** Finds origin revisions that no space can have reached yet. Every entry may replace a row with such a revision. Absent: all revisions count as possible. */
  readonly isFarAhead?: FarAhead;
}

/** Revision of a row that the producer lacks and that stays only because of a keep entry. Revisions of producers begin at 1. */
const keptRevision = 0;

export class FeedConsumer extends TableRows implements Consumer {
  readonly #keepRule: KeepRule | undefined;
  readonly #guard: DeletionGuard | undefined;
  readonly #judge: Judge | undefined;
  readonly #ofNoSpace: boolean;
  readonly #isFarAhead: FarAhead | undefined;
  readonly #quota: ConsumerQuota | undefined;
  /** The table that rooms read. Each quarantined row is there in its last valid form. */
  readonly sound: Table;

  static open(t: Transaction, options: ConsumerOptions): FeedConsumer {
    const consumer = new FeedConsumer(openTable(t, options.name), options);
    consumer.#quota?.begin(t, consumer);
    return consumer;
  }

  private constructor(id: number, { name, keepRule, guard, judge, ofNoSpace, isFarAhead, quota }: ConsumerOptions) {
    super(name, id);
    this.#keepRule = keepRule;
    this.#guard = guard;
    this.#judge = judge;
    this.#ofNoSpace = ofNoSpace ?? false;
    this.#isFarAhead = isFarAhead;
    this.#quota = quota && new ConsumerQuota(id, name, quota);
    this.sound = new SoundRows(id, this);
  }

  /** Quarantined entries, in order of key hash. */
  quarantined(reader: Reader, limit?: number): Quarantined[] {
    return listQuarantined(reader, this.id, limit);
  }

  quarantinedCount(reader: Reader): number {
    return this.#quota?.quarantined(reader) ?? countQuarantined(reader, this.id);
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
   * Applies entries, and does not change the place in the feed. The entries come from a batch or a reconciliation. A caller that passes `state` also has to
   * write it.
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

  /** Digest of the live rows without the held rows. For these rows, both ends should agree. */
  digest(reader: Reader): Digest {
    return readDigest(reader, this.id);
  }

  #remove(t: Transaction, keyHash: Uint8Array, state: ConsumerState): AppliedChange | undefined {
    const row = this.get(t, keyHash);
    return row && this.#applyEntry(t, { keyHash, revision: row.revision, originRevision: row.originRevision }, state);
  }

  /**
   * Keeps a row that a ready producer lacks, if this consumer has a keep entry for the row. Returns false if it has none, or if the producer lacks the keep
   * entry too: `isGone` answers this for the key hash of the keep entry.
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
   * Whether an entry with this origin revision replaces the row. An older entry does not replace a newer row, with two exceptions: the producer lacks the row
   * (only a keep entry keeps it), or no space can have reached the row's revision yet.
   */
  takes(reader: Reader, row: FeedRow, originRevision: number): boolean {
    if (this.#ofNoSpace || row.originRevision <= originRevision || row.revision === keptRevision) return true;
    return this.#isFarAhead?.(row.originRevision, () => this.contentOf(reader, row)?.key) === true;
  }

  /** True: a reconciliation does not have to fetch the listed entry, because the row has the same content or is newer. */
  isUpToDate(reader: Reader, row: FeedRow, listed: Listed): boolean {
    if (!row.content) return false;
    return listed.isLike(row) || !this.takes(reader, row, listed.originRevision);
  }

  /** If a held row is in a list of the producer and nothing has to be fetched for it, then the row is no longer held. Returns true if this was the case. */
  unholdListed(t: Transaction, listed: Listed): boolean {
    const row = this.get(t, listed.keyHash);
    if (!row?.held || !this.isUpToDate(t, row, listed)) return false;
    const state = new ConsumerState(t, this.id);
    this.#unhold(t, row, state);
    state.write();
    return true;
  }

  /** Runs after the removal of a keep entry. Removes the row that this entry kept, unless the producer has sent the row since. */
  #removeKept(t: Transaction, keepEntryKey: string, state: ConsumerState): AppliedChange | undefined {
    const key = this.#keepRule?.keptBy(keepEntryKey);
    const row = key === undefined ? undefined : this.get(t, hash128(key));
    return row?.revision === keptRevision ? this.#remove(t, row.keyHash, state) : undefined;
  }

  /**
   * Runs at the end of a reconciliation. Removes the rows that the producer lacks, or holds them if the producer may have lost them (deletions.ts).
   * `isRemoved`: the producer has removed the rows on purpose, so no row is held.
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

  /** The held rows: the producer lacks them and this consumer keeps them. Undefined: there are none. */
  held(reader: Reader): HeldRows | undefined {
    return readHeld(reader, this.id);
  }

  /** Deletes the held rows if the token is still theirs. If other rows were held since, the token is different, and nothing is deleted. */
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
   * Makes the producer send its feed from the first revision, as to a consumer that never attached. Runs at the beginning of a session, if the received rows
   * are of no use to this node. Without the restart, both nodes could wait for each other: a producer of another history sends nothing before it is ready,
   * and it may become ready only after this node has received its rows and has answered them. The old rows stay in the table. Later, the digest shows whether
   * the producer lacks some of them.
   */
  restartFeed(t: Transaction): void {
    if (this.resume(t).epoch !== '') this.setResume(t, neverAttached);
  }

  /** Runs at the beginning of a session. If all rows are quarantined, the producer sends its feed from the first revision. */
  restartIfAllQuarantined(t: Transaction): void {
    if (this.quarantinedCount(t) === 0) return;
    for (const _valid of this.sound.rows(t)) return;
    this.restartFeed(t);
  }

  /** Ends the holding of a row: the producer has the key again, or has removed the key on purpose. */
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
      this.#quota?.measure(state, row, before, undefined, false);
      const good = this.#goodOf(t, row);
      const formerContent = this.#endQuarantine(t, row) ? this.#goodContent(t, good) : before;
      if (good) dropContentReference(t, good.content);
      if (row.content && row.poisoned) dropContentReference(t, row.content);
      return formerContent && { keyHash, key: formerContent.key, originRevision, before: formerContent };
    }
    // If the row exists with this key, the hash was checked when the row was first received.
    if (before?.key !== content.key && !equalBytes(keyHash, hash128(content.key))) {
      throw new BanyanError('Protocol', `${this.name}: the entry "${content.key}" came under another key's hash`);
    }
    if (before) checkSameKey(before, content.key);
    const record = contentRecordOf(content);
    const isSame = row?.content !== undefined && equalBytes(row.content.hash, record.hash);
    const flaw = isSame ? undefined : this.#judge?.(content, t);
    if (!isSame && this.#quota?.refuses(t, state, row, before, content, flaw !== undefined)) return undefined;
    const reference = isSame && row?.content ? row.content : storeContent(t, record);
    const poisoned = flaw !== undefined || (isSame && row?.poisoned === true);
    const next = { keyHash, revision, originRevision, content: reference };
    writeRowAt(t, at, poisoned ? { ...next, poisoned } : next);
    if (isSame) return undefined;
    state.moved(row?.content?.hash, record.hash);
    this.#quota?.measure(state, row, before, content, flaw !== undefined);
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

  /** The rows that the quota refused, and that the table lacks. Undefined: it lacks none. */
  shortage(reader: Reader): Shortage | undefined {
    return this.#quota?.shortage(reader);
  }

  /** Ends a shortage if refused rows may fit now. Returns true if it did: the caller has to reconcile, which brings the rows, or begins another shortage. */
  endShortage(t: Transaction): boolean {
    return this.#quota?.endShortage(t) ?? false;
  }

  /** Judges the quarantined rows again whose keys begin with `start`, because what the judge reads has changed. Returns the rows that are valid now. */
  judgeAgain(t: Transaction, start: string): AppliedChange[] {
    const state = new ConsumerState(t, this.id);
    const changes = quarantinedRows(t, this.id, start).flatMap((keyHash): AppliedChange[] => {
      const row = this.get(t, keyHash);
      const after = this.contentOf(t, row);
      if (!row?.poisoned || !after || this.#judge?.(after, t)) return [];
      const good = goodForm(t, this.id, keyHash);
      const before = this.#goodContent(t, good);
      this.#endQuarantine(t, row);
      this.#quota?.measure(state, row, after, after, false);
      const { poisoned: _poisoned, ...valid } = row;
      writeRow(t, this.id, valid);
      if (good) dropContentReference(t, good.content);
      return [{ keyHash, key: after.key, originRevision: row.originRevision, after, ...(before ? { before } : {}) }];
    });
    state.write();
    return changes;
  }

  /** The form of a row that rooms use, with the reference to its content. For a quarantined row this is the last valid form, otherwise the row itself. */
  #goodOf(t: Transaction, row: FeedRow | undefined): GoodForm | undefined {
    if (row?.poisoned) return goodForm(t, this.id, row.keyHash);
    return row?.content && { revision: row.revision, originRevision: row.originRevision, content: row.content };
  }

  #goodContent(t: Transaction, good: GoodForm | undefined): Content | undefined {
    return good && this.content(t, good.content);
  }

  /** Records an invalid entry. Rooms keep the last valid form of the key, so the caller reports no change to them. */
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
