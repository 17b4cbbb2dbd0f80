/**
 * The prefixes that a reconciliation compares. A prefix means all keys whose hashes begin with the same digits. Both ends compare the rows of a prefix by one
 * fingerprint of 8 bytes, which nobody could know before the reconciliation began. On the wire, a part of a split is 8 bytes, and a row of a list is 30.
 *
 * 8 bytes are enough because the fingerprint depends on a random seed: the consumer makes the seed for this one reconciliation, when all contents exist
 * already. Sums of SHA-256 without a seed would not be safe: an attacker could make contents whose sums are equal in 64 bits (Wagner's generalized birthday).
 */
import { hash128, hashBytes } from '../object/hash.ts';
import { BanyanError } from '../runtime/errors.ts';
import { asBuffer, equalBytes } from '../store/bytes.ts';
import type { Reader, Transaction } from '../store/store.ts';
import type { FeedConsumer } from './consumer.ts';
import type { FeedRow, Listed, PrefixAnswer, PrefixItem, PrefixSummary } from './feed.ts';
import type { FeedProducer } from './producer.ts';
import { compareList, type HashRange, nothingFound, type ReconcileFindings, rowsBetween } from './reconcile-rows.ts';
import type { TableRows } from './table.ts';

/** Bytes of a seed: an attacker would have to guess 64 bits. */
export const seedBytes = 8;
/** Bytes of a fingerprint: two different sets of rows have the same fingerprint with a probability of 1 in 2^64. */
export const fingerprintBytes = 8;
/** Digits of a whole key hash. */
export const digitsMax = 32;
/** Parts of a split, one for each value of the next digit. With 16 parts, five rounds cut a million rows into short lists. */
export const parts = 16;
/** Limit for the prefixes in one request, so that the reply stays far below the frame limit. */
export const prefixesPerRequest = 256;
/** Limit for the rows of a list, if the consumer has no rows under the prefix: about 2 KB. */
export const listMax = 64;
/** Limit for the rows of a list, if the consumer has rows under the prefix. A longer list costs more bytes than another round of 16 fingerprints. */
const listFewMax = 8;
/**
 * Limit for the prefixes that the consumer still has to ask. The search asks the deepest prefixes first. So with an honest producer, at most 15 prefixes for
 * each asked prefix wait at each depth.
 */
const leftMax = 65_536;
/**
 * Limit for the prefixes of one reconciliation: enough for about 5 million rows that all differ. If a producer reports more differences, the reconciliation
 * ends with an error, because otherwise a wrong producer could keep it going for ever.
 */
const askedMax = 4_194_304;
const wordValues = 2 ** 32;

/** A sum of fingerprints modulo 2^64. It is stored as two numbers of 32 bits, because every row is added and this is faster than big integers. */
class Fingerprint {
  #high = 0;
  #low = 0;

  add(row: Uint8Array): void {
    const bytes = asBuffer(row);
    this.#low += bytes.readUInt32BE(4);
    this.#high += bytes.readUInt32BE(0);
    if (this.#low >= wordValues) {
      this.#low -= wordValues;
      this.#high++;
    }
    if (this.#high >= wordValues) this.#high -= wordValues;
  }

  get bytes(): Uint8Array {
    const bytes = Buffer.allocUnsafe(fingerprintBytes);
    bytes.writeUInt32BE(this.#high, 0);
    bytes.writeUInt32BE(this.#low, 4);
    return bytes;
  }
}

/** Fingerprints of the live rows under a prefix: one of all rows (`whole`), and one for each value of the next digit (`parts`). */
interface Summary {
  readonly count: number;
  readonly whole: Uint8Array;
  readonly parts: readonly Uint8Array[];
}

function summarize(reader: Reader, table: TableRows, seed: Uint8Array, prefix: Uint8Array): Summary {
  let count = 0;
  const whole = new Fingerprint();
  const each = Array.from({ length: parts }, () => new Fingerprint());
  for (const row of rowsBetween(reader, table, boundsOf(prefix))) {
    count++;
    const fingerprint = rowFingerprint(seed, row);
    whole.add(fingerprint);
    if (prefix.length < digitsMax) each[digitAt(row.keyHash, prefix.length)]!.add(fingerprint);
  }
  return { count, whole: whole.bytes, parts: each.map(({ bytes }) => bytes) };
}

export function answerPrefix(
  reader: Reader,
  producer: FeedProducer,
  seed: Uint8Array,
  { prefix, fingerprint }: PrefixSummary,
): PrefixAnswer {
  const summary = summarize(reader, producer, seed, prefix);
  const isEmpty = fingerprint.length === 0;
  if (isEmpty ? summary.count === 0 : equalBytes(summary.whole, fingerprint)) return { kind: 'same' };
  if (summary.count > (isEmpty ? listMax : listFewMax)) return { kind: 'split', parts: summary.parts };
  const items = Array.from(
    rowsBetween(reader, producer, boundsOf(prefix)),
    (row): PrefixItem => ({
      keyHash: row.keyHash,
      fingerprint: rowFingerprint(seed, row),
      originRevision: row.originRevision,
    }),
  );
  return { kind: 'list', items };
}

/** The consumer's side: keeps the prefixes that are still to be compared. */
export class PrefixSearch {
  readonly #consumer: FeedConsumer;
  readonly #seed: Uint8Array;
  /** The prefixes that are still to be asked, the longest last. */
  #open: PrefixSummary[];
  #asked: readonly PrefixSummary[] = [];
  #askedTotal = 0;
  /** Summary of all rows, for the first request and for the answer to it. So the table is read only once for both. */
  #first: Summary | undefined;

  constructor(reader: Reader, consumer: FeedConsumer, seed: Uint8Array) {
    this.#consumer = consumer;
    this.#seed = seed;
    const prefix = new Uint8Array(0);
    this.#first = summarize(reader, consumer, seed, prefix);
    this.#open = [summaryOf(prefix, this.#first.count, this.#first.whole)];
  }

  get isDone(): boolean {
    return this.#open.length === 0;
  }

  /** The prefixes of the next request. */
  asks(): readonly PrefixSummary[] {
    this.#asked = this.#open.slice(-prefixesPerRequest);
    this.#askedTotal += this.#asked.length;
    if (this.#askedTotal > askedMax)
      throw new BanyanError('Protocol', `a reconciliation of more than ${askedMax} prefixes: it has no end`);
    return this.#asked;
  }

  /** Processes the answers to the newest request. Throws Protocol for an answer about another prefix. */
  take(t: Transaction, answers: readonly PrefixAnswer[]): ReconcileFindings {
    for (const [i, one] of answers.entries()) {
      if (!answersPrefix(one, this.#asked[i]!.prefix))
        throw new BanyanError(
          'Protocol',
          `a reconcile reply whose answer ${i} is not about the prefix that was asked for`,
        );
    }
    this.#open = this.#open.slice(0, this.#open.length - this.#asked.length);
    const found = nothingFound();
    for (const [i, one] of answers.entries()) {
      const { prefix } = this.#asked[i]!;
      if (one.kind === 'split') this.#openParts(t, prefix, one.parts);
      if (one.kind === 'list')
        compareList(
          t,
          this.#consumer,
          boundsOf(prefix),
          one.items.map((item) => listed(this.#seed, item)),
          found,
        );
    }
    if (this.#open.length > leftMax)
      throw new BanyanError('Protocol', `a reconciliation with ${this.#open.length} prefixes left; at most ${leftMax}`);
    return found;
  }

  #openParts(reader: Reader, prefix: Uint8Array, peerParts: readonly Uint8Array[]): void {
    const summary = this.#first ?? summarize(reader, this.#consumer, this.#seed, prefix);
    this.#first = undefined;
    for (const [digit, part] of summary.parts.entries()) {
      if (equalBytes(part, peerParts[digit]!)) continue;
      this.#open.push(summaryOf(Buffer.of(...prefix, digit), part.some((byte) => byte !== 0) ? 1 : 0, part));
    }
  }
}

function summaryOf(prefix: Uint8Array, count: number, whole: Uint8Array): PrefixSummary {
  return { prefix, fingerprint: count === 0 ? new Uint8Array(0) : whole };
}

function listed(seed: Uint8Array, { keyHash, originRevision, fingerprint }: PrefixItem): Listed {
  return { keyHash, originRevision, isLike: (row) => equalBytes(rowFingerprint(seed, row), fingerprint) };
}

/** Whether the answer is about this prefix: the rows are the same, or the answer lists rows of this prefix, or splits the prefix by one digit. */
function answersPrefix(one: PrefixAnswer, prefix: Uint8Array): boolean {
  switch (one.kind) {
    case 'same':
      return true;
    case 'list':
      return one.items.every(({ keyHash }) => prefix.every((digit, i) => digitAt(keyHash, i) === digit));
    case 'split':
      return prefix.length < digitsMax && one.parts.length === parts;
  }
}

/**
 * Throws Protocol if one prefix of a request includes another. Each prefix causes a scan, and one request must not make the producer scan rows twice.
 */
export function checkPrefixes(asked: readonly Pick<PrefixSummary, 'prefix'>[]): void {
  const sorted = asked.map(({ prefix }) => prefix).sort((a, b) => Buffer.compare(a, b));
  for (const [i, prefix] of sorted.entries()) {
    const before = sorted[i - 1];
    if (before && equalBytes(before, prefix.subarray(0, before.length)))
      throw new BanyanError('Protocol', `a reconcile request whose prefixes overlap at ${digits(prefix)}`);
  }
}

/** The fingerprint of one row. It depends on the seed, the key and the content. */
function rowFingerprint(seed: Uint8Array, { keyHash, content }: FeedRow): Uint8Array {
  const bytes = Buffer.allocUnsafe(seed.length + 2 * hashBytes);
  bytes.set(seed, 0);
  bytes.set(keyHash, seed.length);
  bytes.set(content!.hash, seed.length + hashBytes);
  return hash128(bytes).subarray(0, fingerprintBytes);
}

function digitAt(keyHash: Uint8Array, i: number): number {
  const byte = keyHash[i >> 1]!;
  return i % 2 === 0 ? byte >> 4 : byte & 15;
}

/** The range of key hashes that begin with these digits. */
function boundsOf(prefix: Uint8Array): HashRange {
  const from = Buffer.from(digits(prefix).padEnd(digitsMax, '0'), 'hex');
  const last = Buffer.from(digits(prefix).padEnd(digitsMax, 'f'), 'hex');
  // `to` is one byte longer than the last hash of the range, so every hash of the range is before `to`.
  return { from, to: Buffer.concat([last, Buffer.of(0)]) };
}

function digits(prefix: Uint8Array): string {
  return Array.from(prefix, (digit) => digit.toString(16)).join('');
}
