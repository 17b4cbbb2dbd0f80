/**
 * The form of ranges that peers before version 3 have: any two bounds, with a count and a fingerprint of 16 bytes. A part of a split takes 60 bytes, a
 * row of a list 42.
 */
import { hash128, hashBytes } from '../object/hash.ts';
import { BanyanError } from '../runtime/errors.ts';
import { concat, equalBytes, hex } from '../store/bytes.ts';
import type { Reader, Transaction } from '../store/store.ts';
import type { FeedConsumer } from './consumer.ts';
import type { Listed, RangeAnswer, RangeSummary, ReconcileReply } from './feed.ts';
import type { FeedProducer } from './producer.ts';
import type { Search } from './reconcile.ts';
import {
  type Bounds,
  compareList,
  type Found,
  listMax,
  nothingFound,
  parts,
  rangesPerRequest,
  rowsBetween,
} from './reconcile-rows.ts';
import type { TableRows } from './table.ts';

/** Ranges that are left to ask: 16 of each of a request's, over all depths. A producer that says that everything differs, without end, is not believed. */
const rangesMax = 65_536;
const lowest = Buffer.alloc(hashBytes);
/** One above the greatest key hash: 17 bytes, so that every hash is below it. */
const highest = Buffer.concat([Buffer.alloc(hashBytes, 0xff), Buffer.of(0)]);
const modulus = 1n << 128n;
type RangeItem = (RangeAnswer & { kind: 'list' })['items'][number];

export function summarize(reader: Reader, table: TableRows, { from, to }: Bounds): RangeSummary {
  let count = 0;
  let sum = 0n;
  for (const row of rowsBetween(reader, table, { from, to })) {
    count++;
    sum = (sum + number(hash128(concat(row.keyHash, row.content!.hash)))) % modulus;
  }
  return { from, to, count, fingerprint: Buffer.from(sum.toString(16).padStart(2 * hashBytes, '0'), 'hex') };
}

export function answerRange(reader: Reader, producer: FeedProducer, asked: RangeSummary): RangeAnswer {
  const own = summarize(reader, producer, asked);
  if (isSame(own, asked)) return { kind: 'same', range: asked };
  if (own.count > listMax) {
    return { kind: 'split', parts: cut(asked).map((part) => summarize(reader, producer, part)) };
  }
  const items = Array.from(rowsBetween(reader, producer, asked), (row) => ({
    keyHash: row.keyHash,
    contentHash: row.content!.hash,
    originRevision: row.originRevision,
  }));
  return { kind: 'list', from: asked.from, to: asked.to, items };
}

export class RangeSearch implements Search {
  readonly #consumer: FeedConsumer;
  #ranges: RangeSummary[];
  #asked: readonly RangeSummary[] = [];

  constructor(reader: Reader, consumer: FeedConsumer) {
    this.#consumer = consumer;
    this.#ranges = [summarize(reader, consumer, { from: lowest, to: highest })];
  }

  get isDone(): boolean {
    return this.#ranges.length === 0;
  }

  asks(): { readonly ranges: readonly RangeSummary[] } {
    this.#asked = this.#ranges.slice(0, rangesPerRequest);
    return { ranges: this.#asked };
  }

  take(t: Transaction, { answers }: ReconcileReply): Found {
    for (const [i, one] of answers.entries()) {
      if (!answersRange(one, this.#asked[i]!))
        throw new BanyanError(
          'Protocol',
          `a reconcile reply whose answer ${i} is not about the range that was asked for`,
        );
    }
    this.#ranges = this.#ranges.slice(this.#asked.length);
    const found = nothingFound();
    for (const one of answers) {
      if (one.kind === 'split') this.#askOn(t, one.parts);
      if (one.kind === 'list') compareList(t, this.#consumer, one, one.items.map(listed), found);
    }
    if (this.#ranges.length > rangesMax) {
      throw new BanyanError(
        'Protocol',
        `a reconciliation with ${this.#ranges.length} ranges left; at most ${rangesMax}`,
      );
    }
    return found;
  }

  #askOn(reader: Reader, theirs: readonly RangeSummary[]): void {
    for (const part of theirs) {
      const own = summarize(reader, this.#consumer, part);
      if (!isSame(own, part)) this.#ranges.push(own);
    }
  }
}

function listed({ keyHash, originRevision, contentHash }: RangeItem): Listed {
  return { keyHash, originRevision, isLike: ({ content }) => equalBytes(content!.hash, contentHash) };
}

/** An answer settles a range, lists it, or cuts it as both sides cut: so there are 32 rounds of ranges at most. */
function answersRange(one: RangeAnswer, { from, to }: Bounds): boolean {
  const isSameRange = (range: Bounds) => equalBytes(range.from, from) && equalBytes(range.to, to);
  switch (one.kind) {
    case 'same':
      return isSameRange(one.range);
    case 'list':
      return isSameRange(one) && one.items.every(({ keyHash }) => isWithin(keyHash, from, to));
    case 'split': {
      const cuts = cut({ from, to });
      const isCut = ({ from: start, to: end }: Bounds, i: number) => {
        const part = one.parts[i];
        return part !== undefined && equalBytes(part.from, start) && equalBytes(part.to, end);
      };
      return cuts.length > 1 && one.parts.length === cuts.length && cuts.every(isCut);
    }
  }
}

function isWithin(keyHash: Uint8Array, from: Uint8Array, to: Uint8Array): boolean {
  return Buffer.compare(from, keyHash) <= 0 && Buffer.compare(keyHash, to) < 0;
}

/** Throws Protocol for ranges that overlap: each is a scan, and all of them together are to be one of the table at most. */
export function checkRanges(ranges: readonly Bounds[]): void {
  const sorted = [...ranges].sort((a, b) => Buffer.compare(a.from, b.from));
  for (const [i, { from }] of sorted.entries()) {
    const before = sorted[i - 1];
    if (before && Buffer.compare(before.to, from) > 0)
      throw new BanyanError('Protocol', `a reconcile request whose ranges overlap at ${hex(from)}`);
  }
}

/** The share of all key hashes that lies in a range. */
export function widthOf(range: Bounds): number {
  const { low, high } = numbersOf(range);
  return Number(high - low) / Number(modulus);
}

/** Cuts a range of key hashes into parts of equal width. */
function cut({ from, to }: Bounds): Bounds[] {
  const { low, high } = numbersOf({ from, to });
  const at = (i: number) => low + ((high - low) * BigInt(i)) / BigInt(parts);
  const bound = (i: number) =>
    i === 0
      ? from
      : i === parts
        ? to
        : Buffer.from(
            at(i)
              .toString(16)
              .padStart(2 * hashBytes, '0'),
            'hex',
          );
  const cuts = Array.from({ length: parts }, (_, i): Bounds => ({ from: bound(i), to: bound(i + 1) }));
  return cuts.filter((part) => Buffer.compare(part.from, part.to) < 0);
}

function isSame(a: RangeSummary, b: RangeSummary): boolean {
  return a.count === b.count && equalBytes(a.fingerprint, b.fingerprint);
}

function numbersOf({ from, to }: Bounds): { readonly low: bigint; readonly high: bigint } {
  return { low: number(from), high: to.length > hashBytes ? modulus : number(to) };
}

function number(bytes: Uint8Array): bigint {
  return BigInt(`0x${hex(bytes)}`);
}
