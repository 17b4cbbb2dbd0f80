/** The rows that a reconciliation compares, and the comparison of a list of the producer's rows with the consumer's own rows. */
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

/** Live rows without held rows: the two ends need not agree on held rows. */
export function* rowsBetween(reader: Reader, table: TableRows, { from, to }: HashRange): Generator<FeedRow> {
  const offset = tableRange(table.id).from.length;
  for (const [key, value] of reader.scan({ from: rowKey(table.id, from), to: rowKey(table.id, to) })) {
    const row = decodeRow(key.subarray(offset), value);
    if (row.content && !row.held) yield row;
  }
}

/** The result of answers. */
export interface ReconcileFindings {
  /** Keys whose entries the consumer still has to get. */
  readonly wanted: Uint8Array[];
  /** Keys that the producer has proven not to have. */
  readonly absent: Uint8Array[];
  /** Whether the holding of a row has ended. */
  hasUnheld: boolean;
}

export function nothingFound(): ReconcileFindings {
  return { wanted: [], absent: [], hasUnheld: false };
}

/** Compares a list of the producer's rows between two bounds with the consumer's rows there, and adds the result to `found`. */
export function compareList(
  t: Transaction,
  consumer: FeedConsumer,
  bounds: HashRange,
  items: readonly Listed[],
  found: ReconcileFindings,
): void {
  const listed = new Map(items.map((item) => [hex(item.keyHash), item]));
  for (const row of rowsBetween(t, consumer, bounds)) {
    const item = listed.get(hex(row.keyHash));
    if (!item) found.absent.push(row.keyHash);
    else if (consumer.isUpToDate(t, row, item)) listed.delete(hex(row.keyHash));
  }
  // Held rows do not belong to any prefix, but the consumer has them. In a table that two parents produced in turn, all rows may be held.
  const unheld = [...listed.values()].filter((item) => consumer.unholdListed(t, item));
  for (const { keyHash } of unheld) listed.delete(hex(keyHash));
  found.wanted.push(...[...listed.values()].map(({ keyHash }) => keyHash));
  found.hasUnheld ||= unheld.length > 0;
}
