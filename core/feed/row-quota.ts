/**
 * The quota of a consumer: how many rows, and how many bytes of contents, the producer may have in the table. A row beyond the quota is refused: the table keeps
 * its former state of the key, the cursor goes on, and the session lives. Refused rows are not stored, so they cost nothing. When there is room again, a
 * reconciliation brings them.
 */
import { Buffer } from 'node:buffer';
import { asText, concat, text, u32 } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import { removePrefix } from '../store/remove-prefix.ts';
import type { Reader, Transaction } from '../store/store.ts';
import type { Content } from './feed.ts';

export interface RowQuota {
  readonly entries: number;
  /** Bytes of keys, attributes and bodies. */
  readonly bytes: number;
}

/** Rows were refused, and the table lacks them. */
export interface Shortage {
  /** Number of refused rows since the shortage began; a row counts each time that it arrives. */
  readonly refused: number;
  /** The key of the newest refused row, and why it was refused. */
  readonly key: string;
  readonly reason: string;
  /** The usage when the newest row was refused, and the quota at that time. */
  readonly used: RowQuota;
  readonly quota: RowQuota;
}

/** Limit for quarantined rows of one producer: a change of what the parent asks for judges all of them again, in about 0.1 s. */
export const quarantinedMax = 10_000;

export interface RowUsage {
  /** If a version that does not count has changed the table, this is another number than the table has. */
  readonly entries: number;
  readonly bytes: number;
  readonly quarantined: number;
  readonly shortage?: Shortage | undefined;
}

export const noUsage: RowUsage = { entries: 0, bytes: 0, quarantined: 0 };

export function contentBytes({ key, attributes, body }: Content): number {
  return Buffer.byteLength(key) + attributes.length + body.length;
}

/** Undefined: the table is new, or a version that does not count has filled it. */
export function readUsage(reader: Reader, table: number): RowUsage | undefined {
  const bytes = reader.get(usageKey(table));
  return bytes && (JSON.parse(asText(bytes)) as RowUsage);
}

export function writeUsage(t: Transaction, table: number, usage: RowUsage): void {
  t.put(usageKey(table), text(JSON.stringify(usage)));
}

export function dropUsage(t: Transaction, table: number): void {
  removePrefix(t, usageKey(table));
}

/** Returns why a row does not fit. Undefined: it fits. A row that becomes no larger always fits, so that a full table goes on changing. */
export function beyondQuota(used: RowQuota, change: RowQuota, quota: RowQuota): string | undefined {
  if (change.entries > 0 && used.entries + change.entries > quota.entries)
    return `the quota of ${quota.entries} entries is used`;
  if (change.bytes > 0 && used.bytes + change.bytes > quota.bytes)
    return `${used.bytes} of the quota of ${quota.bytes} bytes are used, and the entry needs ${change.bytes}`;
  return undefined;
}

/** Returns whether refused rows may fit now: the table has become smaller, or the quota larger. */
export function mayFitNow({ used, quota }: Shortage, usedNow: RowQuota, quotaNow: RowQuota): boolean {
  return (
    usedNow.entries < used.entries ||
    usedNow.bytes < used.bytes ||
    quotaNow.entries > quota.entries ||
    quotaNow.bytes > quota.bytes
  );
}

function usageKey(table: number): Uint8Array {
  return concat(prefixOf('rowUsage'), u32(table));
}
