/**
 * Reconciliation. When a consumer may not resume, both ends find the differing rows by fingerprints of the keys whose hashes begin alike
 * (reconcile-prefixes.ts), so that the bytes are proportional to the difference. The consumer drives the reconciliation and keeps its state. The producer
 * answers each request from its rows alone.
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

/** Keys in one request, so that the reply stays far below the frame limit. */
export const wantedPerRequest = 256;

export interface AnswerLimits {
  /** Bytes of the entries in one reply. An entry that is larger travels alone. */
  readonly maxBytes: number;
  /** Hash, in hex, of a content that the consumer has in pieces. The reply names this content and does not contain it. */
  readonly pieced?: string;
}

/** The producer's side, without state. `durableHead` was read before: later changes come as ordinary batches. */
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
  // The first reply contains the producer's identity. Later replies leave it out.
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
  /** The prefixes that this round asks about. */
  #asked: readonly PrefixSummary[] = [];
  #wanted: Uint8Array[] = [];
  /** Keys that the producer lacks. Their rows are removed at the end, all at once. */
  readonly #absent: Uint8Array[] = [];
  /** The consumer's place in the feed before the reconciliation. */
  readonly #before: ResumeTuple;
  #first: ReconcileReply | undefined;
  /** The newest head of all replies: received rows may be as new as this, although the feed resumes at the head of the first reply. */
  #seenHead = 0;

  constructor(reader: Reader, consumer: FeedConsumer, seed: Uint8Array) {
    this.#consumer = consumer;
    this.#seed = seed;
    this.#before = consumer.resume(reader);
    this.#search = new PrefixSearch(reader, consumer, seed);
  }

  /** The next request. Undefined when nothing is left to ask. Wanted keys come first, so there are never many of them. */
  next(): ReconcileRequest | undefined {
    if (this.#search.isDone && this.#wanted.length === 0) return undefined;
    this.#round++;
    this.#asked = this.#wanted.length < wantedPerRequest ? this.#search.asks() : [];
    const seed = this.#asked.length > 0 ? this.#seed : none;
    return { round: this.#round, seed, prefixes: this.#asked, wanted: this.#wanted.slice(0, wantedPerRequest) };
  }

  /** Takes a reply: applies its entries, and works out what to ask next. Throws Protocol for a reply that does not answer the newest request. */
  absorb(t: Transaction, reply: ReconcileReply): AppliedChange[] {
    checkReply(reply, this.#round, this.#asked.length, this.#wanted.slice(0, wantedPerRequest));
    if (!this.#first && reply.epoch === '') throw bad('without an epoch');
    this.#first ??= reply;
    this.#seenHead = Math.max(this.#seenHead, reply.head);
    const found = this.#asked.length > 0 ? this.#search.take(t, reply.answers) : nothingFound();
    this.#absent.push(...found.absent);
    const received = new Set(reply.entries.map((entry) => hex(entry.keyHash)));
    this.#wanted = this.#wanted.filter((keyHash) => !received.has(hex(keyHash)));
    this.#wanted.push(...found.wanted);
    if (received.size > 0 || found.hasUnheld) this.#leaveFeed(t, reply.epoch || this.#first.epoch);
    // A wanted key that was removed meanwhile comes as a tombstone in an ordinary batch. The tombstone in this reply is ignored.
    const entries = contentWithPieces(t, this.#consumer.id, reply.entries);
    return this.#consumer.applyEntries(
      t,
      entries.filter((entry) => entry.content !== undefined),
    );
  }

  /** Runs when nothing is left to ask: removes or holds the rows that the producer lacks, and resumes the feed at the head of the first reply. */
  finish(t: Transaction): AppliedChange[] {
    if (!this.#first) throw new Error('a reconciliation without a reply');
    const { epoch, incarnation, head } = this.#first;
    const absentHashes = new Set(this.#absent.map(hex));
    const unkept = this.#absent.filter(
      (keyHash) => !this.#consumer.keepKey(t, keyHash, (keepEntryHash) => absentHashes.has(hex(keepEntryHash))),
    );
    const changes = this.#consumer.removeAbsent(t, unkept, this.#isSameProcess(this.#first));
    this.#consumer.setResume(t, { epoch, incarnation, cursor: head, seenHead: this.#seenHead });
    return changes;
  }

  /**
   * The producer is still the process to which the consumer was attached. So it has removed on purpose the rows that it lacks (their tombstones are purged),
   * and has lost nothing. This happens with a consumer whose store was restored from an older copy.
   */
  #isSameProcess({ epoch, incarnation, head }: ReconcileReply): boolean {
    const before = this.#before;
    return incarnation !== '' && before.incarnation === incarnation && before.epoch === epoch && before.cursor <= head;
  }

  /**
   * Rows of two histories together are the state of neither. So until the end of the reconciliation the consumer may resume nowhere (rule 2), also not at the
   * producer to which its cursor belonged, if that producer's store is restored in the middle.
   */
  #leaveFeed(t: Transaction, epoch: string): void {
    this.#consumer.setResume(t, { epoch, incarnation: '', cursor: 0, seenHead: 0 });
  }
}

const none = new Uint8Array(0);

/**
 * Every reply must advance the reconciliation: each prefix is settled, listed, or split by the next digit (the search checks this), and at least one of the
 * wanted entries comes. Without this check, a lying producer could be asked for ever.
 */
function checkReply(
  { round, answers, entries }: ReconcileReply,
  expectedRound: number,
  prefixes: number,
  wantedKeys: readonly Uint8Array[],
): void {
  if (round !== expectedRound) throw bad(`to round ${round}, asked was ${expectedRound}`);
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
