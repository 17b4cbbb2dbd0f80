/**
 * Whether a node has of a staged placement what its release row speaks of: the exclusive or of the hashes of its objects' rows, candidate and promoted.
 * Kept with each change of a row, so that it costs the same however many there are; the origin writes its own into the release row. Rows come in
 * any order, and not all at once: between a release row and the object that it is about, a last hop must not hand out what is there.
 *
 * 128 bits of SHA-256 each; nobody gains by a collision, since the rows come from the one who writes the digest.
 */
import { contentHash } from '../../core/feed/content.ts';
import type { AppliedChange, Content, Table } from '../../core/feed/feed.ts';
import { hashBytes } from '../../core/object/hash.ts';
import { concat, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import { type PlacementId, parseEntryKey } from '../../core/wire/entries.ts';
import { selectedObjects } from '../schedule/placements.ts';

/** Told of each change of a source's row, with the placements that it named and names; only of those that have a digest anything is kept. */
export function noteDigest(
  t: Transaction,
  { before, after }: AppliedChange,
  was: readonly PlacementId[],
  is: readonly PlacementId[],
): void {
  fold(t, before, was);
  fold(t, after, is);
}

function fold(t: Transaction, content: Content | undefined, ids: readonly PlacementId[]): void {
  let hash: Uint8Array | undefined;
  for (const id of ids) {
    const at = digestKey(id);
    const digest = t.get(at);
    if (!digest || !content) continue;
    hash ??= contentHash(content);
    t.put(at, xor(digest, hash));
  }
}

/** The digest of a placement, made by a look at all of its rows when there is none yet. */
export function ensureDigest(t: Transaction, table: Table, id: PlacementId): string {
  const at = digestKey(id);
  let digest = t.get(at);
  if (!digest) {
    digest = new Uint8Array(hashBytes);
    for (const keyHash of selectedObjects(t, id)) {
      const row = table.get(t, keyHash);
      if (row?.content && isCovered(table.content(t, row.content).key)) digest = xor(digest, row.content.hash);
    }
    t.put(at, digest);
  }
  return Buffer.from(digest).toString('hex');
}

export function digestOf(reader: Reader, id: PlacementId): string | undefined {
  const digest = reader.get(digestKey(id));
  return digest && Buffer.from(digest).toString('hex');
}

export function forgetDigest(t: Transaction, id: PlacementId): void {
  t.remove(digestKey(id));
}

/** What a release is about: not what its objects are made with. */
function isCovered(key: string): boolean {
  const type = parseEntryKey(key)?.type;
  return type === 'object' || type === 'promoted';
}

function digestKey(id: PlacementId): Uint8Array {
  return concat(prefixOf('releaseDigest'), text(id));
}

function xor(a: Uint8Array, b: Uint8Array): Uint8Array {
  return a.map((byte, index) => byte ^ b[index]!);
}
