import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  bothNotes,
  type FilledIn,
  fieldsAdded,
  fieldsKept,
  noteField,
  noteText,
  readNote,
  takeNote,
  withoutFilledIn,
} from '../../../../../core/apiserver/verbs/filled-in.ts';
import { afterFirstMetadataText, canonicalBytes, parseBody } from '../../../../../core/object/canonical.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';

const step = fc.string({ unit: fc.constantFrom('a', '-', '/', '.', '=', 'é'), minLength: 1, maxLength: 4 });
const { note: anyNote } = fc.letrec<{ note: FilledIn; leaf: FilledIn | 1 }>((tie) => ({
  leaf: fc.oneof({ maxDepth: 3 }, fc.constant<1>(1), tie('note')),
  note: fc.dictionary(step, tie('leaf'), { minKeys: 1, maxKeys: 3 }) as fc.Arbitrary<FilledIn>,
}));
const shown = (bytes: Uint8Array) =>
  `{"metadata":{${Buffer.from(bytes.subarray(afterFirstMetadataText(bytes, noteField)))}`;
const object = (metadata: object = {}): KubeObject => ({ apiVersion: 'v1', kind: 'Thing', metadata, spec: { a: 1 } });

describe('a note', () => {
  it('is stored and read again whatever the names, and cut out of the bytes', () => {
    fc.assert(
      fc.property(anyNote, (note) => {
        const bytes = canonicalBytes(object({ annotations: { a: 'b' }, [noteField]: noteText(note) }));
        expect(readNote(takeNote(parseBody(bytes))!)).toEqual(note);
        const plain = canonicalBytes(object({ annotations: { a: 'b' } }));
        expect(shown(bytes)).toBe(Buffer.from(plain).toString());
      }),
    );
  });

  it.each(["it's", '"', '\\', "\\'"])('may have the name %s', (name) => {
    expect(noteText({ [name]: 1 })).not.toContain('"');
    expect(readNote(noteText({ [name]: 1 })!)).toEqual({ [name]: 1 });
  });

  it('is the only metadata of an object without any', () => {
    const bytes = canonicalBytes(object({ [noteField]: noteText({ a: 1 }) }));
    expect(shown(bytes)).toBe(Buffer.from(canonicalBytes(object())).toString());
  });

  it('is no annotation of the same name', () => {
    const bytes = canonicalBytes(object({ annotations: { [noteField]: 'x' } }));
    expect(shown(bytes)).toBe(Buffer.from(bytes).toString());
  });
});

describe('the fields of a note', () => {
  const before = { spec: { list: [{ name: 'x' }, { port: 1 }, { port: 2, name: '' }], given: '' } };
  const after = {
    spec: {
      list: [
        { name: 'x', a: 1 },
        { port: 1, b: 2 },
        { port: 2, name: '', b: 3 },
      ],
      given: 'now',
      more: { c: 1 },
    },
  };
  const note = { spec: { list: { '=x': { a: 1 }, 1: { b: 1 }, 2: { b: 1 } }, given: 1, more: 1 } } as const;

  it('are those that a space has added, by the names of items', () => {
    expect(fieldsAdded(before, after)).toEqual(note);
    expect(fieldsAdded(after, after)).toBeUndefined();
  });

  it('leave what was written', () => {
    const stored = { ...object({ name: 'n', [noteField]: noteText(note) }), ...after } as KubeObject;
    const { given: _, ...written } = before.spec;
    expect(withoutFilledIn(stored)).toMatchObject({ metadata: { name: 'n' }, spec: written });
  });

  it('leave fields that have the names of members of every JavaScript object', () => {
    const spec = { constructor: { length: 2, name: 'x' } };
    const stored = { ...object({ [noteField]: noteText({ spec: { given: 1 } }) }), spec: { ...spec, given: 'now' } };
    expect(withoutFilledIn(stored).spec).toEqual(spec);
    expect(bothNotes({ a: 1 }, { constructor: { b: 1 } } as unknown as FilledIn)).toEqual({
      a: 1,
      constructor: { b: 1 },
    });
  });

  it('go when their values change, or when a configuration names them', () => {
    const next = { spec: { ...after.spec, given: 'other', more: { c: 1, d: 2 } } };
    expect(fieldsKept(note, after, next, undefined)).toEqual({ spec: { list: note.spec.list, more: { c: 1 } } });
    expect(fieldsKept(note, after, after, { spec: { given: 'now' } })).toEqual({
      spec: { list: note.spec.list, more: 1 },
    });
  });

  it('of two notes are those of both, the larger part wins', () => {
    expect(bothNotes({ a: 1, b: { c: 1 } }, { a: { x: 1 }, b: { d: 1 }, e: 1 })).toEqual({
      a: 1,
      b: { c: 1, d: 1 },
      e: 1,
    });
    expect(bothNotes({ a: { x: 1 } }, { a: 1 })).toEqual({ a: 1 });
    expect(bothNotes(undefined, undefined)).toBeUndefined();
  });
});
