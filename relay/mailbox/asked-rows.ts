/**
 * Which objects of edge clusters a child was asked for. A child may report an object that was created at the edge (`up/`) only if rules of `spec.upsync` name
 * the object, of placements that are at the child. The rules are rows of the child's mailbox (`u/`), so the child had them before it reported.
 */
import { attributesOf, entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import { entryKinds } from '../../core/entries/entry-kinds.ts';
import { placementId } from '../../core/entries/placement-id.ts';
import type { UpsyncedAttributes } from '../../core/entries/up-attributes.ts';
import type { Content, Producer } from '../../core/feed/feed.ts';
import type { EntryFlaw } from '../../core/feed/quarantine.ts';
import { matchesUpsync, type UpsyncItem } from '../../core/match/upsync-item.ts';
import { parseBody } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { asText } from '../../core/store/bytes.ts';
import type { Reader } from '../../core/store/store.ts';

/** How all keys begin that this file judges. */
export const askedKeys = entryKinds.upsynced.form.slice(0, entryKinds.upsynced.form.indexOf('{'));

/** Returns what is wrong with a valid entry: the child was not asked for it. Undefined: the child was, or the entry needs no question. */
export function unaskedFlaw(reader: Reader, mailbox: Producer, content: Content): EntryFlaw | undefined {
  const entry = parseEntryKey(content.key);
  if (entry?.type !== 'upsynced') return undefined;
  const { refs, returnTo } = attributesOf<UpsyncedAttributes>(content);
  const { labels = {} } = parseBody(content.body).metadata;
  const asked = refs.map((name) => {
    const items = rulesOf(reader, mailbox, entryKey.rules(placementId(entry.source, name)));
    return { name, items: items.filter((item) => matchesUpsync(item, entry.object, labels)) };
  });
  const unasked = asked.filter(({ items }) => items.length === 0).map(({ name }) => name);
  if (refs.length === 0) return { reason: 'no placement has asked for the object: the entry names none' };
  if (unasked.length > 0)
    return {
      reason: `no rule of spec.upsync asks for the object, of these placements at this node: ${unasked.join(', ')}`,
    };
  if (returnTo === 'Center' && !asked.some(({ items }) => items.some((item) => item.returnTo === 'Center')))
    return { reason: 'no rule of spec.upsync asks to return the object to the center' };
  return undefined;
}

function rulesOf(reader: Reader, mailbox: Producer, key: string): readonly UpsyncItem[] {
  const row = mailbox.get(reader, hash128(key));
  if (!row?.content) return [];
  return (JSON.parse(asText(mailbox.content(reader, row.content).body)) as { upsync: UpsyncItem[] }).upsync;
}
