/**
 * Which values of a store are sealed: the one place that knows. Each keyspace whose values may hold the content of an object has a rule. A rule sees the
 * whole key of a row and the clear value.
 *
 * Rules look for the resource at the place where keys of objects have it, and never into bodies. So an object of another kind costs a comparison of a few
 * bytes.
 */

import { asBuffer } from '../store/bytes.ts';
import { type Keyspace, keyspace } from '../store/keyspace.ts';
import type { KeyRange } from '../store/store.ts';
import { parseSealedResource } from './encryption-config.ts';

type Rule = (key: Buffer, value: Buffer) => boolean;

const prefixBytes = 2;
const u32Bytes = 4;
/** A content begins with the length of its key (feed/content.ts). */
const keyLengthBytes = 2;

export interface SealedValues {
  /** False: no value of the keyspace of this row is ever sealed. */
  mayBe(key: Uint8Array): boolean;
  /** False: no value in this range is ever sealed. */
  mayBeIn(range: KeyRange): boolean;
  isSealed(key: Uint8Array, value: Uint8Array): boolean;
}

/** `resources`: as in a configuration, such as `secrets` and `widgets.example.com`. */
export function sealedValues(resources: readonly string[]): SealedValues {
  const rules = rulesOf(resources.map(parseSealedResource));
  return {
    mayBe: (key) => rules[numberOf(key)] !== undefined,
    mayBeIn: ({ from, to }) => numberOf(from) !== lastNumberBelow(to) || rules[numberOf(from)] !== undefined,
    isSealed: (key, value) => rules[numberOf(key)]?.(asBuffer(key), asBuffer(value)) ?? false,
  };
}

/** The keyspaces with rules, in the order of their keys: the way of a pass over everything that may be sealed. */
export const sealableKeyspaces: readonly Keyspace[] = (
  [
    'content',
    'spaceObject',
    'ownerRecord',
    'customized',
    'quarantined',
    'pieceRow',
    'formerObject',
    'endedObject',
    'formerForm',
    'tokenKey',
  ] as const
).toSorted((a, b) => keyspace[a] - keyspace[b]);

function rulesOf(resources: readonly { readonly group: string; readonly resource: string }[]): readonly Rule[] {
  // Of a key `o/SOURCE/GROUP/RESOURCE/NAMESPACE/NAME`, the last four parts are the key of an object (entries/entry-keys.ts).
  const inEntryKeys = resources.map(({ group, resource }) => Buffer.from(`/${group}/${resource}/`));
  const inObjectKeys = resources.map(({ group, resource }) => Buffer.from(`${group}/${resource}/`));
  const inSpaces = resources.map(({ group, resource }) => Buffer.from(`${group}\0${resource}\0`));
  const always: Rule = () => true;
  const byObjectKey: Rule = (key) => inObjectKeys.some((part) => hasAt(key, prefixBytes, part));
  const rules: { readonly [Space in Keyspace]?: Rule } = {
    content: (_key, value) => {
      const entryKey = value.subarray(keyLengthBytes, keyLengthBytes + value.readUInt16BE(0));
      return inEntryKeys.some((part) => entryKey.includes(part));
    },
    spaceObject: (key) => inSpaces.some((part) => hasAt(key, prefixBytes + u32Bytes, part)),
    // The message of a failed customization may quote a value of the object. The row has the key of the object's entry.
    customized: (_key, value) => inEntryKeys.some((part) => value.includes(part)),
    // The reason may quote a value of the entry, and the row does not say which object the entry is about.
    quarantined: always,
    // A piece of a content does not say what the content is.
    pieceRow: always,
    // Has the hash of the delivered body: whoever knows it can test guesses of a short secret.
    ownerRecord: byObjectKey,
    // Has uids. Without the uid, nobody can test guesses by the hash of a content, because the attributes of a content have the uid.
    formerObject: (key) => {
      const objectKeyAt = key.indexOf(0, prefixBytes) + 1;
      return inObjectKeys.some((part) => hasAt(key, objectKeyAt, part));
    },
    endedObject: byObjectKey,
    formerForm: byObjectKey,
    // The key signs tokens. It is a secret of the node itself.
    tokenKey: always,
  };
  const byNumber: Rule[] = [];
  if (resources.length === 0) return byNumber;
  for (const space of sealableKeyspaces) byNumber[keyspace[space]] = rules[space]!;
  return byNumber;
}

function numberOf(key: Uint8Array): number {
  return (key[0]! << 8) | key[1]!;
}

/** The keyspace of the last key before this one. A key of two bytes is the end of the keyspace before it. */
function lastNumberBelow(key: Uint8Array): number {
  return key.length === prefixBytes ? numberOf(key) - 1 : numberOf(key);
}

function hasAt(bytes: Buffer, at: number, part: Buffer): boolean {
  return bytes.length >= at + part.length && bytes.compare(part, 0, part.length, at, at + part.length) === 0;
}
