import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseMembers } from '../../../../edge-agent/associated/choice.ts';

describe('the choice among too many', () => {
  it('takes failing ones first, then the first by key', () => {
    const members = ['c', 'a', 'd', 'b'].map((key) => ({ key, failing: key === 'd' }));
    expect([...chooseMembers(members, 3)]).toEqual(['d', 'a', 'b']);
    expect(chooseMembers(members, 9).size).toBe(4);
  });

  it('does not depend on the order of arrival', () => {
    const members = fc.uniqueArray(fc.record({ key: fc.string(), failing: fc.boolean() }), {
      selector: ({ key }) => key,
    });
    fc.assert(
      fc.property(members, fc.nat(5), (some, limit) => {
        expect(chooseMembers([...some].reverse(), limit)).toEqual(chooseMembers(some, limit));
      }),
    );
  });
});
