/** Which spaces a URL may name at a node, and the words about one that does not exist. */
import { describe, expect, it } from 'vitest';
import { raiseWatermarks, type Watermarks } from '../../../../core/session/watermark.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { SpaceNames } from '../../../../relay/views/space-names.ts';

/** The names at a node that knows these sources from its parent. */
function namesAt(path: string, complete: Watermarks = {}): SpaceNames {
  const store = new MemoryStore();
  store.write((t) => raiseWatermarks(t, { complete }, Date.UTC(2026, 0)));
  return new SpaceNames({ store, path });
}

const known = { 'center.retail': 1, 'center.bakery': 1, 'eu.ops': 1 };

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
    expect(namesAt('eu:paris', { 'eu.ops': 1 }).sourceOf('center.anything', [])).toBe('center.anything');
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
    expect(() => namesAt(path, path === '' ? {} : known).sourceOf(name, own)).toThrow(words);
  });

  it('lists at most twenty names, and says how many more there are', () => {
    const many = Object.fromEntries(Array.from({ length: 25 }, (_, i) => [`center.space-number-${i}`, 1]));
    expect(() => namesAt('eu', many).sourceOf('zz', [])).toThrow(/, and 5 more$/);
  });

  it('says that there are none', () => {
    expect(() => namesAt('').sourceOf('retail', [])).toThrow(/at the center: there are no spaces/);
  });
});
