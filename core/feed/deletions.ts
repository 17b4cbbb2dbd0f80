/**
 * What becomes of rows that a reconciliation finds the producer to lack. Absence is weak evidence: a producer that was put back to an older copy, or
 * emptied, lacks what it should have. So rows that it may have lost, and more rows at once than a budget, are **held**: they stay, are marked, and
 * everything else goes on. A held row that the producer has again is held no longer; the others go when a person releases them.
 *
 * Held rows are no part of what the consumer has of its producer: fingerprints leave them out, so that both ends agree meanwhile.
 */
import { hash128, hashBytes } from '../object/hash.ts';
import { asText, concat, hex, prefixRange, text, u32 } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Reader, Transaction } from '../store/store.ts';
import type { Table } from './feed.ts';

/** Deletions by absence are held when they are more than `entries` and more than `fraction` of what the consumer has. */
export interface DeletionLimits {
  readonly entries: number;
  readonly fraction: number;
}

/** Few enough to look through by hand, and a fifth: what a person changes on purpose in one go is mostly less. */
export const deletionLimits: DeletionLimits = { entries: 50, fraction: 0.2 };

export interface DeletionGuard {
  readonly limits: DeletionLimits;
  wallMs(): number;
  /** The row stands for nothing that could be lost: without it in the producer it goes, whatever else is held. */
  mayGo(key: string): boolean;
  /** The producer may lack the row because its origin has lost it, and not because it was deleted. */
  isLost(reader: Reader, table: Table, key: string, originRevision: number): boolean;
}

export interface HeldRows {
  /** Of this holding: a release names it, so that it is for what a person has seen and for nothing that came to it later. */
  readonly token: string;
  readonly sinceMs: number;
  readonly entries: number;
  /** Keys of the first of them. */
  readonly sample: readonly string[];
}

/** A line or two for a person. */
const sampleMax = 5;

/** Which of the rows that the producer lacks are held. What is held already counts: a budget can't be used twice. */
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

/** Marks rows as held; their keys beside their hashes. */
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

/** The row has come again, or goes. */
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
