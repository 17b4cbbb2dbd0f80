/** Which spaces a URL may name at a node, and the words about one that does not exist. */
import { describe, expect, it } from 'vitest';
import { entryKey } from '../../../../core/entries/entry-keys.ts';
import { noteSeen } from '../../../../core/entries/source-incarnations.ts';
import { LocalTable } from '../../../../core/feed/table.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { text } from '../../../../core/store/bytes.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { SpaceNames } from '../../../../relay/views/space-names.ts';

/** The names at a node whose parent has these spaces, or has them from above; and has removed some of them. */
function namesAt(path: string, sources: readonly string[] = [], removed: readonly string[] = []): SpaceNames {
  const store = new MemoryStore();
  const upstream = store.write((t) => LocalTable.open(t, 'upstream'));
  store.write((t) => {
    for (const source of sources) {
      const key = entryKey.incarnations(source);
      const after = { key, attributes: text('{"gaps":[]}'), body: new Uint8Array(0) };
      upstream.put(t, after, 0);
      noteSeen(t, [{ key, keyHash: hash128(key), originRevision: 0, after }], {
        clock: { wallMs: () => 0 },
        log: silentLogger,
      });
    }
    for (const source of removed) upstream.remove(t, hash128(entryKey.incarnations(source)));
  });
  return new SpaceNames({ store, path, upstream });
}

const known = ['center.retail', 'center.bakery', 'eu.ops'];

describe('the name of a space in a URL', () => {
  it('is that of an own space, or a source of a node above', () => {
    expect(namesAt('').sourceOf('retail', ['retail'])).toBe('center.retail');
    const paris = namesAt('eu:paris', known);
    expect(paris.sourceOf('ops', ['ops'])).toBe('eu.paris.ops');
    expect(paris.sourceOf('center.bakery', ['ops'])).toBe('center.bakery');
    expect(paris.sourceOf('eu.ops', ['ops'])).toBe('eu.ops');
  });

  it('may be any of a node above whose spaces are not known yet', () => {
    expect(namesAt('eu:paris').sourceOf('center.anything', [])).toBe('center.anything');
    expect(namesAt('eu:paris', ['eu.ops']).sourceOf('center.anything', [])).toBe('center.anything');
  });

  it.each<[string, string, string, string[], RegExp]>([
    [
      'a misspelt space of a node above',
      'eu:paris',
      'center.retial',
      [],
      /"center.retial" at eu:paris or above: did you mean "center.retail"\?/,
    ],
    ['another name', 'eu:paris', 'center.x', ['till'], /the spaces are till, center.bakery, center.retail, eu.ops$/],
    ['a node beside this one', 'eu:paris', 'us.ops', [], /no space "us.ops".*did you mean "eu.ops"/],
    ['an own space with the name of this node', 'eu:paris', 'eu.paris.till', ['till'], /no space "eu.paris.till"/],
    [
      'a space of the center at the center',
      '',
      'center.retail',
      ['retail'],
      /no space "center.retail" at the center: .*retail/,
    ],
    ['a name without a node at a relay', 'eu', 'retail', [], /no space "retail" at eu or above: .*center.retail/],
  ])('is refused with what there is: %s', (_, path, name, own, words) => {
    expect(() => namesAt(path, path === '' ? [] : known).sourceOf(name, own)).toThrow(words);
  });

  it('lists at most twenty names, and says how many more there are', () => {
    const many = Array.from({ length: 25 }, (_, i) => `center.space-number-${i}`);
    expect(() => namesAt('eu', many).sourceOf('zz', [])).toThrow(/, and 5 more$/);
  });

  it('is refused when the space was removed, also when it was the only one', () => {
    const removed = ['center.retail'];
    expect(() => namesAt('eu', known, removed).sourceOf('center.retail', [])).toThrow(/the spaces are center.bakery/);
    expect(() => namesAt('eu', removed, removed).sourceOf('center.retail', [])).toThrow(/there are no spaces/);
  });

  it('says that there are none', () => {
    expect(() => namesAt('').sourceOf('retail', [])).toThrow(/at the center: there are no spaces/);
  });
});
