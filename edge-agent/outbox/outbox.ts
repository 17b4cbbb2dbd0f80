/**
 * Writes the reports of this agent into the producer's end of its up feed. Rooms touch a key when the report of this key may have changed. The outbox asks
 * for the report when it writes. So ten changes give one entry, and an unchanged report is not written. A key that changes from time to time is written at
 * once. A key that changes all the time is written once a second, or more often if a placement follows the object. An urgent report hardly waits.
 *
 * Bounds: one waiting key for each entry; at most `entriesPerWrite` in one transaction.
 */
import type { Producer } from '../../core/feed/feed.ts';
import { piecedBytesMax } from '../../core/feed/pieces.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { describeError } from '../../core/runtime/errors.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import { TokenBucket } from '../../core/runtime/token-bucket.ts';
import { equalBytes } from '../../core/store/bytes.ts';
import type { Store, Transaction } from '../../core/store/store.ts';

export interface UpFeedEntry {
  readonly attributes: Uint8Array;
  readonly body: Uint8Array;
}

export interface OutboxPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly store: Store;
  readonly producer: Producer;
  /**
   * Returns the present report of the key. Undefined: there must be no entry. 'unsure': the agent does not know the report yet, and the previous entry stays.
   */
  entryOf(key: string): UpFeedEntry | undefined | 'unsure';
  /** Whether the key is the key of an object with exact status. Absent: no key is. */
  isFollowed?(key: string): boolean;
  /** Whether the partial of a placement must not wait as long as other reports. `former`: the partial that was written last. */
  isUrgent(partial: UpFeedEntry | undefined, former: UpFeedEntry | undefined): boolean;
  /** Called when the report of the key has more bytes than an entry may have. Undefined: the report fits again, or there is no report. */
  tooLarge?(key: string, bytes: number | undefined): void;
}

interface ChangedEntry {
  readonly key: string;
  readonly entry: UpFeedEntry | undefined;
  readonly former: UpFeedEntry | undefined;
}

/** Number of entries of one key that are written without waiting. Enough for the stages of one change: stored, applied, available. */
const burst = 4;
/** After the burst, at most one entry of a key in this time. */
const intervalMs = 1_000;
/** The same interval for objects that a placement follows. The relays pass their reports on at the same rate (relay/gather/status/reporter.ts). */
const followedIntervalMs = 50;
/** A delayed partial is looked at after this time, because it may have become urgent. To make the partial of a thousand objects takes about a millisecond. */
const urgencyMs = 50;
/**
 * Wait after the first touched key. After this time, the changes from one batch of the down feed, or from one answer of the cluster, are complete. They are
 * then written together.
 */
const gatherMs = 20;
/** Wait after a failed write. A full disk stays full for a while, and waiting loses nothing. */
const writeRetryMs = 5_000;
/** Limit for the bytes of one report. An object of a real cluster may be larger. The limit leaves room for the key and the framing. */
export const upFeedEntryBytesMax = piecedBytesMax - 4_096;
/**
 * Keeps a transaction to about a millisecond, so that the up feed does not delay the writes of the down feed. Also keeps a transaction to about a megabyte of
 * pages: an entry changes four or five pages, and LMDB does not free the memory of its largest transaction.
 */
const entriesPerWrite = 100;

export class Outbox {
  readonly #ports: OutboxPorts;
  readonly #touched = new Set<string>();
  readonly #buckets = new Map<string, TokenBucket>();
  /** Keys that have used up their rate. When the timer fires, the key is touched again. */
  readonly #delayed = new Map<string, Timer>();
  /** Keys whose report has more bytes than an entry may have. Each key is logged once. */
  readonly #tooLarge = new Set<string>();
  #open = false;
  #timer: Timer | undefined;

  constructor(ports: OutboxPorts) {
    this.#ports = ports;
  }

  /**
   * From now on, the outbox writes touched keys. Before, the agent knows nothing about the cluster, and entries without content would replace the reports
   * that the parents have.
   */
  open(): void {
    this.#open = true;
    this.#schedule();
  }

  close(): void {
    this.#open = false;
    this.#timer?.stop();
    for (const timer of this.#delayed.values()) timer.stop();
  }

  touch(key: string): void {
    if (this.#delayed.has(key)) return;
    this.#touched.add(key);
    this.#schedule();
  }

  /** Touches every key in the table. The previous process may have written entries that are not true any more. */
  touchAll(): void {
    const { store, producer } = this.#ports;
    store.read((reader) => {
      for (const row of producer.rows(reader))
        if (row.content) this.#touched.add(producer.content(reader, row.content).key);
    });
    this.#schedule();
  }

  #schedule(): void {
    if (!this.#open || this.#timer || this.#touched.size === 0) return;
    this.#timer = this.#ports.clock.after(gatherMs, () => {
      this.#timer = undefined;
      this.#run();
    });
  }

  #run(): void {
    const nowMs = this.#ports.clock.monotonicMs();
    const due: [key: string, entry: UpFeedEntry | undefined][] = [];
    for (const { key, entry, former } of this.#changedEntries()) {
      const bucket = this.#buckets.get(key) ?? this.#newBucket(key, nowMs);
      this.#buckets.set(key, bucket);
      this.#touched.delete(key);
      const delayMs = bucket.take(nowMs);
      if (delayMs === 0 || (isPartial(key) && this.#ports.isUrgent(entry, former))) due.push([key, entry]);
      else this.#delay(key, isPartial(key) ? Math.min(delayMs, urgencyMs) : delayMs);
    }
    for (const [key, bucket] of this.#buckets) if (bucket.isIdle(nowMs)) this.#buckets.delete(key);
    if (due.length > 0) this.#write(due);
    this.#schedule();
  }

  #newBucket(key: string, nowMs: number): TokenBucket {
    const isFollowed = this.#ports.isFollowed?.(key) ?? false;
    return new TokenBucket(burst, isFollowed ? followedIntervalMs : intervalMs, nowMs);
  }

  #delay(key: string, delayMs: number): void {
    const timer = this.#ports.clock.after(delayMs, () => {
      this.#delayed.delete(key);
      this.touch(key);
    });
    this.#delayed.set(key, timer);
  }

  /** Returns those of the first touched keys whose report differs from the entry in the table. Keys with an unchanged report are not touched any more. */
  #changedEntries(): ChangedEntry[] {
    const { store, producer } = this.#ports;
    const keys = [...this.#touched].slice(0, entriesPerWrite);
    const entries: [key: string, entry: UpFeedEntry | undefined][] = [];
    for (const key of keys) {
      const entry = this.#ports.entryOf(key);
      if (entry === 'unsure') this.#touched.delete(key);
      else entries.push([key, entry]);
    }
    return store.read((reader) =>
      entries.flatMap(([key, whole]) => {
        const row = producer.get(reader, hash128(key));
        const former = row?.content && producer.content(reader, row.content);
        const entry = this.#fitting(key, whole, former);
        const isSame = former && entry ? sameUpFeedEntry(former, entry) : !former && !entry;
        if (isSame) this.#touched.delete(key);
        return isSame ? [] : [{ key, entry, former }];
      }),
    );
  }

  /**
   * Makes an entry that is too large fit. The entry of an object's state loses the status. The entry of a whole object keeps the body of the previous report,
   * if there is one. The entry must not disappear: that would mean that the object does not exist any more, and the nodes above would delete everything that
   * they made from the object.
   */
  #fitting(key: string, entry: UpFeedEntry | undefined, former: UpFeedEntry | undefined): UpFeedEntry | undefined {
    const bytes = entry ? entry.attributes.length + entry.body.length : 0;
    if (!entry || bytes <= upFeedEntryBytesMax) {
      if (this.#tooLarge.delete(key)) this.#ports.tooLarge?.(key, undefined);
      return entry;
    }
    if (!this.#tooLarge.has(key)) {
      this.#tooLarge.add(key);
      const remedy = 'make the object smaller on its cluster';
      this.#ports.logger.warn(
        { key, bytes, bytesMax: upFeedEntryBytesMax, remedy },
        'too large to be reported as a whole',
      );
      this.#ports.tooLarge?.(key, bytes);
    }
    if (key.startsWith('state/')) return { ...entry, body: new Uint8Array(0) };
    return former && { ...entry, body: former.body };
  }

  /** Writes the entries. The states of objects come before the partials that sum them up. */
  #write(due: readonly (readonly [key: string, entry: UpFeedEntry | undefined])[]): void {
    const ordered = [...due].sort(([a], [b]) => Number(isPartial(a)) - Number(isPartial(b)));
    try {
      this.#ports.store.write((t) => {
        for (const [key, entry] of ordered) this.#writeOne(t, key, entry);
      });
    } catch (error) {
      this.#ports.logger.error({ error: describeError(error) }, 'reports could not be written; trying again');
      for (const [key] of due) this.#delay(key, writeRetryMs);
      return;
    }
  }

  #writeOne(t: Transaction, key: string, entry: UpFeedEntry | undefined): void {
    const { producer } = this.#ports;
    const keyHash = hash128(key);
    // The reports of a node about itself belong to no space. Only the order of the feed decides which report is newer. So the outbox makes no revision of its
    // own, by time or by counting. After this disk was restored from an older copy, such a revision could make a parent keep the wrong report: a report from
    // before the restore, or a report from the copy.
    const originRevision = producer.get(t, keyHash)?.originRevision ?? 0;
    if (entry) producer.put(t, { key, ...entry }, originRevision);
    else producer.remove(t, keyHash, originRevision);
  }
}

function isPartial(key: string): boolean {
  return key.startsWith('partial/');
}

function sameUpFeedEntry(a: UpFeedEntry, b: UpFeedEntry): boolean {
  return equalBytes(a.attributes, b.attributes) && equalBytes(a.body, b.body);
}
