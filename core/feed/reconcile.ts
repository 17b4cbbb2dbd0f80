/**
 * Reconciliation: when a resume is refused, both ends find what differs by fingerprints of the keys whose hashes begin alike (reconcile-prefixes.ts), so
 * that the bytes are proportional to the difference. The consumer drives and keeps the state; the producer answers each request from its rows alone.
 *
 * The idea is that of range-based set reconciliation (Meyer, https://arxiv.org/abs/2212.13567).
 */
import { BanyanError } from '../runtime/errors.ts';
import { hex } from '../store/bytes.ts';
import type { Reader, Transaction } from '../store/store.ts';
import type { FeedConsumer } from './consumer.ts';
import { contentHash } from './content.ts';
import {
  type AppliedChange,
  entryBytes,
  type PrefixSummary,
  type ReconcileReply,
  type ReconcileRequest,
  type ResumeTuple,
  type WireEntry,
} from './feed.ts';
import { contentWithPieces } from './pieces.ts';
import type { FeedProducer } from './producer.ts';
import { answerPrefix, PrefixSearch } from './reconcile-prefixes.ts';
import { nothingFound } from './reconcile-rows.ts';

/** Keys in one request: its reply stays far below the frame limit. */
export const wantedPerRequest = 256;

export interface AnswerLimits {
  /** Of entries in one reply; one that is larger travels alone. */
  readonly maxBytes: number;
  /** Hash, hex, of a content that the consumer has in pieces: it is named and not sent. */
  readonly pieced?: string;
}

/** The producer's side, without state. `durableHead` was read before: what changes later comes as ordinary batches. */
export function answer(
  reader: Reader,
  producer: FeedProducer,
  request: ReconcileRequest,
  durableHead: number,
  { maxBytes, pieced }: AnswerLimits,
): ReconcileReply {
  const entries: WireEntry[] = [];
  let bytes = 0;
  for (const keyHash of request.wanted) {
    const entry = asPieced(
      producer.entry(reader, keyHash) ?? { keyHash, revision: durableHead, originRevision: 0 },
      pieced,
    );
    bytes += entryBytes(entry);
    if (entries.length > 0 && bytes > maxBytes) break;
    entries.push(entry);
  }
  const { round, seed, prefixes } = request;
  // The consumer knows from the first reply who the producer is.
  const { epoch, incarnation } = round > 1 ? { epoch: '', incarnation: '' } : producer;
  const answers = prefixes.map((one) => answerPrefix(reader, producer, seed, one));
  return { round, answers, entries, head: durableHead, epoch, incarnation };
}

function asPieced(entry: WireEntry, pieced: string | undefined): WireEntry {
  const { content, ...rest } = entry;
  if (pieced === undefined || !content) return entry;
  const hash = contentHash(content);
  return hex(hash) === pieced ? { ...rest, pieces: hash } : entry;
}

/** One reconciliation, the consumer's side. */
export class Reconciliation {
  readonly #consumer: FeedConsumer;
  readonly #seed: Uint8Array;
  readonly #search: PrefixSearch;
  #round = 0;
  /** In this round. */
  #asked: readonly PrefixSummary[] = [];
  #wanted: Uint8Array[] = [];
  /** They go at the end, all at once. */
  readonly #gone: Uint8Array[] = [];
  /** Where the consumer was in the feed. */
  readonly #before: ResumeTuple;
  #first: ReconcileReply | undefined;
  /** Rows that came are as new as the newest of these heads, though the feed is taken up at the first. */
  #seenHead = 0;

  constructor(reader: Reader, consumer: FeedConsumer, seed: Uint8Array) {
    this.#consumer = consumer;
    this.#seed = seed;
    this.#before = consumer.resume(reader);
    this.#search = new PrefixSearch(reader, consumer, seed);
  }

  /** The next request; undefined when nothing is left to ask. What is wanted comes first: so there is never much of it. */
  next(): ReconcileRequest | undefined {
    if (this.#search.isDone && this.#wanted.length === 0) return undefined;
    this.#round++;
    this.#asked = this.#wanted.length < wantedPerRequest ? this.#search.asks() : [];
    const seed = this.#asked.length > 0 ? this.#seed : none;
    return { round: this.#round, seed, prefixes: this.#asked, wanted: this.#wanted.slice(0, wantedPerRequest) };
  }

  /** Takes a reply in: applies the entries that came, works out what to ask next. Throws Protocol for one that is no answer to what was asked last. */
  absorb(t: Transaction, reply: ReconcileReply): AppliedChange[] {
    checkReply(reply, this.#round, this.#asked.length, this.#wanted.slice(0, wantedPerRequest));
    if (!this.#first && reply.epoch === '') throw bad('without an epoch');
    this.#first ??= reply;
    this.#seenHead = Math.max(this.#seenHead, reply.head);
    const found = this.#asked.length > 0 ? this.#search.take(t, reply.answers) : nothingFound();
    this.#gone.push(...found.gone);
    const came = new Set(reply.entries.map((entry) => hex(entry.keyHash)));
    this.#wanted = this.#wanted.filter((keyHash) => !came.has(hex(keyHash)));
    this.#wanted.push(...found.wanted);
    if (came.size > 0 || found.again) this.#leaveFeed(t, reply.epoch || this.#first.epoch);
    // What was wanted and is gone by now comes as a tombstone of an ordinary batch; here it is passed over.
    const entries = contentWithPieces(t, this.#consumer.id, reply.entries);
    return this.#consumer.applyEntries(
      t,
      entries.filter((entry) => entry.content !== undefined),
    );
  }

  /** When nothing is left to ask: removes or holds what the producer has not, and takes up the feed at the first reply's head. */
  finish(t: Transaction): AppliedChange[] {
    if (!this.#first) throw new Error('a reconciliation without a reply');
    const { epoch, incarnation, head } = this.#first;
    const gone = new Set(this.#gone.map(hex));
    const absent = this.#gone.filter(
      (keyHash) => !this.#consumer.keepKey(t, keyHash, (keeper) => gone.has(hex(keeper))),
    );
    const changes = this.#consumer.removeAbsent(t, absent, this.#isSameLife(this.#first));
    this.#consumer.setResume(t, { epoch, incarnation, cursor: head, seenHead: this.#seenHead });
    return changes;
  }

  /**
   * The producer has been the same process since the consumer heard of it: what it lacks it has removed, in tombstones that it has forgotten since, and lost nothing.
   * So it is with a consumer that was put back to an older copy.
   */
  #isSameLife({ epoch, incarnation, head }: ReconcileReply): boolean {
    const before = this.#before;
    return incarnation !== '' && before.incarnation === incarnation && before.epoch === epoch && before.cursor <= head;
  }

  /**
   * Rows of two histories are no state of either: until the end, the consumer may resume nowhere (rule 2), also not at the producer that its
   * cursor was of, if that one is put back in the middle.
   */
  #leaveFeed(t: Transaction, epoch: string): void {
    this.#consumer.setResume(t, { epoch, incarnation: '', cursor: 0, seenHead: 0 });
  }
}

const none = new Uint8Array(0);

/**
 * Every reply brings the reconciliation on: what was asked is settled, listed, or split by the next digit (the search looks), and of what is wanted
 * something comes. Without this a producer that lies could be asked for ever.
 */
function checkReply(
  { round, answers, entries }: ReconcileReply,
  asked: number,
  prefixes: number,
  wantedKeys: readonly Uint8Array[],
): void {
  if (round !== asked) throw bad(`to round ${round}, asked was ${asked}`);
  if (answers.length !== prefixes) throw bad(`with ${answers.length} answers to ${prefixes} prefixes`);
  const wanted = new Set(wantedKeys.map(hex));
  if (wanted.size > 0 && entries.length === 0) throw bad(`with none of ${wanted.size} entries that were wanted`);
  for (const { keyHash } of entries) {
    if (!wanted.delete(hex(keyHash))) throw bad(`with an entry that was not wanted, ${hex(keyHash)}`);
  }
}

function bad(what: string): BanyanError {
  return new BanyanError('Protocol', `a reconcile reply ${what}`);
}
