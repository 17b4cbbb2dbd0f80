/**
 * Decides about rows that a reconciliation finds missing at the producer. A missing row is weak evidence: a producer whose store was restored from an older
 * copy, or emptied, lacks rows that it should have. So the consumer **holds** rows that the producer may have lost, and rows beyond a budget: it marks them
 * and keeps them, and everything else goes on. When the producer has a held row again, the holding ends. The other held rows are deleted when a person
 * approves.
 *
 * Held rows do not count as rows that the consumer has from its producer: fingerprints leave them out, so that both ends agree meanwhile.
 */
import { hash128, hashBytes } from '../object/hash.ts';
import { asText, concat, hex, prefixRange, text, u32 } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Reader, Transaction } from '../store/store.ts';
import type { Table } from './feed.ts';

/** Missing rows are held when they are more than `entries`, and more than `fraction` of the rows that the consumer has. */
export interface DeletionLimits {
  readonly entries: number;
  readonly fraction: number;
}

/** 50 rows are few enough to check by hand. A fifth is mostly more than a person changes on purpose in one go. */
export const deletionLimits: DeletionLimits = { entries: 50, fraction: 0.2 };

export interface DeletionGuard {
  readonly limits: DeletionLimits;
  wallMs(): number;
  /** The row contains nothing that could be lost: when the producer lacks it, it is deleted, whatever else is held. */
  mayGo(key: string): boolean;
  /** The producer may lack the row because its origin has lost the row, and not because somebody deleted it. */
  isLost(reader: Reader, table: Table, key: string, originRevision: number): boolean;
}

export interface HeldRows {
  /** Names this set of held rows. An approval contains the token, so it covers only rows that a person has seen, and no rows that were held later. */
  readonly token: string;
  readonly sinceMs: number;
  readonly entries: number;
  /** Keys of the first held rows. */
  readonly sample: readonly string[];
}

/** Enough for a line or two for a person. */
const sampleMax = 5;

/**
 * Which of the missing rows are held. `gone`: rows that the producer lacks. `lost`: those of them that it may have lost. `held`: rows that are held already;
 * they count, so that a budget can't be used twice.
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

/** A held row has come again, or is removed. */
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
