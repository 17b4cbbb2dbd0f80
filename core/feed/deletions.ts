/**
 * Decides about rows that a reconciliation finds missing at the producer. A missing row does not prove a deletion: a producer whose store was emptied, or
 * restored from an older copy, lacks rows that it should have. So the consumer **holds** the rows that the producer may have lost, and all missing rows if
 * they are more than a budget. The consumer marks the held rows and keeps them; the feed goes on. When the producer has a held row again, the mark goes. When
 * a person approves, the consumer deletes the rows that are still held.
 *
 * Fingerprints and digests leave out held rows, so both ends of the feed agree while rows are held.
 */
import { hash128, hashBytes } from '../object/hash.ts';
import { asText, concat, hex, prefixRange, text, u32 } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Reader, Transaction } from '../store/store.ts';
import type { Table } from './feed.ts';

/** The budget of deletions. Missing rows are held if they are more than `entries`, and also more than `fraction` of the consumer's rows. */
export interface DeletionLimits {
  readonly entries: number;
  readonly fraction: number;
}

/** 50 rows are few enough to check by hand. A fifth of all rows is usually more than a person deletes on purpose at one time. */
export const deletionLimits: DeletionLimits = { entries: 50, fraction: 0.2 };

export interface DeletionGuard {
  readonly limits: DeletionLimits;
  wallMs(): number;
  /** True: the loss of this row would do no harm. If the producer lacks the row, it is always deleted and never held. */
  mayGo(key: string): boolean;
  /** True: the producer may lack the row because the row's origin lost it, not because somebody deleted it. */
  isLost(reader: Reader, table: Table, key: string, originRevision: number): boolean;
}

export interface HeldRows {
  /** Identifies this set of held rows. An approval contains the token. So it covers only the rows that a person has seen, and no rows that are held later. */
  readonly token: string;
  readonly sinceMs: number;
  readonly entries: number;
  /** Keys of the first held rows. */
  readonly sample: readonly string[];
}

/** Keys in the sample: a line or two to read. */
const sampleMax = 5;

/**
 * Decides which missing rows are held. `gone`: the number of rows that the producer lacks. `lost`: how many of these rows the producer may have lost. `held`:
 * the number of rows that are held already. Rows that are held already count too, so that several reconciliations share one budget.
 */
export function judge(
  found: { readonly gone: number; readonly lost: number; readonly held: number; readonly total: number },
  { entries, fraction }: DeletionLimits,
): 'all' | 'lost' | 'none' {
  const missing = found.gone + found.held;
  if (found.gone > 0 && missing > entries && missing > fraction * found.total) return 'all';
  return found.lost > 0 ? 'lost' : 'none';
}

export function readHeld(reader: Reader, table: number): HeldRows | undefined {
  const bytes = reader.get(stateKey(table));
  return bytes && (JSON.parse(asText(bytes)) as HeldRows);
}

/** Records rows as held. */
export function noteHeldRows(
  t: Transaction,
  table: number,
  rows: readonly { readonly keyHash: Uint8Array; readonly key: string }[],
  wallMs: number,
): void {
  if (rows.length === 0) return;
  const before = readHeld(t, table);
  for (const { keyHash } of rows) t.put(indexKey(table, keyHash), new Uint8Array(0));
  const entries = (before?.entries ?? 0) + rows.length;
  const sample = [...(before?.sample ?? []), ...rows.map(({ key }) => key)].slice(0, sampleMax);
  const token = hex(hash128(`${wallMs} ${entries} ${before?.token} ${sample.join(' ')}`));
  writeHeld(t, table, { token: token.slice(0, 12), sinceMs: before?.sinceMs ?? wallMs, entries, sample });
}

/** Removes the record that a row is held: the row has arrived again, or was removed. */
export function forgetHeldRow(t: Transaction, table: number, keyHash: Uint8Array, key: string): void {
  const before = readHeld(t, table);
  if (!before || !t.remove(indexKey(table, keyHash))) return;
  const entries = before.entries - 1;
  if (entries === 0) t.remove(stateKey(table));
  else writeHeld(t, table, { ...before, entries, sample: before.sample.filter((one) => one !== key) });
}

export function heldRows(reader: Reader, table: number): Uint8Array[] {
  const prefix = stateKey(table);
  return Array.from(reader.scan(prefixRange(prefix)), ([key]) => key.subarray(prefix.length)).filter(
    (keyHash) => keyHash.length === hashBytes,
  );
}

function writeHeld(t: Transaction, table: number, held: HeldRows): void {
  t.put(stateKey(table), text(JSON.stringify(held)));
}

function stateKey(table: number): Uint8Array {
  return concat(prefixOf('heldRow'), u32(table));
}

function indexKey(table: number, keyHash: Uint8Array): Uint8Array {
  return concat(stateKey(table), keyHash);
}
