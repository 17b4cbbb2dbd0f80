/** Rows of the registry by direction, and the fault of a key that does not have the form of its row. */

import { entryTypeOf } from './entry-keys.ts';
import type { DownKind, EntryKind, UpKind } from './entry-kind.ts';
import { type EntryType, entryKinds } from './entry-kinds.ts';

export function kindOf(type: EntryType): EntryKind {
  return entryKinds[type];
}

/** Undefined: a kind that only a child reports. */
export function downKind(type: EntryType): DownKind | undefined {
  const kind = kindOf(type);
  return kind.from === 'parent' ? kind : undefined;
}

/** Undefined: a kind that only a parent sends. */
export function upKind(type: EntryType): UpKind | undefined {
  const kind = kindOf(type);
  return kind.from === 'child' ? kind : undefined;
}

/** The fault of a key that `parseEntryKey` could not parse. Undefined: this version does not know the kind. */
export function keyFlaw(key: string): string | undefined {
  const type = entryTypeOf(key);
  if (type === undefined) return undefined;
  const { form } = kindOf(type);
  if (form.includes('{object}')) return 'the key names no object';
  return form.includes('{id}') ? 'the key names no placement' : `the key is not of the form ${form}`;
}
