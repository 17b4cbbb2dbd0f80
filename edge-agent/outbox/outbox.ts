/**
 * What this agent says goes into the producer's end of its up feed. A key is touched when what is said of it may have changed;
 * what is said is asked for when it is written, so that ten changes are one entry, and what is said already is not written. A key
 * that changes now and then is written at once, one that changes all the time once a second, or more often where somebody has asked to follow it.
 *
 * Bounds: one waiting key per entry; at most `entriesPerWrite` in one transaction.
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
  /** What is said of the key now; undefined: nothing any more; 'unsure': it is not known yet, and what was said stays. */
  say(key: string): UpFeedEntry | undefined | 'unsure';
  /** It is of an object that somebody wants to know exactly. Absent: nobody does. */
  isFollowed?(key: string): boolean;
  /** More would have to be said under the key than an entry may hold: how many bytes; undefined: it fits again, or there is nothing to be said. */
  outgrew?(key: string, bytes: number | undefined): void;
}

/** Enough that the stages of one change (stored, applied, available) pass without waiting. */
const burst = 4;
/** At most one a second per key from then on. */
const intervalMs = 1_000;
/** … but of what somebody follows: as the relays above hand it on (relay/gather/status/reporter.ts). */
const followedIntervalMs = 50;
/** What one batch of the down feed or one answer of the cluster sets off is over by then, and is told as one thing. */
const gatherMs = 20;
/** A full disk does not become free at once, and nothing is lost by waiting. */
const writeRetryMs = 5_000;
/** Of an object that a real cluster has, which knows no such bound. With room for the key and what stands around it. */
export const upFeedEntryBytesMax = piecedBytesMax - 4_096;
/**
 * Keeps a transaction to a millisecond, so that the up feed does not hold up the down feed's writes, and to a megabyte of pages: an entry changes four or five,
 * and LMDB keeps the memory of the largest transaction.
 */
const entriesPerWrite = 100;

export class Outbox {
  readonly #ports: OutboxPorts;
  readonly #touched = new Set<string>();
  readonly #buckets = new Map<string, TokenBucket>();
  /** Keys that have used up their rate, touched again when the timer fires. */
  readonly #resting = new Map<string, Timer>();
  /** Of which more would have to be said than an entry may hold: told once in the log. */
  readonly #tooLarge = new Set<string>();
  #open = false;
  #timer: Timer | undefined;

  constructor(ports: OutboxPorts) {
    this.#ports = ports;
  }

  /** From now on touched keys are written. Before, nothing is known of the cluster, and an entry that says so would undo what is known above. */
  open(): void {
    this.#open = true;
    this.#schedule();
  }

  close(): void {
    this.#open = false;
    this.#timer?.stop();
    for (const timer of this.#resting.values()) timer.stop();
  }

  touch(key: string): void {
    if (this.#resting.has(key)) return;
    this.#touched.add(key);
    this.#schedule();
  }

  /** Also what was said in an earlier life of the process and may hold no more. */
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
    for (const [key, entry] of this.#unsaid()) {
      const bucket = this.#buckets.get(key) ?? this.#newBucket(key, nowMs);
      this.#buckets.set(key, bucket);
      this.#touched.delete(key);
      const delayMs = bucket.take(nowMs);
      if (delayMs === 0) due.push([key, entry]);
      else this.#rest(key, delayMs);
    }
    for (const [key, bucket] of this.#buckets) if (bucket.isIdle(nowMs)) this.#buckets.delete(key);
    if (due.length > 0) this.#write(due);
    this.#schedule();
  }

  #newBucket(key: string, nowMs: number): TokenBucket {
    const isFollowed = this.#ports.isFollowed?.(key) ?? false;
    return new TokenBucket(burst, isFollowed ? followedIntervalMs : intervalMs, nowMs);
  }

  #rest(key: string, delayMs: number): void {
    const timer = this.#ports.clock.after(delayMs, () => {
      this.#resting.delete(key);
      this.touch(key);
    });
    this.#resting.set(key, timer);
  }

  /** Of the keys touched first, those of which something else is to be said than has been; the others are touched no more. */
  #unsaid(): [key: string, entry: UpFeedEntry | undefined][] {
    const { store, producer } = this.#ports;
    const keys = [...this.#touched].slice(0, entriesPerWrite);
    const entries: [key: string, entry: UpFeedEntry | undefined][] = [];
    for (const key of keys) {
      const entry = this.#ports.say(key);
      if (entry === 'unsure') this.#touched.delete(key);
      else entries.push([key, entry]);
    }
    return store.read((reader) =>
      entries.flatMap(([key, whole]) => {
        const row = producer.get(reader, hash128(key));
        const said = row?.content && producer.content(reader, row.content);
        const entry = this.#fitting(key, whole, said);
        const same = said && entry ? sameUpFeedEntry(said, entry) : !said && !entry;
        if (same) this.#touched.delete(key);
        return same ? [] : [[key, entry] as [string, UpFeedEntry | undefined]];
      }),
    );
  }

  /**
   * Of what is too large: of the state of an object all but its status. Another object stays as it was said last, if it was: that it is said no more would mean that it
   * is there no more, and what it was made into above would be deleted.
   */
  #fitting(key: string, entry: UpFeedEntry | undefined, said: UpFeedEntry | undefined): UpFeedEntry | undefined {
    const bytes = entry ? entry.attributes.length + entry.body.length : 0;
    if (!entry || bytes <= upFeedEntryBytesMax) {
      if (this.#tooLarge.delete(key)) this.#ports.outgrew?.(key, undefined);
      return entry;
    }
    if (!this.#tooLarge.has(key)) {
      this.#tooLarge.add(key);
      const remedy = 'make the object smaller on its cluster';
      this.#ports.logger.warn(
        { key, bytes, bytesMax: upFeedEntryBytesMax, remedy },
        'too large to be reported as a whole',
      );
      this.#ports.outgrew?.(key, bytes);
    }
    if (key.startsWith('state/')) return { ...entry, body: new Uint8Array(0) };
    return said && { ...entry, body: said.body };
  }

  /** Objects before the placements that sum them up. */
  #write(due: readonly (readonly [key: string, entry: UpFeedEntry | undefined])[]): void {
    const isPartial = (key: string) => Number(key.startsWith('partial/'));
    const ordered = [...due].sort(([a], [b]) => isPartial(a) - isPartial(b));
    try {
      this.#ports.store.write((t) => {
        for (const [key, entry] of ordered) this.#writeOne(t, key, entry);
      });
    } catch (error) {
      this.#ports.logger.error({ error: describeError(error) }, 'reports could not be written; trying again');
      for (const [key] of due) this.#rest(key, writeRetryMs);
      return;
    }
  }

  #writeOne(t: Transaction, key: string, entry: UpFeedEntry | undefined): void {
    const { producer } = this.#ports;
    const keyHash = hash128(key);
    // What a node tells of itself is of no space: the order of its feed alone says what is newer. Were it numbered here, by the time or by counting, a parent
    // would keep as newer what it had heard before this disk was put back to an older copy, or from such a copy.
    const originRevision = producer.get(t, keyHash)?.originRevision ?? 0;
    if (entry) producer.put(t, { key, ...entry }, originRevision);
    else producer.remove(t, keyHash, originRevision);
  }
}

function sameUpFeedEntry(a: UpFeedEntry, b: UpFeedEntry): boolean {
  return equalBytes(a.attributes, b.attributes) && equalBytes(a.body, b.body);
}
