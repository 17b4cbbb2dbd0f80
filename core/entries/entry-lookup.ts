/** Finds rows of the registry for one direction, and describes what is wrong with a key that does not have the form of its row. */

import { entryTypeOf } from './entry-keys.ts';
import type { DownKind, EntryKind, UpKind } from './entry-kind.ts';
import { type EntryType, entryKinds } from './entry-kinds.ts';

export function kindOf(type: EntryType): EntryKind {
  return entryKinds[type];
}

/** The row of a kind that a parent sends. Undefined: only a child reports entries of this kind. */
export function downKind(type: EntryType): DownKind | undefined {
  const kind = kindOf(type);
  return kind.from === 'parent' ? kind : undefined;
}

/** The row of a kind that a child reports. Undefined: only a parent sends entries of this kind. */
export function upKind(type: EntryType): UpKind | undefined {
  const kind = kindOf(type);
  return kind.from === 'child' ? kind : undefined;
}

/** Describes what is wrong with a key that `parseEntryKey` could not parse. Undefined: this version does not know the kind. */
export function keyFlaw(key: string): string | undefined {
  const type = entryTypeOf(key);
  if (type === undefined) return undefined;
  const { form } = kindOf(type);
  if (form.includes('{object}')) return 'the key names no object';
  return form.includes('{id}') ? 'the key names no placement' : `the key is not of the form ${form}`;
}
