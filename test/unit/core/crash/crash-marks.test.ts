import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  afterStart,
  again,
  aloneMax,
  isRetryDue,
  type Mark,
  quarantineMaxMs,
  quarantineMinMs,
  retryAfterMs,
} from '../../../../core/crash/crash-marks.ts';

const start = { build: '1', wallMs: 1_000 };
const at = (marks: Record<string, Mark>, wallMs = 1_000, build = '1') =>
  Object.fromEntries(afterStart(new Map(Object.entries(marks)), { build, wallMs }));

it('one crash makes all items in progress suspect, and quarantines none', () => {
  const working = { hash: 'h', state: 'working', crashes: 0 } as const;
  expect(at({ a: working, b: working })).toEqual({
    a: { hash: 'h', state: 'suspect', crashes: 1 },
    b: { hash: 'h', state: 'suspect', crashes: 1 },
  });
});

it('a second crash quarantines the item that ran alone, with the last message of the process, and leaves the other suspects', () => {
  const marks = new Map<string, Mark>([
    ['a', { hash: 'h', state: 'working', crashes: 1 }],
    ['b', { hash: 'h', state: 'suspect', crashes: 1 }],
  ]);
  const after = afterStart(marks, { ...start, words: 'Error: no' });
  expect(after.get('a')).toEqual({
    hash: 'h',
    state: 'quarantined',
    crashes: 2,
    sinceMs: 1_000,
    build: '1',
    words: 'Error: no',
  });
  expect(after.get('b')).toEqual(marks.get('b'));
});

it('a quarantine ends after a while, or when the clock was set back, with one attempt; another build starts without quarantines', () => {
  const mark: Mark = { hash: 'h', state: 'quarantined', crashes: 2, sinceMs: 1_000, build: '1' };
  expect(at({ a: mark }, 1_000 + quarantineMinMs - 1).a).toBe(mark);
  for (const ended of [at({ a: mark }, 1_000 + quarantineMinMs), at({ a: mark }, 999)]) {
    expect(ended.a).toEqual({ hash: 'h', state: 'suspect', crashes: 2 });
  }
  expect(at({ a: { ...mark, crashes: 7 } }, 1_000, '2').a).toEqual({ hash: 'h', state: 'suspect', crashes: 1 });
  expect(isRetryDue(mark, 1_000 + quarantineMinMs)).toBe(true);
  expect(again(mark)).toEqual({ hash: 'h', state: 'suspect', crashes: 2 });
});

it('each further crash doubles the quarantine, up to an hour', () => {
  const minutes = (crashes: number) => retryAfterMs({ hash: 'h', state: 'quarantined', crashes }) / quarantineMinMs;
  expect([2, 3, 4, 7, 8, 100].map(minutes)).toEqual([1, 2, 4, 32, 60, 60]);
  expect(retryAfterMs({ hash: 'h', state: 'quarantined', crashes: 100 })).toBe(quarantineMaxMs);
});

it('more than a few items are doubtful at first, and suspect once the process has ended while they were narrowed down', () => {
  const working = { hash: 'h', state: 'working', crashes: 0 } as const;
  const named = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`${i}`, working]));
  const states = (marks: Record<string, Mark>) => new Set(Object.values(at(marks)).map(({ state }) => state));
  expect(states(named(aloneMax))).toEqual(new Set(['suspect']));
  expect(states(named(aloneMax + 1))).toEqual(new Set(['doubtful']));
  const sifting = { hash: 'h', state: 'sifting', crashes: 1 } as const;
  expect(at({ a: sifting }).a).toEqual({ hash: 'h', state: 'suspect', crashes: 1 });
});

/** A process that ends at each deadly piece of work. Several pieces run at once; suspects run one at a time and last. */
function runToRest(keys: readonly string[], deadly: ReadonlySet<string>, concurrency: number, together = 3) {
  let marks = new Map<string, Mark>();
  for (let crashes = 0; ; crashes++) {
    marks = afterStart(marks, { ...start });
    const waiting = keys.filter((key) => marks.get(key) === undefined);
    const held = (state: Mark['state']) => keys.filter((key) => marks.get(key)?.state === state);
    const by = (size: number, all: readonly string[]) =>
      Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));
    const groups = [...by(concurrency, waiting), ...by(together, held('doubtful')), ...by(1, held('suspect'))];
    const crashed = groups.some((group) => {
      for (const key of group) {
        const mark = marks.get(key) ?? { hash: 'h', crashes: 0, state: 'working' };
        marks.set(key, { ...mark, state: mark.state === 'doubtful' ? 'sifting' : 'working' });
      }
      if (group.some((key) => deadly.has(key))) return true;
      for (const key of group) marks.delete(key);
      return false;
    });
    if (!crashed) return { crashes, marks };
  }
}

it('exactly the deadly items are quarantined, after at most two crashes for each, and one more for the narrowing down', () => {
  const plan = fc.record({
    keys: fc.uniqueArray(fc.string({ minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 40 }),
    deadly: fc.func(fc.integer({ min: 0, max: 5 })),
    concurrency: fc.integer({ min: 1, max: 24 }),
  });
  fc.assert(
    fc.property(plan, ({ keys, deadly, concurrency }) => {
      const bad = new Set(keys.filter((key) => deadly(key) === 0));
      const { crashes, marks } = runToRest(keys, bad, concurrency);
      expect(new Set(marks.keys())).toEqual(bad);
      expect([...marks.values()].every(({ state }) => state === 'quarantined')).toBe(true);
      expect(crashes).toBeLessThanOrEqual((concurrency > aloneMax ? 3 : 2) * bad.size);
    }),
  );
});
