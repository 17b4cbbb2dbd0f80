/**
 * Entries that do not have the form that their keys require. Such a row is stored as it came, so that both ends of the feed agree and the cursor moves on.
 * But rooms that read the table to act on it get the last valid form of the key, or nothing. The next valid form, or the removal of the key, ends the
 * quarantine.
 *
 * Bound: one record for each such row; the producer's own bounds limit the number of rows.
 */
import { asText, concat, hex, prefixRange, text, u32 } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Reader, Transaction } from '../store/store.ts';
import { dropContentReference } from './content.ts';
import type { Content, ContentReference, FeedRow, Table } from './feed.ts';

/** The fault of an entry, as a text. */
export interface EntryFlaw {
  readonly reason: string;
  /** The placements that the entry names, if they can be read. */
  readonly refs?: readonly string[];
}

/** Pure. Undefined: the entry is valid. */
export type Judge = (content: Content) => EntryFlaw | undefined;

export interface Quarantined extends EntryFlaw {
  readonly key: string;
  readonly originRevision: number;
}

/** The last valid form of a key, with its own reference to the content. */
export interface GoodForm {
  readonly revision: number;
  readonly originRevision: number;
  readonly content: ContentReference;
}

interface QuarantineRecord extends Quarantined {
  readonly good?: { readonly revision: number; readonly originRevision: number; readonly hash: string };
}

/** A reason goes into statuses, so it is one line for a person. */
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

/** Removes only the record. The caller drops the reference of its valid form. */
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

export function countQuarantined(reader: Reader, table: number): number {
  let count = 0;
  for (const _record of reader.scan(prefixRange(recordKey(table)))) count++;
  return count;
}

/** Removes the records of a dropped table, with the references of their valid forms. */
export function dropQuarantined(t: Transaction, table: number): void {
  const prefix = recordKey(table);
  for (const [key] of [...t.scan(prefixRange(prefix))]) {
    const good = goodForm(t, table, key.subarray(prefix.length));
    if (good) dropContentReference(t, good.content);
    t.remove(key);
  }
}

/** The table for rooms that act on its rows: quarantined rows are in their last valid form, or absent. */
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
