/** Reads the rows that a reconciliation compares, and compares a list of the producer's rows with the consumer's own rows. */
import { hex } from '../store/bytes.ts';
import type { Reader, Transaction } from '../store/store.ts';
import type { FeedConsumer } from './consumer.ts';
import type { FeedRow, Listed } from './feed.ts';
import { decodeRow, rowKey, type TableRows, tableRange } from './table.ts';

/** A range of key hashes. `from` is included, `to` is excluded. */
export interface HashRange {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

/** The live rows of a range, without held rows: the two ends do not have to agree on held rows. */
export function* rowsBetween(reader: Reader, table: TableRows, { from, to }: HashRange): Generator<FeedRow> {
  const offset = tableRange(table.id).from.length;
  for (const [key, value] of reader.scan({ from: rowKey(table.id, from), to: rowKey(table.id, to) })) {
    const row = decodeRow(key.subarray(offset), value);
    if (row.content && !row.held) yield row;
  }
}

/** The findings of the consumer from one reply. */
export interface ReconcileFindings {
  /** Keys whose entries the consumer still has to fetch. */
  readonly wanted: Uint8Array[];
  /** Keys that the producer certainly lacks: the list of their prefix does not contain them. */
  readonly absent: Uint8Array[];
  /** Whether a row is no longer held, because the producer has it again. */
  hasUnheld: boolean;
}

export function nothingFound(): ReconcileFindings {
  return { wanted: [], absent: [], hasUnheld: false };
}

/** Compares a list of the producer's rows in a range with the consumer's rows in this range. Adds the result to `found`. */
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
  // `rowsBetween` leaves out held rows, but the consumer has them, so they need no fetch. In a table that two parents produced in turn, all rows may be held.
  const unheld = [...listed.values()].filter((item) => consumer.unholdListed(t, item));
  for (const { keyHash } of unheld) listed.delete(hex(keyHash));
  found.wanted.push(...[...listed.values()].map(({ keyHash }) => keyHash));
  found.hasUnheld ||= unheld.length > 0;
}
