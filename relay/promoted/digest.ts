/**
 * A digest that shows whether a node has all rows of a staged placement that the release row covers. The digest is the exclusive or of the hashes of the
 * placement's object rows and of its Customizers, candidate and promoted. Each change of a row updates the digest, so the cost does not depend on the number of
 * rows. The origin writes its own digest into the release row. Rows arrive in any order and not all at once. While a last hop has a release row and lacks a row
 * that the release row covers, it must not hand out any of the other rows.
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

function isCovered(key: EntryKey | undefined): boolean {
  if (key?.type === 'auxiliary') return isCustomizer(key.object);
  return key?.type === 'object' || key?.type === 'promoted' || key?.type === 'promotedCustomizer';
}

/**
 * Call it for each change of a source's row, with the placements that the row named before the change and names after it. Only placements that have a digest
 * are updated.
 */
export function noteDigest(
  t: Transaction,
  { key, before, after }: AppliedChange,
  idsBefore: readonly PlacementId[],
  idsAfter: readonly PlacementId[],
): void {
  if (!isCovered(parseEntryKey(key))) return;
  fold(t, before, idsBefore);
  fold(t, after, idsAfter);
}

function fold(t: Transaction, content: Content | undefined, ids: readonly PlacementId[]): void {
  let hash: Uint8Array | undefined;
  for (const id of ids) {
    const digest = t.get(digestKey(id));
    if (!digest || !content) continue;
    hash ??= contentHash(content);
    t.put(digestKey(id), xor(digest, hash));
  }
}

/** Returns the digest of a placement, hex. If there is none yet, computes it from all rows of the placement. */
export function ensureDigest(t: Transaction, table: Table, id: PlacementId): string {
  const known = digestOf(t, id);
  if (known !== undefined) return known;
  let computed: Uint8Array = new Uint8Array(hashBytes);
  for (const keyHash of selectedObjects(t, id)) {
    const row = table.get(t, keyHash);
    if (!row?.content || !isCovered(parseEntryKey(table.content(t, row.content).key))) continue;
    computed = xor(computed, row.content.hash);
  }
  t.put(digestKey(id), computed);
  return hex(computed);
}

/** Returns the digest of a placement, hex. Undefined: the node has none. */
export function digestOf(reader: Reader, id: PlacementId): string | undefined {
  const digest = reader.get(digestKey(id));
  return digest && hex(digest);
}

export function forgetDigest(t: Transaction, id: PlacementId): void {
  t.remove(digestKey(id));
}

function digestKey(id: PlacementId): Uint8Array {
  return concat(prefixOf('releaseDigest'), text(id));
}

function xor(a: Uint8Array, b: Uint8Array): Uint8Array {
  return Uint8Array.from(a, (byte, index) => byte ^ b[index]!);
}
