/** The record of the store's format. A node writes the record into a new store, and reads the record before all other data. */
import type { Clock } from '../runtime/clock.ts';
import { BanyanError } from '../runtime/errors.ts';
import { asText, text } from './bytes.ts';
import { prefixOf } from './keyspace.ts';
import type { Reader, Store, Transaction } from './store.ts';

/** The newest format that this program knows. Increase it when an older program could not read the data of this program, or would damage the data. */
export const currentFormat = 2;
/** The format of a store without sealed values. A program that knows no sealing must not open a store with sealed values: such a store has format 2. */
export const clearFormat = 1;

export interface FormatRecord {
  readonly format: number;
  /** An RFC 3339 time. */
  readonly createdAt: string;
}

/** Higher than every key of every keyspace. */
const endOfKeys = Buffer.alloc(2, 0xff);

/**
 * Reads the record of the format, or writes it into an empty store. Throws StoreVersion if a newer program wrote the store. Throws StoreCorrupt if the
 * record is not readable, or is missing although the store has data.
 */
export function openFormatted(store: Store, clock: Clock): FormatRecord {
  const key = prefixOf('format');
  const found = store.read((reader) => reader.get(key));
  if (!found) return store.write((t) => create(t, key, clock));
  const record = parse(asText(found));
  if (record.format > currentFormat) {
    const message = `the store has format ${record.format}, this program knows formats up to ${currentFormat}; start the newer program, or restore a backup from before the upgrade`;
    throw new BanyanError('StoreVersion', message);
  }
  return record;
}

/** Changes the record when the store begins or ceases to have sealed values. */
export function markSealed(t: Transaction, isSealed: boolean): void {
  const key = prefixOf('format');
  const found = t.get(key);
  if (!found) throw new Error('a store without a format record is marked');
  t.put(key, text(JSON.stringify({ ...parse(asText(found)), format: isSealed ? currentFormat : clearFormat })));
}

/** Whether the store has no data besides the record of its format. */
export function isFresh(reader: Reader): boolean {
  for (const _entry of reader.scan({
    from: Buffer.concat([prefixOf('format'), Buffer.of(0)]),
    to: endOfKeys,
    limit: 1,
  }))
    return false;
  return true;
}

function create(t: Transaction, key: Uint8Array, clock: Clock): FormatRecord {
  for (const _entry of t.scan({ from: key, to: endOfKeys, limit: 1 })) {
    throw new BanyanError(
      'StoreCorrupt',
      'the store has data and no format record; restore a backup, or begin with an empty directory',
    );
  }
  const record: FormatRecord = { format: clearFormat, createdAt: new Date(clock.wallMs()).toISOString() };
  t.put(key, text(JSON.stringify(record)));
  return record;
}

function parse(json: string): FormatRecord {
  const record = readJson(json);
  if (typeof record === 'object' && record !== null && 'format' in record && isFormat(record.format)) {
    return record as FormatRecord;
  }
  throw unreadable(json);
}

function isFormat(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 1;
}

function readJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw unreadable(json, error);
  }
}

function unreadable(json: string, cause?: unknown): BanyanError {
  const message = `the format record of the store is not readable: ${JSON.stringify(json.slice(0, 80))}; restore a backup, or begin with an empty directory`;
  return new BanyanError('StoreCorrupt', message, {}, { cause });
}
