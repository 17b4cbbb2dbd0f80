/**
 * An index of a placement's `q/` rows, at every node that has these rows: the objects whose candidate differs from their promoted form. With the index, the
 * last hop finds the promoted content of an object, and all objects of a release, without reading the other objects.
 */

import type { PromotedAttributes } from '../../core/entries/down-attributes.ts';
import { entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import { type PlacementId, splitPlacementId } from '../../core/entries/placement-id.ts';
import type { AppliedChange, Content, Table } from '../../core/feed/feed.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128, hashBytes } from '../../core/object/hash.ts';
import { asText, concat, prefixRange, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';

const nul = Buffer.of(0);

/** Keeps the index. Call it for each change of a source's row. */
export function noteHeld(t: Transaction, change: AppliedChange): void {
  const entry = parseEntryKey(change.key);
  if (entry?.type !== 'promoted') return;
  const key = entryKey.object(entry.source, entry.object);
  const forwardKey = concat(prefixOf('heldBack'), text(entry.id), nul, hash128(key));
  const reverseKey = concat(prefixOf('heldBy'), hash128(key), text(entry.id));
  if (change.after) {
    t.put(forwardKey, text(key));
    t.put(reverseKey, new Uint8Array(0));
  } else {
    t.remove(forwardKey);
    t.remove(reverseKey);
  }
}

/** Returns the placements that have another promoted content of the object. */
export function holders(reader: Reader, keyHash: Uint8Array): PlacementId[] {
  const prefix = concat(prefixOf('heldBy'), keyHash);
  return [...reader.scan(prefixRange(prefix))].map(([key]) => asText(key.subarray(prefix.length)));
}

/** Returns the objects of the placement whose candidate differs from the promoted form: entry keys and their hashes. */
export function* heldObjects(reader: Reader, id: PlacementId): Generator<{ keyHash: Uint8Array; key: string }> {
  const prefix = concat(prefixOf('heldBack'), text(id), nul);
  for (const [key, value] of reader.scan(prefixRange(prefix))) {
    yield { keyHash: key.subarray(prefix.length, prefix.length + hashBytes), key: asText(value) };
  }
}

/** The promoted form of an object. Without `content`, no such object was promoted. */
export interface Promoted {
  readonly content?: Content;
  readonly originRevision: number;
}

/** Returns the promoted form of an object. Undefined: the candidate is the promoted form. */
export function promotedOf(reader: Reader, table: Table, id: PlacementId, keyHash: Uint8Array): Promoted | undefined {
  const indexed = reader.get(concat(prefixOf('heldBack'), text(id), nul, keyHash));
  if (!indexed) return undefined;
  const key = asText(indexed);
  const entry = parseEntryKey(key);
  if (entry?.type !== 'object') return undefined;
  const row = table.get(reader, hash128(entryKey.promoted(id, entry.object)));
  if (!row?.content) return undefined;
  const { attributes, body } = table.content(reader, row.content);
  const { promoted, revision } = JSON.parse(asText(attributes)) as PromotedAttributes;
  if (!promoted) return { originRevision: revision };
  // These are the bytes that the object's row had when it was promoted. So an agent that has them gets nothing new.
  return { content: { key, attributes: text(stableStringify(promoted)), body }, originRevision: revision };
}

/** Returns the `q/` row of an object: its content when the placement was promoted, or the fact that there was no such object. */
export function promotedRow(id: PlacementId, of: Parameters<typeof entryKey.promoted>[1], before: Promoted): Content {
  const { name } = splitPlacementId(id);
  const { content, originRevision } = before;
  const attributes: PromotedAttributes = {
    refs: [name],
    revision: originRevision,
    ...(content ? { promoted: JSON.parse(asText(content.attributes)) } : {}),
  };
  return {
    key: entryKey.promoted(id, of),
    attributes: text(stableStringify(attributes)),
    body: content?.body ?? new Uint8Array(0),
  };
}
