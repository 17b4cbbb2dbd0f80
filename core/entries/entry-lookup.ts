/** Rows of the registry by direction. */
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
