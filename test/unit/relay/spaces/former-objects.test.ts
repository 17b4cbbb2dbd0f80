import { expect, it } from 'vitest';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { FormerObjects } from '../../../../relay/spaces/former-objects.ts';

const key = (name: string) => ({ group: '', resource: 'configmaps', namespace: 'shop', name });

function bench(max: number) {
  const store = new MemoryStore();
  const former = new FormerObjects('center.retail', max);
  let revision = 0;
  return {
    store,
    remove: (name: string, uid = `${++revision}-uid-0000`) =>
      store.write((t) => former.deleted(t, key(name), uid, ++revision, true)),
    create: (name: string) => store.write((t) => former.created(t, key(name))),
    of: (name: string) => store.read((reader) => former.of(reader, key(name))),
    other: () => store.read((reader) => new FormerObjects('center.other', max).of(reader, key('a'))),
  };
}

it('forgets the name that has been free for the longest time, and no name that is in use', () => {
  const { remove, create, of } = bench(3);
  for (const name of ['a', 'b', 'c']) remove(name);
  create('a');
  for (const name of ['d', 'e', 'f']) remove(name);
  expect(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => of(name).length)).toEqual([1, 0, 0, 1, 1, 1]);
  remove('a');
  expect([of('a').length, of('d').length, of('e').length]).toEqual([2, 0, 1]);
});

it('counts a name once, however often it is deleted', () => {
  const { remove, of } = bench(2);
  for (let i = 0; i < 5; i++) remove('a');
  remove('b');
  expect([of('a').length, of('b').length]).toEqual([5, 1]);
});

it('has the uid of an object once that was deleted and removed later', () => {
  const { remove, of } = bench(2);
  remove('a', 'first-uid');
  remove('a', 'first-uid');
  remove('a', 'other-uid');
  expect(of('a')).toHaveLength(2);
});

it('leaves no rows behind when it forgets', () => {
  const { store, remove } = bench(1);
  remove('a');
  const before = [...store.read((reader) => [...reader.scan({ from: Buffer.of(0), to: Buffer.of(0xff) })])].length;
  for (let i = 0; i < 10; i++) remove(`n${i}`);
  expect([...store.read((reader) => [...reader.scan({ from: Buffer.of(0), to: Buffer.of(0xff) })])]).toHaveLength(
    before,
  );
});

it('is about one source', () => {
  const { remove, other } = bench(2);
  remove('a');
  expect(other()).toEqual([]);
});
