/** Reads the rows of a store as the registry of prefixes describes them, without the readers of the product. */
import { createHash } from 'node:crypto';
import { hash128 } from '../../../core/object/hash.ts';
import { keyspace } from '../../../core/store/keyspace.ts';
import type { MemoryStore } from '../../../core/store/memory/memory-store.ts';
import type { Reader } from '../../../core/store/store.ts';
import type { Entry } from '../../../core/wire/generated/mesh.ts';

export interface RowSeen {
  readonly revision: number;
  readonly originRevision: number;
  /** The hash of the content as hex digits. Absent: a tombstone. */
  readonly content?: string;
}

/**
 * A revision later than any clock of the simulation. A higher revision is not a write of a space, whichever peer sends it, and keeps no row out
 * (docs/protocol.md, "Feeds").
 */
export const revisionMax = 2 ** 46;

export interface ContentSeen {
  readonly key: string;
  readonly attributes: Buffer;
  readonly body: Buffer;
}

export interface TupleSeen {
  readonly epoch: string;
  readonly incarnation: string;
  readonly cursor: number;
  readonly seenHead: number;
}

/** The revision of each source, keyed by source. */
export type Marks = Readonly<Record<string, number>>;

export function marksOf(value: Uint8Array): { own: Marks; complete: Marks } {
  return JSON.parse(Buffer.from(value).toString()) as { own: Marks; complete: Marks };
}

export function prefix(space: keyof typeof keyspace): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(keyspace[space]);
  return bytes;
}

export function isIn(key: Uint8Array, space: keyof typeof keyspace): boolean {
  return key[0] === keyspace[space] >> 8 && key[1] === (keyspace[space] & 0xff);
}

/** A store, read as a whole at one time. */
export class Rows {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  static of<T>(store: MemoryStore, look: (rows: Rows) => T): T {
    return store.read((reader) => look(new Rows(reader)));
  }

  table(name: string): number | undefined {
    const found = this.#reader.get(Buffer.concat([prefix('tableName'), Buffer.from(name)]));
    return found && Buffer.from(found).readUInt32BE(0);
  }

  /** The rows of a table, keyed by key hash as hex digits. */
  rows(table: number): Map<string, RowSeen> {
    const from = at('tableRow', table);
    const found = new Map<string, RowSeen>();
    for (const [key, value] of this.#reader.scan({ from, to: at('tableRow', table + 1) })) {
      found.set(Buffer.from(key.subarray(from.length)).toString('hex'), rowOf(value));
    }
    return found;
  }

  /** All rows of a table, as if they had just been written. */
  written(table: number): { readonly key: Buffer; readonly value: Buffer }[] {
    const all = this.#reader.scan({ from: at('tableRow', table), to: at('tableRow', table + 1) });
    return Array.from(all, ([key, value]) => ({ key: Buffer.from(key), value: Buffer.from(value) }));
  }

  row(table: number, keyHash: Uint8Array): RowSeen | undefined {
    const found = this.#reader.get(Buffer.concat([at('tableRow', table), keyHash]));
    return found && rowOf(found);
  }

  head(table: number): number {
    const found = this.#reader.get(Buffer.concat([at('producerState', table), Buffer.from('head')]));
    return found ? Buffer.from(found).readUIntBE(0, 6) : 0;
  }

  /** The cursor up to which the consumer of this producer has acknowledged the feed. */
  acknowledged(table: number): number {
    const found = this.#reader.get(Buffer.concat([at('producerState', table), Buffer.from('progress')]));
    return found ? Buffer.from(found).readUIntBE(0, 6) : 0;
  }

  epoch(table: number): string | undefined {
    const found = this.#reader.get(at('producerState', table));
    return found && (JSON.parse(Buffer.from(found).toString()) as { epoch: string }).epoch;
  }

  tuple(table: number): TupleSeen | undefined {
    const found = this.#reader.get(at('consumerState', table));
    if (!found) return undefined;
    // The epoch follows the digest, which has 22 bytes, and the numbers.
    const record = Buffer.from(found);
    const epochEnd = 35 + record[34]!;
    return {
      epoch: record.toString('latin1', 35, epochEnd),
      incarnation: record.toString('latin1', epochEnd),
      cursor: record.readUIntBE(22, 6),
      seenHead: record.readUIntBE(28, 6),
    };
  }

  sessionRecord(path: string): Uint8Array | undefined {
    return this.#reader.get(Buffer.concat([prefix('session'), Buffer.from(path)]));
  }

  session(path: string): { sessionSequence: number } | undefined {
    const found = this.sessionRecord(path);
    return found && (JSON.parse(Buffer.from(found).toString()) as { sessionSequence: number });
  }

  watermarks(): { own: Marks; complete: Marks } {
    const found = this.#reader.get(prefix('watermarks'));
    return found ? marksOf(found) : { own: {}, complete: {} };
  }

  /** The parent's decision about the replicas with this name. */
  replicaGroup(name: string): { requiredTerms: readonly number[]; reportedTerms?: readonly number[] } | undefined {
    const found = this.#reader.get(Buffer.concat([prefix('replicaGroup'), Buffer.from(name)]));
    return (
      found &&
      (JSON.parse(Buffer.from(found).toString()) as {
        requiredTerms: readonly number[];
        reportedTerms?: readonly number[];
      })
    );
  }

  /** The replica to which a child belongs. */
  replicaChild(name: string, child: string): { at: number; sequence: number; gone?: true } | undefined {
    const found = this.get('replicaChild', `${name}\0${child}`);
    return found && (JSON.parse(found.toString()) as { at: number; sequence: number; gone?: true });
  }

  /** Key hashes, as hex digits, of the rows that a consumer keeps although its producer lacks them. The rows stay until a person approves their deletion. */
  heldHashes(table: string): Set<string> {
    const id = this.table(table);
    if (id === undefined) return new Set();
    const from = at('heldRow', id);
    const keys = Array.from(this.#reader.scan({ from, to: at('heldRow', id + 1) }), ([key]) => key);
    // The row with the id of the table alone has the data about all held rows.
    const rows = keys.filter((key) => key.length > from.length);
    return new Set(rows.map((key) => Buffer.from(key.subarray(from.length)).toString('hex')));
  }

  /** The keys of the held entries. */
  heldKeys(table: string): string[] {
    const id = this.table(table);
    return [...this.heldHashes(table)].flatMap((hash) => {
      const content = id === undefined ? undefined : this.row(id, Buffer.from(hash, 'hex'))?.content;
      return content === undefined ? [] : [this.keyOf(content)];
    });
  }

  /** The attributes of the live row of a key. */
  attributes<T>(table: string, key: string): T | undefined {
    const id = this.table(table);
    const content = id === undefined ? undefined : this.row(id, hashOfKey(key))?.content;
    if (content === undefined) return undefined;
    const record = this.#reader.get(Buffer.concat([prefix('content'), Buffer.from(content, 'hex')]));
    return record && (JSON.parse(partsOf(record).attributes) as T);
  }

  /** Bodies of the live rows whose key has this beginning, keyed by the entry key. */
  bodies(table: string, begin: string): Map<string, string> {
    const found = new Map<string, string>();
    const id = this.table(table);
    for (const { content } of id === undefined ? [] : this.rows(id).values()) {
      if (content === undefined) continue;
      const record = this.#reader.get(Buffer.concat([prefix('content'), Buffer.from(content, 'hex')]));
      const parts = record && partsOf(record);
      if (parts?.key.startsWith(begin)) found.set(parts.key, parts.body);
    }
    return found;
  }

  /** The entry key of a content, which its hash names. */
  keyOf(content: string): string {
    return this.content(content)?.key ?? '(no content)';
  }

  /** The content of a row, by the table's name and the key of the entry. */
  entry(table: string, key: string): ContentSeen | undefined {
    const id = this.table(table);
    const content = id === undefined ? undefined : this.row(id, hash128(key))?.content;
    return content === undefined ? undefined : this.content(content);
  }

  content(hash: string): ContentSeen | undefined {
    const found = this.#reader.get(Buffer.concat([prefix('content'), Buffer.from(hash, 'hex')]));
    if (!found) return undefined;
    const bytes = Buffer.from(found);
    const keyEnd = 2 + bytes.readUInt16BE(0);
    const bodyAt = keyEnd + 4 + bytes.readUInt32BE(keyEnd);
    return {
      key: bytes.toString('utf8', 2, keyEnd),
      attributes: bytes.subarray(keyEnd + 4, bodyAt),
      body: bytes.subarray(bodyAt),
    };
  }

  /** The names of the tables, keyed by their number. */
  tables(): Map<number, string> {
    const from = prefix('tableName');
    const to = Buffer.from(from);
    to.writeUInt16BE(to.readUInt16BE() + 1);
    const found = new Map<number, string>();
    for (const [key, value] of this.#reader.scan({ from, to })) {
      found.set(Buffer.from(value).readUInt32BE(0), Buffer.from(key).toString('utf8', from.length));
    }
    return found;
  }

  get(space: keyof typeof keyspace, rest: string): Buffer | undefined {
    const found = this.#reader.get(Buffer.concat([prefix(space), Buffer.from(rest)]));
    return found && Buffer.from(found);
  }
}

/** The hash of an entry key, as rows have it. */
export function hashOfKey(key: string): Buffer {
  return createHash('sha256').update(key).digest().subarray(0, 16);
}

/** Parses a content record: see docs/protocol.md. */
function partsOf(record: Uint8Array): { key: string; attributes: string; body: string } {
  const bytes = Buffer.from(record);
  const attributesAt = 2 + bytes.readUInt16BE(0) + 4;
  const bodyAt = attributesAt + bytes.readUInt32BE(attributesAt - 4);
  return {
    key: bytes.toString('utf8', 2, attributesAt - 4),
    attributes: bytes.toString('utf8', attributesAt, bodyAt),
    body: bytes.toString('utf8', bodyAt),
  };
}

function at(space: keyof typeof keyspace, table: number): Buffer {
  const id = Buffer.alloc(4);
  id.writeUInt32BE(table);
  return Buffer.concat([prefix(space), id]);
}

export function rowOf(value: Uint8Array): RowSeen {
  const bytes = Buffer.from(value);
  const row = { revision: bytes.readUIntBE(0, 6), originRevision: bytes.readUIntBE(6, 6) };
  return bytes.length > 12 ? { ...row, content: bytes.toString('hex', 12, 28) } : row;
}

/** The id of the table in a key: 4 bytes after the prefix. */
export function tableIdOf(key: Uint8Array): number {
  return Buffer.from(key).readUInt32BE(2);
}

/** The hash of an entry's content, whether the entry has the content itself or the content was sent in pieces before. */
export function hashOf(entry: Entry): string {
  return entry.pieces.length > 0 ? entry.pieces.toString('hex') : contentHashOf(entry);
}

/** The hash of the content of an entry, as rows name it. It covers `u16 key length, key, u32 attributes length, attributes, body`. */
export function contentHashOf({ key, attributes, body }: Pick<Entry, 'key' | 'attributes' | 'body'>): string {
  const keyBytes = Buffer.from(key);
  const lengths = Buffer.alloc(6);
  lengths.writeUInt16BE(keyBytes.length, 0);
  lengths.writeUInt32BE(attributes.length, 2);
  const record = Buffer.concat([lengths.subarray(0, 2), keyBytes, lengths.subarray(2), attributes, body]);
  return createHash('sha256').update(record).digest('hex').slice(0, 32);
}
