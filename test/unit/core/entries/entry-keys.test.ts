import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { entryKey, entryTypeOf, parseEntryKey, sourceOfKey } from '../../../../core/entries/entry-keys.ts';
import { type EntryType, entryKinds } from '../../../../core/entries/entry-kinds.ts';
import { type KeyParts, keyForm } from '../../../../core/entries/key-form.ts';

const types = Object.keys(entryKinds) as EntryType[];
const segment = fc.stringMatching(/^[a-z0-9][a-z0-9.:-]{0,12}$/);
/** The group of core kinds and the namespace of cluster-scoped objects are empty. */
const mayBeEmpty = fc.oneof(fc.constant(''), segment);
const values: Readonly<Record<keyof KeyParts, fc.Arbitrary<KeyParts[keyof KeyParts]>>> = {
  id: fc.tuple(segment, segment).map(([source, name]) => `${source}/${name}`),
  object: fc.record({ group: mayBeEmpty, resource: segment, namespace: mayBeEmpty, name: segment }),
  source: segment,
  path: segment,
  child: segment,
  syncTarget: segment,
  summarizer: segment,
};

describe('the key of an entry', () => {
  it.each(types)('%s is parsed into the parts that it was made of', (type) => {
    const { parts } = keyForm(entryKinds[type].form);
    fc.assert(
      fc.property(fc.tuple(...parts.map((part) => values[part])), (made) => {
        const key = (entryKey[type] as (...given: unknown[]) => string)(...made);
        expect(parseEntryKey(key)).toMatchObject({
          type,
          ...Object.fromEntries(parts.map((part, i) => [part, made[i]])),
        });
      }),
    );
  });

  it('begins with a word that no other kind has', () => {
    expect(new Set(types.map((type) => keyForm(entryKinds[type].form).word)).size).toBe(types.length);
  });

  it('has the source of its placement', () => {
    expect(sourceOfKey(parseEntryKey('q/eu.ops/shop//configmaps/shop/till')!)).toBe('eu.ops');
    expect(sourceOfKey(parseEntryKey('node/eu:paris')!)).toBeUndefined();
  });

  it.each([
    ['tree/x', 'tree'],
    ['p/center.retail', 'placement'],
    ['p//shop', 'placement'],
    ['p/center.retail/shop/more', 'placement'],
    ['o/center.retail/till', 'object'],
    ['q/center.retail/shop/till', 'promoted'],
    ['sum/center.retail/shop', 'summary'],
  ])('%s is malformed, but still belongs to the kind %s', (key, type) => {
    expect(parseEntryKey(key)).toBeUndefined();
    expect(entryTypeOf(key)).toBe(type);
  });

  it('of a later version has no kind', () => {
    for (const key of ['weather', 'weather/eu'])
      expect([parseEntryKey(key), entryTypeOf(key)]).toEqual([undefined, undefined]);
  });
});
