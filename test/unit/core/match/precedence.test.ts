import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Claimed, compareClaimed, conflictText, precedence } from '../../../../core/match/precedence.ts';

const claim = (placement: string, more: object = {}) => ({
  placement,
  priority: 0,
  created: '2026-01-01T00:00:00Z',
  uid: placement,
  ...more,
});
const claimed = (source: string, more?: object): Claimed => ({ source, claim: more && claim('p', more) });

describe('the order of sources that deliver one object', () => {
  it('is by nearness to the center first, for any names and priorities', () => {
    const of = (source: string, priority: number) => claimed(source, { priority });
    const all = [of('b.ops', 9), of('center.z', 1), of('a.b.ops', 99), of('center.a', 2), of('a.ops', 8)];
    expect(all.sort(compareClaimed).map(({ source }) => source)).toEqual([
      'center.a',
      'center.z',
      'b.ops',
      'a.ops',
      'a.b.ops',
    ]);
  });

  it('is by higher priority, then the older placement, then the smaller uid', () => {
    const first = claimed('center.d', { priority: 1, created: '2026-03-01T00:00:00Z' });
    const second = claimed('center.c', { created: '2026-01-01T00:00:00Z', uid: 'z' });
    const third = claimed('center.b', { created: '2026-02-01T00:00:00Z', uid: 'a' });
    const fourth = claimed('center.a', { created: '2026-02-01T00:00:00Z', uid: 'b' });
    expect([fourth, third, second, first].sort(compareClaimed)).toEqual([first, second, third, fourth]);
  });

  it('puts an object last at its depth if its placement has not arrived yet', () => {
    const unknown = claimed('center.a');
    const known = claimed('center.b', { priority: -5 });
    const deeper = claimed('eu.ops', { priority: 5 });
    expect([deeper, unknown, known].sort(compareClaimed)).toEqual([known, unknown, deeper]);
  });

  it('does not depend on the order of arrival', () => {
    const one = fc.record({
      source: fc.constantFrom('center', 'eu', 'eu.paris'),
      priority: fc.integer({ min: -1, max: 1 }),
      created: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-01T00:00:01Z'),
      known: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(one, { maxLength: 6 }), fc.infiniteStream(fc.nat()), (drawn, chance) => {
        const all = drawn.map(({ source, known, ...more }, i) =>
          claimed(`${source}.s${i}`, known ? { ...more, uid: `${i}` } : undefined),
        );
        const shuffled = all.map((one) => ({ one, at: chance.next().value ?? 0 })).sort((a, b) => a.at - b.at);
        expect(shuffled.map(({ one }) => one).sort(compareClaimed)).toEqual([...all].sort(compareClaimed));
      }),
    );
  });
});

describe('the message for the loser', () => {
  it('names neither the winner nor values of its placement', () => {
    expect(precedence(claimed('center.a', {}), claimed('eu.b', {}))).toBe(
      'another source delivers the same object and has precedence: it is nearer the center. Those who run the site see which one (condition SourceConflict of its SyncTarget), and the command why names it to whoever may read its space',
    );
  });

  it.each([
    [{ priority: 3 }, { priority: 1 }, 'its placement has a higher priority'],
    [{}, { created: '2026-02-01T00:00:00Z' }, 'its placement is older'],
    [{ uid: 'a' }, { uid: 'b' }, 'the uid of its placement is the smaller'],
  ])('gives the deciding rule: %j over %j', (winner, loser, why) => {
    expect(precedence(claimed('center.a', winner), claimed('center.b', loser))).toContain(why);
  });

  it('has both names for those who run the site', () => {
    expect(conflictText(claimed('center.a', {}), claimed('eu.b', {}))).toBe(
      'EdgePlacement p of center.a delivers it, and not EdgePlacement p of eu.b: it is nearer the center',
    );
  });
});
