import { beforeEach, describe, expect, it } from 'vitest';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import {
  clearDirty,
  dirtyClasses,
  dirtyWork,
  isDirty,
  markDirty,
  type WorkClass,
} from '../../../../relay/work/dirty.ts';

describe('marked work', () => {
  let store: MemoryStore;

  beforeEach(() => {
    store = new MemoryStore();
  });

  const mark = (in_: WorkClass, key: string, refs: string[] = [], originRevision = 0) =>
    store.write((t) => markDirty(t, in_, key, refs, originRevision));
  const work = (in_: WorkClass, limit = 100) => store.read((reader) => dirtyWork(reader, in_, limit));

  it('is found by the beginning of its key, however many other keys come before it', () => {
    for (let i = 0; i < 10; i++) mark('space', `center.a/${i}`);
    mark('space', 'center.b/0');
    const found = store.read((reader) => dirtyWork(reader, 'space', 5, 'center.b/'));
    expect(found.map(({ key }) => key)).toEqual(['center.b/0']);
  });

  it('is one piece for each key, with the data of all its changes', () => {
    mark('row', 'a', ['q', 'p'], 7);
    mark('row', 'a', ['p', 'r'], 5);
    expect(work('row')).toEqual([{ key: 'a', refs: ['p', 'q', 'r'], originRevision: 7 }]);
  });

  it('is kept apart by class', () => {
    mark('row', 'a');
    mark('target', 'a');
    store.write((t) => clearDirty(t, 'row', 'a'));
    expect([work('row'), work('target').map(({ key }) => key)]).toEqual([[], ['a']]);
  });

  it('is known by class without reading each, except for spaces, which track it themselves', () => {
    const classes = () => store.read((reader) => [...dirtyClasses(reader)].sort());
    expect(classes()).toEqual([]);
    for (const in_ of ['aim', 'child', 'row', 'space'] as const) for (const key of ['a', 'b']) mark(in_, key);
    expect(classes()).toEqual(['aim', 'child', 'row']);
    for (const key of ['a', 'b']) store.write((t) => clearDirty(t, 'row', key));
    expect(classes()).toEqual(['aim', 'child']);
  });

  it('is found by its whole key', () => {
    mark('auxiliary', 'r/a');
    const has = (in_: WorkClass, key: string) => store.read((reader) => isDirty(reader, in_, key));
    expect([has('auxiliary', 'r/a'), has('auxiliary', 'r/'), has('row', 'r/a')]).toEqual([true, false, false]);
  });

  it('comes in bounded portions', () => {
    for (const key of ['a', 'b', 'c']) mark('row', key);
    expect(work('row', 2).map(({ key }) => key)).toEqual(['a', 'b']);
  });

  it('does not exist if the change that made it failed', () => {
    const fail = () =>
      store.write((t) => {
        markDirty(t, 'row', 'a');
        throw new Error('the disk is full');
      });
    expect(fail).toThrow('the disk is full');
    expect(work('row')).toEqual([]);
  });
});
