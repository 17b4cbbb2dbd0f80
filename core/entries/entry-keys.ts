/** Makes and parses the keys of entries. The registry gives the form of each key. */
import type { Content } from '../feed/feed.ts';
import { asText } from '../store/bytes.ts';
import { type EntryType, entryKinds } from './entry-kinds.ts';
import { type ArgumentsOf, type FieldsOf, type KeyForm, keyForm } from './key-form.ts';

type EntryKinds = typeof entryKinds;
/** A parsed key: the kind of entry, and the parts of the kind's form. */
export type EntryKey = {
  readonly [Type in EntryType]: { readonly type: Type } & FieldsOf<EntryKinds[Type]['form']>;
}[EntryType];

const types = Object.keys(entryKinds) as EntryType[];
const forms = Object.fromEntries(types.map((type) => [type, keyForm(entryKinds[type].form)])) as Record<
  EntryType,
  KeyForm
>;
const typeByWord = new Map(types.map((type) => [forms[type].word, type]));

/** Makes the key of an entry, with one function for each kind: `entryKey.target('center.retail/shop')`. */
export const entryKey = Object.fromEntries(types.map((type) => [type, forms[type].format])) as {
  readonly [Type in EntryType]: (...parts: ArgumentsOf<EntryKinds[Type]['form']>) => string;
};

/** The kind of an entry. Only the first word of the key decides; the rest of the key may be wrong. Undefined: this version does not know the kind. */
export function entryTypeOf(key: string): EntryType | undefined {
  const slash = key.indexOf('/');
  return typeByWord.get(slash < 0 ? key : key.slice(0, slash));
}

/** Undefined: this version does not know the kind, or the key does not have the form of its kind. A node stores unknown kinds and does not act on them. */
export function parseEntryKey(key: string): EntryKey | undefined {
  const slash = key.indexOf('/');
  const type = entryTypeOf(key);
  const fields = type && forms[type].parse(slash < 0 ? undefined : key.slice(slash + 1));
  return fields && ({ type, ...fields } as EntryKey);
}

/** The source in the key of an entry. Undefined: keys of this kind have no source. */
export function sourceOfKey(entry: EntryKey): string | undefined {
  return 'source' in entry ? entry.source : undefined;
}

/** Reads the attributes of an entry. */
export function attributesOf<T>(content: Content): T {
  return JSON.parse(asText(content.attributes)) as T;
}
