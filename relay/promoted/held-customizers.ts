/**
 * An index of a placement's `c/` rows, at every node that has these rows: the Customizers whose candidate differs from their promoted form. A Customizer that a
 * staged placement uses is part of its releases: for an agent without the release, objects are made with the promoted Customizer.
 */
import { edgeGroup } from '../../core/apiserver/kinds/edge-placement.ts';
import { customizerResource } from '../../core/customize/customizer.ts';
import type { PromotedCustomizerAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import { type PlacementId, splitPlacementId } from '../../core/entries/placement-id.ts';
import type { AppliedChange, Content, Table } from '../../core/feed/feed.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { ObjectKey } from '../../core/object/key.ts';
import { asText, concat, prefixRange, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import type { Promoted } from './held-back.ts';

const nul = Buffer.of(0);

export function isCustomizer({ group, resource }: ObjectKey): boolean {
  return group === edgeGroup && resource === customizerResource;
}

/** Returns `namespace/name`, as objects name the Customizer. */
export function customizerName({ namespace, name }: ObjectKey): string {
  return `${namespace}/${name}`;
}

export function customizerKey(qualifiedName: string): ObjectKey {
  const slash = qualifiedName.indexOf('/');
  const [namespace, name] = [qualifiedName.slice(0, slash), qualifiedName.slice(slash + 1)];
  return { group: edgeGroup, resource: customizerResource, namespace, name };
}

/** Keeps the index. Call it for each change of a source's row. */
export function noteHeldCustomizer(t: Transaction, change: AppliedChange): void {
  const entry = parseEntryKey(change.key);
  if (entry?.type !== 'promotedCustomizer') return;
  const storeKey = indexKey(entry.id, customizerName(entry.object));
  if (change.after) t.put(storeKey, new Uint8Array(0));
  else t.remove(storeKey);
}

/** Returns `namespace/name` of each Customizer whose candidate differs from its promoted form. */
export function heldCustomizers(reader: Reader, id: PlacementId): string[] {
  const prefix = indexKey(id, '');
  return [...reader.scan(prefixRange(prefix))].map(([key]) => asText(key.subarray(prefix.length)));
}

export function isHeldCustomizer(reader: Reader, id: PlacementId, qualifiedName: string): boolean {
  return reader.get(indexKey(id, qualifiedName)) !== undefined;
}

/** Returns the promoted form of a Customizer. Undefined: the Customizer has not changed since the promotion. */
export function promotedCustomizerOf(
  reader: Reader,
  table: Table,
  id: PlacementId,
  qualifiedName: string,
): Promoted | undefined {
  if (!isHeldCustomizer(reader, id, qualifiedName)) return undefined;
  const row = table.get(reader, hash128(entryKey.promotedCustomizer(id, customizerKey(qualifiedName))));
  if (!row?.content) return undefined;
  const content = table.content(reader, row.content);
  const { absent, revision } = attributesOf<PromotedCustomizerAttributes>(content);
  return absent ? { originRevision: revision } : { content, originRevision: revision };
}

/** Returns the `c/` row of a Customizer: its content when the placement was promoted, or the fact that there was no such Customizer. */
export function promotedCustomizerRow(id: PlacementId, key: ObjectKey, { content, originRevision }: Promoted): Content {
  const attributes: PromotedCustomizerAttributes = {
    refs: [splitPlacementId(id).name],
    revision: originRevision,
    ...(content ? {} : { absent: true }),
  };
  return {
    key: entryKey.promotedCustomizer(id, key),
    attributes: text(stableStringify(attributes)),
    body: content?.body ?? new Uint8Array(0),
  };
}

function indexKey(id: PlacementId, qualifiedName: string): Uint8Array {
  return concat(prefixOf('heldCustomizer'), text(id), nul, text(qualifiedName));
}
