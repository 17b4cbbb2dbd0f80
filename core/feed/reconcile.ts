/**
 * Reconciliation: runs when a consumer is not allowed to resume. Both ends compare fingerprints of prefixes of key hashes (reconcile-prefixes.ts) to find the
 * rows that differ, so the number of bytes depends only on the difference. The consumer sends the requests and keeps the state of the reconciliation. The
 * producer keeps no state, and answers each request from its rows.
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

/** Limit for the wanted keys in one request, so that the reply stays far below the frame limit. */
export const wantedPerRequest = 256;

export interface AnswerLimits {
  /** Limit for the bytes of the entries in one reply. A larger entry is alone in its reply. */
  readonly maxBytes: number;
  /** Hash (hex) of a content that the consumer has received in pieces. The reply names this content by its hash and does not repeat it. */
  readonly pieced?: string;
}

/**
 * Answers a request, at the producer's side, without state. The caller read `durableHead` before this call: later changes are sent as ordinary batches after
 * the reconciliation.
 */
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
  // Only the first reply contains the producer's identity.
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

/** One reconciliation, at the consumer's side. */
export class Reconciliation {
  readonly #consumer: FeedConsumer;
  readonly #seed: Uint8Array;
  readonly #search: PrefixSearch;
  #round = 0;
  /** The prefixes that this round asks about. */
  #asked: readonly PrefixSummary[] = [];
  #wanted: Uint8Array[] = [];
  /** Keys that the producer lacks. Their rows are removed together at the end. */
  readonly #absent: Uint8Array[] = [];
  /** The consumer's place in the feed before the reconciliation. */
  readonly #before: ResumeTuple;
  #first: ReconcileReply | undefined;
  /** The newest head of all replies. The feed resumes at the head of the first reply, but received rows may be as new as this head. */
  #seenHead = 0;

  constructor(reader: Reader, consumer: FeedConsumer, seed: Uint8Array) {
    this.#consumer = consumer;
    this.#seed = seed;
    this.#before = consumer.resume(reader);
    this.#search = new PrefixSearch(reader, consumer, seed);
  }

  /** Returns the next request. Undefined: nothing is left to ask. Wanted keys are asked before prefixes, so that their number stays small. */
  next(): ReconcileRequest | undefined {
    if (this.#search.isDone && this.#wanted.length === 0) return undefined;
    this.#round++;
    this.#asked = this.#wanted.length < wantedPerRequest ? this.#search.asks() : [];
    const seed = this.#asked.length > 0 ? this.#seed : none;
    return { round: this.#round, seed, prefixes: this.#asked, wanted: this.#wanted.slice(0, wantedPerRequest) };
  }

  /** Processes a reply: applies its entries, and finds the next prefixes and keys to ask. Throws Protocol if the reply does not answer the newest request. */
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
    // If a wanted key was removed meanwhile, an ordinary batch will bring its tombstone. The tombstone in this reply is ignored.
    const entries = contentWithPieces(t, this.#consumer.id, reply.entries);
    return this.#consumer.applyEntries(
      t,
      entries.filter((entry) => entry.content !== undefined),
    );
  }

  /** Runs when nothing is left to ask. Removes or holds the rows that the producer lacks, and lets the feed resume at the head of the first reply. */
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
   * True: the producer is still the same process to which the consumer was attached before, and has lost nothing. So the producer has removed the rows that it
   * lacks on purpose, and has purged their tombstones. This happens if the consumer's store was restored from an older copy.
   */
  #isSameProcess({ epoch, incarnation, head }: ReconcileReply): boolean {
    const before = this.#before;
    return incarnation !== '' && before.incarnation === incarnation && before.epoch === epoch && before.cursor <= head;
  }

  /**
   * Runs when rows have changed in the middle of a reconciliation. The table now has rows of two histories, and matches neither. So the consumer must not
   * resume at any producer before the reconciliation ends (rule 2). This includes the producer of its old cursor, whose store may be restored meanwhile.
   */
  #leaveFeed(t: Transaction, epoch: string): void {
    this.#consumer.setResume(t, { epoch, incarnation: '', cursor: 0, seenHead: 0 });
  }
}

const none = new Uint8Array(0);

/**
 * Throws Protocol if a reply does not advance the reconciliation. It must have one answer for each prefix (PrefixSearch checks the answers), and at least one
 * of the wanted entries. Without this check, a wrong producer could keep the reconciliation going for ever.
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
