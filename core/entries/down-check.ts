/**
 * Checks each entry of the down feed against the registry, before any room reads the entry. A node acts only on entries that pass the check. An entry that
 * fails is quarantined (feed/quarantine.ts) and has no other effect.
 */
import * as z from 'zod';
import type { Content } from '../feed/feed.ts';
import type { EntryFlaw } from '../feed/quarantine.ts';
import { text } from '../store/bytes.ts';
import { checkedJson } from './checked-json.ts';
import { type EntryKey, parseEntryKey } from './entry-keys.ts';
import type { ChildRole } from './entry-kind.ts';
import { downKind, keyFlaw } from './entry-lookup.ts';
import { entryKeyBytesMax, name, placementIdBytesMax } from './shapes.ts';

/** `role`: the role of the node that gets the entries. */
export function downFeedJudge(role: ChildRole): (content: Content) => EntryFlaw | undefined {
  return (content) => judge(role, content);
}

function judge(role: ChildRole, content: Content): EntryFlaw | undefined {
  const { key } = content;
  const entry = parseEntryKey(key);
  const keyReason = flawOfKey(key, entry);
  if (keyReason !== undefined) return { reason: keyReason };
  const kind = entry && downKind(entry.type);
  if (!kind) return undefined;
  if (kind.to !== undefined && kind.to !== role) return { reason: `only ${kind.to}s take this entry` };
  if (!kind.attributes) return undefined;
  const attributes = checkedJson('the attributes', kind.attributes, content.attributes);
  if (typeof attributes === 'string') return { reason: attributes, ...refsIn(content.attributes) };
  const shape = kind.body?.(role, attributes);
  const body = shape && checkedJson('the body', shape, content.body);
  return typeof body === 'string' ? { reason: body, ...refsOf(attributes) } : undefined;
}

/** Describes for people what is wrong with a key. Undefined: nothing, or this version does not know the kind of entry. */
function flawOfKey(key: string, entry: EntryKey | undefined): string | undefined {
  if (text(key).length > entryKeyBytesMax) return `the key is longer than ${entryKeyBytesMax} bytes`;
  if (/\p{Cc}/u.test(key)) return 'the key has a control character';
  if (!entry) return keyFlaw(key);
  if ('id' in entry && text(entry.id).length > placementIdBytesMax) {
    return `its placement is longer than ${placementIdBytesMax} bytes`;
  }
  return undefined;
}

function refsIn(bytes: Uint8Array): { readonly refs?: readonly string[] } {
  const attributes = checkedJson('the attributes', anything, bytes);
  return typeof attributes === 'string' ? {} : refsOf(attributes);
}

const anything = z.looseObject({});
const withRefs = z.object({ refs: z.array(name) });

function refsOf(attributes: unknown): { readonly refs?: readonly string[] } {
  const found = withRefs.safeParse(attributes);
  return found.success ? found.data : {};
}
