/**
 * Whether a node has of a staged placement what its release row speaks of: the exclusive or of the hashes of its objects' rows, candidate and promoted,
 * and of the same of its Customizers.
 * Kept with each change of a row, so that it costs the same however many there are; the origin writes its own into the release row. Rows come in
 * any order, and not all at once: between a release row and the object that it is about, a last hop must not hand out what is there.
 *
 * 128 bits of SHA-256 each; nobody gains by a collision, since the rows come from the one who writes the digest.
 */

import { type EntryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import type { PlacementId } from '../../core/entries/placement-id.ts';
import { contentHash } from '../../core/feed/content.ts';
import type { AppliedChange, Content, Table } from '../../core/feed/feed.ts';
import { hashBytes } from '../../core/object/hash.ts';
import { concat, hex, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import { selectedObjects } from '../placements/placements.ts';
import { isCustomizer } from './held-customizers.ts';

/** By what of a release each speaks; the second is apart because there are last hops that know of no Customizers in releases, and have the first alone. */
const digests = {
  releaseDigest: (key: EntryKey | undefined) => key?.type === 'object' || key?.type === 'promoted',
  customizerDigest: (key: EntryKey | undefined) =>
    key?.type === 'promotedCustomizer' || (key?.type === 'auxiliary' && isCustomizer(key.object)),
} as const;
const names = ['releaseDigest', 'customizerDigest'] as const;

export interface Digests {
  readonly digest: string;
  readonly customizerDigest: string;
}

/** Told of each change of a source's row, with the placements that it named and names; only of those that have a digest anything is kept. */
export function noteDigest(
  t: Transaction,
  { key, before, after }: AppliedChange,
  was: readonly PlacementId[],
  is: readonly PlacementId[],
): void {
  const entry = parseEntryKey(key);
  const name = names.find((one) => digests[one](entry));
  if (!name) return;
  fold(t, name, before, was);
  fold(t, name, after, is);
}

function fold(t: Transaction, name: Name, content: Content | undefined, ids: readonly PlacementId[]): void {
  let hash: Uint8Array | undefined;
  for (const id of ids) {
    const at = digestKey(name, id);
    const digest = t.get(at);
    if (!digest || !content) continue;
    hash ??= contentHash(content);
    t.put(at, xor(digest, hash));
  }
}

/** The digests of a placement, made by a look at all of its rows when there are none yet. */
export function ensureDigests(t: Transaction, table: Table, id: PlacementId): Digests {
  if (!names.every((name) => t.get(digestKey(name, id)))) {
    const made = { releaseDigest: new Uint8Array(hashBytes), customizerDigest: new Uint8Array(hashBytes) };
    for (const keyHash of selectedObjects(t, id)) {
      const row = table.get(t, keyHash);
      const entry = row?.content && parseEntryKey(table.content(t, row.content).key);
      const name = names.find((one) => digests[one](entry));
      if (row?.content && name) made[name] = xor(made[name], row.content.hash);
    }
    for (const name of names) t.put(digestKey(name, id), made[name]);
  }
  return digestsOf(t, id)!;
}

/** Undefined: nothing is known of the placement's release. */
export function digestsOf(reader: Reader, id: PlacementId): Digests | undefined {
  const [digest, customizerDigest] = names.map((name) => reader.get(digestKey(name, id)));
  return digest && customizerDigest && { digest: hex(digest), customizerDigest: hex(customizerDigest) };
}

export function forgetDigests(t: Transaction, id: PlacementId): void {
  for (const name of names) t.remove(digestKey(name, id));
}

type Name = (typeof names)[number];

function digestKey(name: Name, id: PlacementId): Uint8Array {
  return concat(prefixOf(name), text(id));
}

function xor(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(a, (byte, index) => byte ^ b[index]!);
}
