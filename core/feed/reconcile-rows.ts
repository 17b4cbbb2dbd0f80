/** The rows that a reconciliation compares, and what a list of the producer's rows shows beside the consumer's own. */
import { hex } from '../store/bytes.ts';
import type { Reader, Transaction } from '../store/store.ts';
import type { FeedConsumer } from './consumer.ts';
import type { FeedRow, Listed } from './feed.ts';
import { decodeRow, rowKey, type TableRows, tableRange } from './table.ts';

/** From a key hash (included) to a key hash (excluded). */
export interface HashRange {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

/** Without what is held: that is no part of what both ends should agree on. */
export function* rowsBetween(reader: Reader, table: TableRows, { from, to }: HashRange): Generator<FeedRow> {
  const offset = tableRange(table.id).from.length;
  for (const [key, value] of reader.scan({ from: rowKey(table.id, from), to: rowKey(table.id, to) })) {
    const row = decodeRow(key.subarray(offset), value);
    if (row.content && !row.held) yield row;
  }
}

/** What answers have shown. */
export interface ReconcileFindings {
  /** Keys whose entries are to come. */
  readonly wanted: Uint8Array[];
  /** Keys that the producer has proven not to have. */
  readonly gone: Uint8Array[];
  /** Something is held no longer. */
  again: boolean;
}

export function nothingFound(): ReconcileFindings {
  return { wanted: [], gone: [], again: false };
}

/** Adds what a list says that the producer has between two bounds, beside the consumer's rows there. */
export function compareList(
  t: Transaction,
  consumer: FeedConsumer,
  bounds: HashRange,
  items: readonly Listed[],
  found: ReconcileFindings,
): void {
  const theirs = new Map(items.map((item) => [hex(item.keyHash), item]));
  for (const row of rowsBetween(t, consumer, bounds)) {
    const item = theirs.get(hex(row.keyHash));
    if (!item) found.gone.push(row.keyHash);
    else if (consumer.needsNot(t, row, item)) theirs.delete(hex(row.keyHash));
  }
  // What is held is no row of a prefix, and is here all the same: of a table that two parents took turns to produce it may be all there is.
  const again = [...theirs.values()].filter((item) => consumer.letGoOf(t, item));
  for (const { keyHash } of again) theirs.delete(hex(keyHash));
  found.wanted.push(...[...theirs.values()].map(({ keyHash }) => keyHash));
  found.again ||= again.length > 0;
}
