/** Keys of entries, made and parsed by the forms of the registry. */
import type { Content } from '../feed/feed.ts';
import { asText } from '../store/bytes.ts';
import { type EntryType, entryKinds } from './entry-kinds.ts';
import { type ArgumentsOf, type FieldsOf, type KeyForm, keyForm } from './key-form.ts';

type EntryKinds = typeof entryKinds;
/** A key, taken apart: the kind of entry, and the parts of the kind's form. */
export type EntryKey = {
  readonly [Type in EntryType]: { readonly type: Type } & FieldsOf<EntryKinds[Type]['form']>;
}[EntryType];

const types = Object.keys(entryKinds) as EntryType[];
const forms = Object.fromEntries(types.map((type) => [type, keyForm(entryKinds[type].form)])) as Record<
  EntryType,
  KeyForm
>;
const typeByWord = new Map(types.map((type) => [forms[type].word, type]));

/** The key of an entry of this kind: `entryKey.target('center.retail/shop')`. */
export const entryKey = Object.fromEntries(types.map((type) => [type, forms[type].format])) as {
  readonly [Type in EntryType]: (...parts: ArgumentsOf<EntryKinds[Type]['form']>) => string;
};

/** The kind of entry that a key is meant for, whatever else is in the key; undefined: a kind that this version does not know. */
export function entryTypeOf(key: string): EntryType | undefined {
  const slash = key.indexOf('/');
  return typeByWord.get(slash < 0 ? key : key.slice(0, slash));
}

/** Undefined: a kind that this version does not know, which is kept and passed over, or a key that is not of its kind's form. */
export function parseEntryKey(key: string): EntryKey | undefined {
  const slash = key.indexOf('/');
  const type = entryTypeOf(key);
  const fields = type && forms[type].parse(slash < 0 ? undefined : key.slice(slash + 1));
  return fields && ({ type, ...fields } as EntryKey);
}

/** The source of which an entry says something; undefined: of none. */
export function sourceOfKey(entry: EntryKey): string | undefined {
  return 'source' in entry ? entry.source : undefined;
}

/** What an entry says to the nodes on the way. */
export function attributesOf<T>(content: Content): T {
  return JSON.parse(asText(content.attributes)) as T;
}
