/**
 * Contents: key, attributes and body of entries. The store has each content once, under its hash, with the number of rows that name it. A record is `u16 key
 * length, key, u32 attributes length, attributes, body`. Because of the two lengths, different parts never give the same record. So the hash of a record
 * identifies the parts.
 */
import { Buffer, isUtf8 } from 'node:buffer';
import { hash128 } from '../object/hash.ts';
import { BanyanError } from '../runtime/errors.ts';
import { asBuffer, asText, hex, readU32, u32Bytes } from '../store/bytes.ts';
import { type Keyspace, prefixOf } from '../store/keyspace.ts';
import type { Reader, Transaction } from '../store/store.ts';
import { type Content, type ContentReference, keyBytesMax } from './feed.ts';

const keyLengthBytes = 2;

/** Runs for every entry that is received or sent, so it makes a single allocation. */
export function encodeContent({ key, attributes, body }: Content): Uint8Array {
  const keyLength = Buffer.byteLength(key);
  const attributesAt = keyLengthBytes + keyLength + u32Bytes;
  const record = Buffer.allocUnsafe(attributesAt + attributes.length + body.length);
  record.writeUInt16BE(keyLength, 0);
  record.write(key, keyLengthBytes);
  record.writeUInt32BE(attributes.length, keyLengthBytes + keyLength);
  record.set(attributes, attributesAt);
  record.set(body, attributesAt + attributes.length);
  return record;
}

export function decodeContent(record: Uint8Array): Content {
  const keyLength = asBuffer(record).readUInt16BE(0);
  const attributesAt = keyLengthBytes + keyLength + u32Bytes;
  const bodyAt = attributesAt + readU32(record, keyLengthBytes + keyLength);
  return {
    key: asText(record.subarray(keyLengthBytes, keyLengthBytes + keyLength)),
    attributes: record.subarray(attributesAt, bodyAt),
    body: record.subarray(bodyAt),
  };
}

/** Decodes a record that a peer has sent. Throws Protocol if the bytes are not a record of a content, or if the key is too long or no UTF-8. */
export function contentOfPeer(record: Uint8Array): Content {
  const flaw = flawOf(record);
  if (flaw) throw new BanyanError('Protocol', `a content of ${record.length} bytes ${flaw}`);
  return decodeContent(record);
}

/** Describes what is wrong with a record. Checks each length before it reads the part, so it never reads beyond the record. */
function flawOf(record: Uint8Array): string | undefined {
  if (record.length < keyLengthBytes + u32Bytes) return 'that is shorter than its two lengths';
  const keyLength = asBuffer(record).readUInt16BE(0);
  if (keyLength > keyBytesMax) return `with a key of ${keyLength} bytes; at most ${keyBytesMax}`;
  const attributesAt = keyLengthBytes + keyLength + u32Bytes;
  if (attributesAt > record.length) return `that ends within its key of ${keyLength} bytes`;
  const attributesLength = readU32(record, keyLengthBytes + keyLength);
  if (attributesAt + attributesLength > record.length) return `that ends within its ${attributesLength} of attributes`;
  // If a key is not UTF-8, decoding and encoding change it. The record would then have another hash.
  return isUtf8(record.subarray(keyLengthBytes, keyLengthBytes + keyLength))
    ? undefined
    : 'with a key that is no UTF-8';
}

export function contentHash(content: Content): Uint8Array {
  return hash128(encodeContent(content));
}

/** Every content that a row names must exist. If one is missing, the store is broken: the error ends the process, which is better than a wrong answer. */
export function readContent(reader: Reader, { hash }: ContentReference): Content {
  const record = reader.get(contentKey(hash));
  if (!record) throw new Error(`the content ${hex(hash)} is named by a row and not there`);
  return decodeContent(record);
}

/** A content in its stored form, with its hash. A caller that compares the hash first, and stores the content then, needs to encode it only once. */
export interface ContentRecord extends ContentReference {
  readonly record: Uint8Array;
}

export function contentRecordOf(content: Content): ContentRecord {
  const record = encodeContent(content);
  return { record, hash: hash128(record) };
}

/** Stores the content, or counts one more row for a stored content. */
export function storeContent(t: Transaction, { record, hash }: ContentRecord): ContentReference {
  if (t.count(countKey(hash), 1) === 1) t.put(contentKey(hash), record);
  return { hash };
}

export function retainContent(t: Transaction, reference: ContentReference): void {
  if (t.count(countKey(reference.hash), 1) === 1) throw new Error('a content that nobody names was referred to');
}

/** Counts one row less. After the last row, removes the content. */
export function dropContentReference(t: Transaction, reference: ContentReference): void {
  if (t.count(countKey(reference.hash), -1) === 0) t.remove(contentKey(reference.hash));
}

/** The number of rows that name the content. */
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
