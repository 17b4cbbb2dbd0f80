/**
 * Quarantine: for entries that do not have the form that their keys require. The consumer stores the row as received, so that both ends of the feed agree and
 * the cursor moves on. Rooms that act on the rows of the table get the last valid form of the key, or no row. The next valid entry for the key, or the
 * removal of the key, ends the quarantine.
 *
 * Bound: one record for each quarantined row. The producer's own limits bound the number of rows.
 */
import { asText, concat, hex, prefixRange, text, u32 } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Reader, Transaction } from '../store/store.ts';
import { dropContentReference } from './content.ts';
import type { Content, ContentReference, FeedRow, Table } from './feed.ts';

/** Describes what is wrong with an entry. */
export interface EntryFlaw {
  readonly reason: string;
  /** The placements that the entry names, if its attributes can be read. */
  readonly refs?: readonly string[];
}

/** A check of one entry. What the check reads from the store is not changed by the entry itself. Undefined: the entry is valid. */
export type Judge = (content: Content, reader: Reader) => EntryFlaw | undefined;

export interface Quarantined extends EntryFlaw {
  readonly key: string;
  readonly originRevision: number;
}

/** The last valid form of a key. The form counts as one row that names the content, so the content stays. */
export interface GoodForm {
  readonly revision: number;
  readonly originRevision: number;
  readonly content: ContentReference;
}

interface QuarantineRecord extends Quarantined {
  readonly good?: { readonly revision: number; readonly originRevision: number; readonly hash: string };
}

/** Limit for a reason, because statuses contain it: about one line to read. */
const reasonLengthMax = 300;

export function putQuarantined(
  t: Transaction,
  table: number,
  keyHash: Uint8Array,
  { reason, ...what }: Quarantined,
  good: GoodForm | undefined,
): void {
  const record: QuarantineRecord = {
    ...what,
    reason: reason.slice(0, reasonLengthMax),
    ...(good ? { good: { ...formOf(good), hash: hex(good.content.hash) } } : {}),
  };
  t.put(recordKey(table, keyHash), text(JSON.stringify(record)));
}

export function goodForm(reader: Reader, table: number, keyHash: Uint8Array): GoodForm | undefined {
  const bytes = reader.get(recordKey(table, keyHash));
  const good = bytes && (JSON.parse(asText(bytes)) as QuarantineRecord).good;
  return good && { ...formOf(good), content: { hash: Buffer.from(good.hash, 'hex') } };
}

/** Removes only the record. The caller has to drop the content reference of the valid form. */
export function removeQuarantined(t: Transaction, table: number, keyHash: Uint8Array): void {
  t.remove(recordKey(table, keyHash));
}

export function listQuarantined(reader: Reader, table: number, limit = Number.POSITIVE_INFINITY): Quarantined[] {
  const found: Quarantined[] = [];
  for (const [, value] of reader.scan(prefixRange(recordKey(table)))) {
    if (found.length >= limit) break;
    const { good: _good, ...what } = JSON.parse(asText(value)) as QuarantineRecord;
    found.push(what);
  }
  return found;
}

/** The key hashes of the quarantined rows whose key begins with this text. */
export function quarantinedRows(reader: Reader, table: number, start: string): Uint8Array[] {
  const prefix = recordKey(table);
  const found: Uint8Array[] = [];
  for (const [key, value] of reader.scan(prefixRange(prefix))) {
    if ((JSON.parse(asText(value)) as QuarantineRecord).key.startsWith(start)) found.push(key.slice(prefix.length));
  }
  return found;
}

export function countQuarantined(reader: Reader, table: number): number {
  let count = 0;
  for (const _record of reader.scan(prefixRange(recordKey(table)))) count++;
  return count;
}

/** Removes the records of a table that is dropped, and the content references of their valid forms. */
export function dropQuarantined(t: Transaction, table: number): void {
  const prefix = recordKey(table);
  for (const [key] of [...t.scan(prefixRange(prefix))]) {
    const good = goodForm(t, table, key.subarray(prefix.length));
    if (good) dropContentReference(t, good.content);
    t.remove(key);
  }
}

/** A table as rooms see it that act on its rows: quarantined rows are in their last valid form, or absent. */
export class SoundRows implements Table {
  readonly name: string;
  readonly #id: number;
  readonly #raw: Table;

  constructor(id: number, raw: Table) {
    this.name = raw.name;
    this.#id = id;
    this.#raw = raw;
  }

  get(reader: Reader, keyHash: Uint8Array): FeedRow | undefined {
    const row = this.#raw.get(reader, keyHash);
    return row?.poisoned ? this.#good(reader, row) : row;
  }

  content(reader: Reader, reference: ContentReference): Content {
    return this.#raw.content(reader, reference);
  }

  *rows(reader: Reader): Generator<FeedRow> {
    for (const raw of this.#raw.rows(reader)) {
      const row = raw.poisoned ? this.#good(reader, raw) : raw;
      if (row) yield row;
    }
  }

  #good(reader: Reader, { keyHash, held }: FeedRow): FeedRow | undefined {
    const good = goodForm(reader, this.#id, keyHash);
    return good && { keyHash, ...good, ...(held ? { held } : {}) };
  }
}

function formOf({ revision, originRevision }: { readonly revision: number; readonly originRevision: number }) {
  return { revision, originRevision };
}

function recordKey(table: number, keyHash: Uint8Array = new Uint8Array(0)): Uint8Array {
  return concat(prefixOf('quarantined'), u32(table), keyHash);
}
