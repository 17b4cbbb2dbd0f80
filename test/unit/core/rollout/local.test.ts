import { describe, expect, it } from 'vitest';
import { type ChildFacts, LocalRelease } from '../../../../core/rollout/local.ts';
import type { ReleaseAttributes } from '../../../../core/rollout/release.ts';

const release: ReleaseAttributes = {
  refs: ['p'],
  release: 3,
  number: 3,
  salt: 'salt',
  wave: 0,
  halted: false,
  waves: [],
  drawn: null,
  errorBudget: '100%',
  lease: 1,
  authorizationSeconds: 60,
  expected: 100,
  target: 9,
  promotedTarget: 5,
  held: 1,
  digest: '',
};
const facts = (some: Partial<ChildFacts> = {}): ChildFacts => ({
  path: 'u',
  labels: [{}],
  connected: true,
  exposed: false,
  available: false,
  failed: false,
  ...some,
});
const names = (n: number) => Array.from({ length: n }, (_, i) => `c${i}`);

function hop(some: Partial<ReleaseAttributes>, children: number): LocalRelease {
  const local = new LocalRelease({ ...release, ...some }, 0, children);
  for (const name of names(children)) local.set(name, facts({ path: name }));
  return local;
}

describe('a release at a last hop', () => {
  it('has at most its share of maxUnavailable in flight', () => {
    const local = hop({ maxUnavailable: 10 }, 20);
    const first = local.admit(0).children;
    expect(first).toHaveLength(2);
    for (const name of first) local.set(name, facts({ exposed: true }));
    expect(local.admit(0).children).toEqual([]);
    local.set(first[0]!, facts({ exposed: true, available: true }));
    expect(local.admit(0).children).toHaveLength(1);
  });

  it('has at most its share of the error budget in flight, whatever else is allowed', () => {
    expect(hop({ maxUnavailable: '50%', errorBudget: '10%' }, 20).admit(0).children).toHaveLength(2);
  });

  it('hands out at most its share of the rate, and says when the next one is due', () => {
    const local = hop({ ratePerMinute: 60 }, 50);
    const first = local.admit(0);
    expect(first).toEqual({ children: ['c0'], waitMs: 2_000 });
    local.set('c0', facts({ exposed: true }));
    expect(local.admit(1_000)).toEqual({ children: [], waitMs: 1_000 });
    expect(local.admit(2_000).children).toEqual(['c1']);
  });

  it('hands out nothing while it is halted, and nothing to destinations of a later wave or without a connection', () => {
    expect(hop({ halted: true }, 4).admit(0).children).toEqual([]);
    expect(hop({ waves: [{ fraction: 0 }] }, 4).admit(0).children).toEqual([]);
    const local = hop({}, 2);
    local.set('c0', facts({ connected: false }));
    expect(local.admit(0).children).toEqual(['c1']);
  });

  it('does not count unconnected destinations as in flight', () => {
    const local = hop({ maxUnavailable: 1 }, 3);
    local.set('c0', facts({ exposed: true }));
    expect(local.admit(0).children).toEqual([]);
    local.set('c0', facts({ exposed: true, connected: false }));
    expect(local.admit(0).children).toEqual(['c1']);
  });

  it('reports how many destinations its exhausted budget blocks', () => {
    const local = hop({ errorBudget: 10 }, 20);
    for (const name of ['c0', 'c1']) local.set(name, facts({ exposed: true, failed: true }));
    expect([local.own().barred, local.admit(0).children]).toEqual([18, []]);
    local.set('c0', facts({ exposed: true, available: true }));
    expect(local.own().barred).toBe(0);
  });

  it('reports the wave and the state of each child', () => {
    const local = hop({ waves: [{ fraction: 0 }] }, 1);
    expect(local.set('c0', facts({ exposed: true, available: true }))).toMatchObject({
      release: 3,
      received: 0,
      waves: [
        { expected: 0, fresh: 0 },
        { expected: 1, fresh: 1, exposed: 1, available: 1, failed: 0 },
      ],
    });
    expect(local.set('c0', facts({ exposed: true, connected: false })).waves[1]).toEqual({
      expected: 1,
      fresh: 0,
      exposed: 0,
      available: 0,
      failed: 0,
    });
  });

  it('reports positions only until they are drawn', () => {
    expect(hop({ waves: [{ count: 5 }] }, 1).set('c0', facts()).smallest).toHaveLength(1);
    expect(hop({ waves: [{ count: 5 }], drawn: [0.5] }, 1).set('c0', facts()).smallest).toEqual([]);
  });

  it('forgets a removed child', () => {
    const local = hop({}, 1);
    local.delete('c0');
    expect([local.waiting, local.admit(0).children]).toEqual([0, []]);
  });
});
