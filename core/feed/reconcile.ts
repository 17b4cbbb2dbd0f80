/**
 * Reconciliation: when a resume is refused, both ends find what differs by fingerprints of ranges of key hashes, so that the bytes are
 * proportional to the difference. The consumer drives and keeps the state; the producer answers each request from its rows alone.
 * A range is said in one of two forms: reconcile-prefixes.ts, or, to a peer of an older version, reconcile-ranges.ts.
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
  type ReconcileReply,
  type ReconcileRequest,
  type ResumeTuple,
  type WireEntry,
} from './feed.ts';
import { withPieces } from './pieces.ts';
import type { FeedProducer } from './producer.ts';
import { answerPrefix, PrefixSearch } from './reconcile-prefixes.ts';
import { answerRange, RangeSearch } from './reconcile-ranges.ts';
import { type Found, nothingFound } from './reconcile-rows.ts';

/** Keys in one request: its reply stays far below the frame limit. */
export const wantedPerRequest = 256;

/** What is still to be compared, in one form or the other. */
export interface Search {
  readonly isDone: boolean;
  /** What to ask next. */
  asks(): Pick<ReconcileRequest, 'ranges' | 'prefixes'>;
  /** The answers to what was asked last. Throws Protocol for what is no answer to that. */
  take(t: Transaction, reply: ReconcileReply): Found;
}

export interface AnswerLimits {
  /** Of entries in one reply; one that is larger travels alone. */
  readonly maxBytes: number;
  /** Hash, hex, of a content that the consumer has in pieces: it is named and not sent. */
  readonly pieced?: string;
  /** The consumer knows the producer from the first reply: what it is called is left out of the others. */
  readonly brief?: boolean;
}

/** The producer's side, without state. `durableHead` was read before: what changes later comes as ordinary batches. */
export function answer(
  reader: Reader,
  producer: FeedProducer,
  request: ReconcileRequest,
  durableHead: number,
  { maxBytes, pieced, brief }: AnswerLimits,
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
  const { round, prefixes } = request;
  return {
    round,
    answers: request.ranges.map((range) => answerRange(reader, producer, range)),
    ...(prefixes
      ? { prefixAnswers: prefixes.asked.map((one) => answerPrefix(reader, producer, prefixes.seed, one)) }
      : {}),
    entries,
    head: durableHead,
    ...(brief && round > 1
      ? { epoch: '', incarnation: '' }
      : { epoch: producer.epoch, incarnation: producer.incarnation }),
  };
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
  readonly #search: Search;
  #round = 0;
  /** Prefixes or ranges were asked in this round. */
  #asked: Pick<ReconcileRequest, 'ranges' | 'prefixes'> = nothing;
  #wanted: Uint8Array[] = [];
  /** They go at the end, all at once. */
  readonly #gone: Uint8Array[] = [];
  /** Where the consumer was in the feed. */
  readonly #before: ResumeTuple;
  #first: ReconcileReply | undefined;
  /** Rows that came are as new as the newest of these heads, though the feed is taken up at the first. */
  #seenHead = 0;

  /** `seed`: of a peer that has the form by prefixes. */
  constructor(reader: Reader, consumer: FeedConsumer, seed?: Uint8Array) {
    this.#consumer = consumer;
    this.#before = consumer.resume(reader);
    this.#search = seed ? new PrefixSearch(reader, consumer, seed) : new RangeSearch(reader, consumer);
  }

  /** The next request; undefined when nothing is left to ask. What is wanted comes first: so there is never much of it. */
  next(): ReconcileRequest | undefined {
    if (this.#search.isDone && this.#wanted.length === 0) return undefined;
    this.#round++;
    this.#asked = this.#wanted.length < wantedPerRequest ? this.#search.asks() : nothing;
    return { round: this.#round, ...this.#asked, wanted: this.#wanted.slice(0, wantedPerRequest) };
  }

  /** Takes a reply in: applies the entries that came, works out what to ask next. Throws Protocol for one that is no answer to what was asked last. */
  absorb(t: Transaction, reply: ReconcileReply): AppliedChange[] {
    const { ranges, prefixes } = this.#asked;
    const counts = { ranges: ranges.length, prefixes: prefixes?.asked.length ?? 0 };
    checkReply(reply, this.#round, counts, this.#wanted.slice(0, wantedPerRequest));
    if (!this.#first && reply.epoch === '') throw bad('without an epoch');
    this.#first ??= reply;
    this.#seenHead = Math.max(this.#seenHead, reply.head);
    const found = counts.ranges + counts.prefixes > 0 ? this.#search.take(t, reply) : nothingFound();
    this.#gone.push(...found.gone);
    const came = new Set(reply.entries.map((entry) => hex(entry.keyHash)));
    this.#wanted = this.#wanted.filter((keyHash) => !came.has(hex(keyHash)));
    this.#wanted.push(...found.wanted);
    if (came.size > 0 || found.again) this.#leaveFeed(t, reply.epoch || this.#first.epoch);
    // What was wanted and is gone by now comes as a tombstone of an ordinary batch; here it is passed over.
    const entries = withPieces(t, this.#consumer.id, reply.entries);
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

const nothing: Pick<ReconcileRequest, 'ranges' | 'prefixes'> = { ranges: [] };

/**
 * Every reply brings the reconciliation on: what was asked is settled, listed, or cut as both sides cut (the searches look), and of what is wanted
 * something comes. Without this a producer that lies could be asked for ever.
 */
function checkReply(
  { round, answers, prefixAnswers, entries }: ReconcileReply,
  asked: number,
  counts: { readonly ranges: number; readonly prefixes: number },
  wantedKeys: readonly Uint8Array[],
): void {
  if (round !== asked) throw bad(`to round ${round}, asked was ${asked}`);
  if (answers.length !== counts.ranges) throw bad(`with ${answers.length} answers to ${counts.ranges} ranges`);
  const prefixes = prefixAnswers?.length ?? 0;
  if (prefixes !== counts.prefixes) throw bad(`with ${prefixes} answers to ${counts.prefixes} prefixes`);
  const wanted = new Set(wantedKeys.map(hex));
  if (wanted.size > 0 && entries.length === 0) throw bad(`with none of ${wanted.size} entries that were wanted`);
  for (const { keyHash } of entries) {
    if (!wanted.delete(hex(keyHash))) throw bad(`with an entry that was not wanted, ${hex(keyHash)}`);
  }
}

function bad(what: string): BanyanError {
  return new BanyanError('Protocol', `a reconcile reply ${what}`);
}
