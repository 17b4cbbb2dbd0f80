/** The fields that a space fills in at a write, and the note about these fields in the stored object (filled-in.ts). */
import type { KubeObject } from '../../object/meta.ts';
import type { Filling, WriteOptions } from '../space.ts';
import { bothNotes, type FilledIn, fieldsAdded, fieldsKept, lastAppliedOf, noteText, readNote } from './filled-in.ts';
import { inVersion } from './object-form.ts';
import { noteOfPart } from './object-parts.ts';
import type { Write } from './write.ts';

export class SpaceFilling {
  readonly #filling: Filling | undefined;

  /** `filling`: fields that are no defaults. Absent: the space fills in defaults alone. */
  constructor(filling: Filling | undefined) {
    this.#filling = filling;
  }

  /** Changes `next` in place. Returns the fields that the space has filled in and that do not travel. Undefined: none. */
  fillIn({ kind, version, key }: Write, next: KubeObject, isNew: boolean): FilledIn | undefined {
    this.#filling?.drop?.(key, next);
    const filled = kind.rules.withDefaults?.(next, version) ?? next;
    if (filled === next) return undefined;
    this.#filling?.fill(key, filled, isNew);
    const form = (object: KubeObject) => inVersion(kind, object, kind.storageVersion);
    const added = this.#travels ? fieldsAdded(form(next), form(filled)) : undefined;
    Object.assign(next, filled);
    return added;
  }

  /** The fields that a write of the subresource gives to the space alone. Undefined: none. */
  ofPart(subresource: WriteOptions['subresource']): FilledIn | undefined {
    return this.#travels ? noteOfPart(subresource) : undefined;
  }

  /** The note of the object after a write. `note`: before the write. `filled`: the fields that the space has filled in now. */
  noteOf(
    { kind, options }: Write,
    of: {
      note: string | undefined;
      old: KubeObject;
      next: KubeObject;
      filled: FilledIn | undefined;
      applied: KubeObject | undefined;
    },
  ): string | undefined {
    const { note, old, next, filled, applied } = of;
    if (note === undefined) return noteText(filled);
    // Most writes are of a status, and change nothing else.
    if (options.subresource === 'status' && !filled) return note;
    const form = (object: KubeObject) => inVersion(kind, object, kind.storageVersion);
    const given = options.subresource === undefined ? (applied ?? lastAppliedOf(next)) : undefined;
    return noteText(bothNotes(fieldsKept(readNote(note), form(old), form(next), given), filled));
  }

  /** Whether the objects of the space travel, without the fields that the space has filled in. */
  get #travels(): boolean {
    return this.#filling?.as === 'Workload';
  }
}
