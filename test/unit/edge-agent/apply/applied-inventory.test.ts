import { describe, expect, test } from 'vitest';
import { type Applied, appliedInventoryOf } from '../../../../edge-agent/apply/applied-inventory.ts';
import type { OwnerRecord } from '../../../../edge-agent/apply/owner-records.ts';

const limits = { entries: 2, fraction: 0.2 };
const found = (name: string, more: Partial<Applied> = {}): Applied => ({
  key: { group: '', resource: 'configmaps', namespace: 'shop', name },
  uid: `uid-${name}`,
  agent: 'eu:shop',
  source: 'center.retail',
  created: false,
  ...more,
});
const keyOf = (name: string) => `/configmaps/shop/${name}`;
const record = (uid: string): OwnerRecord => ({
  source: 'center.retail',
  bodyHash: 'b',
  uid,
  fingerprint: 'f',
  created: true,
  deletion: 'Orphan',
});
const none = new Map<string, OwnerRecord>();

describe('a scan of the objects that the agent applied with another store', () => {
  test('records existing objects without a record, wanted or not', () => {
    const { records, kept } = appliedInventoryOf([found('a'), found('b')], none, (key) => key === keyOf('a'), limits);
    expect([...records.keys()]).toEqual([keyOf('a'), keyOf('b')]);
    expect(records.get(keyOf('b'))).toEqual({
      placements: [],
      source: 'center.retail',
      uid: 'uid-b',
      agent: 'eu:shop',
      created: false,
      bodyHash: '',
      fingerprint: '',
    });
    expect([...kept]).toEqual([]);
  });

  test('keeps a record of the same object, and renews one of an object that was made anew', () => {
    const known = new Map([
      [keyOf('a'), record('uid-a')],
      [keyOf('b'), record('before')],
    ]);
    const { records } = appliedInventoryOf([found('a'), found('b')], known, () => true, limits);
    expect([...records]).toEqual([
      [
        keyOf('b'),
        { ...record('uid-b'), agent: 'eu:shop', created: false, placements: [], bodyHash: '', fingerprint: '' },
      ],
    ]);
  });

  test('renews a record of content that another store has applied since, if the object is wanted', () => {
    const known = new Map([[keyOf('a'), record('uid-a')]]);
    const take = (content: string, isWanted: boolean) =>
      appliedInventoryOf([found('a', { content })], known, () => isWanted, limits).records.get(keyOf('a'));
    expect(take('newer', true)).toMatchObject({ bodyHash: 'newer', fingerprint: '', deletion: 'Orphan' });
    expect(take('b', true)).toBeUndefined();
    expect(take('newer', false)).toBeUndefined();
  });

  test('has the object removed later as its mark specifies', () => {
    const { records } = appliedInventoryOf(
      [found('a', { deletion: 'Foreground' }), found('b')],
      none,
      () => false,
      limits,
    );
    expect([records.get(keyOf('a'))?.deletion, records.get(keyOf('b'))?.deletion]).toEqual(['Foreground', undefined]);
  });

  test('records of a container that it came with the agent', () => {
    const namespace = found('shop', { created: true });
    const { records } = appliedInventoryOf([namespace], none, () => false, limits);
    expect(records.get(keyOf('shop'))?.created).toBe(true);
  });

  test('leaves unwanted objects alone if they exceed the budget, and takes the others', () => {
    const many = ['a', 'b', 'c', 'd'].map((name) => found(name));
    const { records, kept } = appliedInventoryOf(many, none, (key) => key === keyOf('a'), limits);
    expect([...records.keys()]).toEqual([keyOf('a')]);
    expect([...kept.keys()]).toEqual([keyOf('b'), keyOf('c'), keyOf('d')]);
  });

  test('counts an object that is served under two groups once, under the known group', () => {
    const other = found('a', { key: { group: 'extensions', resource: 'configmaps', namespace: 'shop', name: 'a' } });
    for (const both of [
      [found('a'), other],
      [other, found('a')],
    ]) {
      const { records } = appliedInventoryOf(both, none, (key) => key === keyOf('a'), limits);
      expect([...records.keys()]).toEqual([keyOf('a')]);
    }
  });
});
