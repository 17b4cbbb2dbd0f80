/**
 * Contents: key, attributes and body of entries, once per store under their hash, with the number of rows that name each. A record is
 * `u16 key length, key, u32 attributes length, attributes, body`; the lengths make the hash of a record that of its parts.
 */
import { Buffer } from 'node:buffer';
import { hash128 } from '../object/hash.ts';
import { asBuffer, asText, hex, readU32 } from '../store/bytes.ts';
import { type Keyspace, prefixOf } from '../store/keyspace.ts';
import type { Reader, Transaction } from '../store/store.ts';
import type { Content, ContentReference } from './feed.ts';

/** Of every entry that comes and goes: a single allocation. */
export function encodeContent({ key, attributes, body }: Content): Uint8Array {
  const keyLength = Buffer.byteLength(key);
  const attributesAt = 2 + keyLength + 4;
  const record = Buffer.allocUnsafe(attributesAt + attributes.length + body.length);
  record.writeUInt16BE(keyLength, 0);
  record.write(key, 2);
  record.writeUInt32BE(attributes.length, 2 + keyLength);
  record.set(attributes, attributesAt);
  record.set(body, attributesAt + attributes.length);
  return record;
}

export function decodeContent(record: Uint8Array): Content {
  const keyLength = asBuffer(record).readUInt16BE(0);
  const attributesAt = 2 + keyLength + 4;
  const bodyAt = attributesAt + readU32(record, 2 + keyLength);
  return {
    key: asText(record.subarray(2, 2 + keyLength)),
    attributes: record.subarray(attributesAt, bodyAt),
    body: record.subarray(bodyAt),
  };
}

export function contentHash(content: Content): Uint8Array {
  return hash128(encodeContent(content));
}

/** A broken reference is a broken invariant: the process ends rather than serve a wrong answer. */
export function readContent(reader: Reader, { hash }: ContentReference): Content {
  const record = reader.get(contentKey(hash));
  if (!record) throw new Error(`the content ${hex(hash)} is named by a row and not there`);
  return decodeContent(record);
}

/** A content as it is stored: made once by who compares the hash first. */
export interface ContentRecord extends ContentReference {
  readonly record: Uint8Array;
}

export function recordOf(content: Content): ContentRecord {
  const record = encodeContent(content);
  return { record, hash: hash128(record) };
}

/** Stores the content, counted once more. */
export function storeContent(t: Transaction, { record, hash }: ContentRecord): ContentReference {
  if (t.count(countKey(hash), 1) === 1) t.put(contentKey(hash), record);
  return { hash };
}

export function retainContent(t: Transaction, reference: ContentReference): void {
  if (t.count(countKey(reference.hash), 1) === 1) throw new Error('a content that nobody names was referred to');
}

/** One row less; the last one takes the content with it. */
export function releaseContent(t: Transaction, reference: ContentReference): void {
  if (t.count(countKey(reference.hash), -1) === 0) t.remove(contentKey(reference.hash));
}

/** Rows that name it. */
export function referenceCount(t: Transaction, { hash }: ContentReference): number {
  return t.count(countKey(hash), 0);
}

function contentKey(hash: Uint8Array): Uint8Array {
  return prefixedKey('content', hash);
}

function countKey(hash: Uint8Array): Uint8Array {
  return prefixedKey('contentReferences', hash);
}

function prefixedKey(space: Keyspace, hash: Uint8Array): Uint8Array {
  const key = Buffer.allocUnsafe(2 + hash.length);
  key.set(prefixOf(space), 0);
  key.set(hash, 2);
  return key;
}
