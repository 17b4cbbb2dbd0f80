/**
 * Digests that show whether a node has the rows of a staged placement that the release row is about. One digest is the exclusive or of the hashes of
 * the placement's object rows, candidate and promoted; another digest is the same for its Customizers. Each change of a row updates the digest, so the
 * cost does not depend on the number of rows. The origin writes its own digests into the release row. Rows arrive in any order and not all at once.
 * While a release row is here and a row that it is about is not, a last hop must not hand out what it has.
 *
 * Each hash is 128 bits of SHA-256. Nobody gains by a collision: the rows come from the node that writes the digest.
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

/** Which rows each digest covers. The second digest is separate because some last hops know no Customizers in releases, and have only the first. */
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

/**
 * To be called for each change of a source's row, with the placements that the row named before the change and names after it. Only placements that
 * have digests are updated.
 */
export function noteDigest(
  t: Transaction,
  { key, before, after }: AppliedChange,
  idsBefore: readonly PlacementId[],
  idsAfter: readonly PlacementId[],
): void {
  const entry = parseEntryKey(key);
  const name = names.find((one) => digests[one](entry));
  if (!name) return;
  fold(t, name, before, idsBefore);
  fold(t, name, after, idsAfter);
}

function fold(t: Transaction, name: Name, content: Content | undefined, ids: readonly PlacementId[]): void {
  let hash: Uint8Array | undefined;
  for (const id of ids) {
    const storeKey = digestKey(name, id);
    const digest = t.get(storeKey);
    if (!digest || !content) continue;
    hash ??= contentHash(content);
    t.put(storeKey, xor(digest, hash));
  }
}

/** The digests of a placement. If there are none yet, they are computed from all rows of the placement. */
export function ensureDigests(t: Transaction, table: Table, id: PlacementId): Digests {
  if (!names.every((name) => t.get(digestKey(name, id)))) {
    const computed = { releaseDigest: new Uint8Array(hashBytes), customizerDigest: new Uint8Array(hashBytes) };
    for (const keyHash of selectedObjects(t, id)) {
      const row = table.get(t, keyHash);
      const entry = row?.content && parseEntryKey(table.content(t, row.content).key);
      const name = names.find((one) => digests[one](entry));
      if (row?.content && name) computed[name] = xor(computed[name], row.content.hash);
    }
    for (const name of names) t.put(digestKey(name, id), computed[name]);
  }
  return digestsOf(t, id)!;
}

/** Undefined: the node has no digests of the placement. */
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
