import { expect, it } from 'vitest';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { DueTimes } from '../../../../relay/join/due-times.ts';

it('due keys come in the order of their times, a bounded number at once, until they have another time or none', () => {
  const times = new DueTimes();
  expect([times.nextMs, times.due(100, 9)]).toEqual([undefined, []]);
  for (const [name, atMs] of Object.entries({ c: 30, a: 10, b: 20, d: 40 })) times.set(name, atMs);
  expect([times.nextMs, times.due(9, 9), times.due(30, 9), times.due(30, 2)]).toEqual([
    10,
    [],
    ['a', 'b', 'c'],
    ['a', 'b'],
  ]);
  times.set('a', 50);
  times.set('b', undefined);
  times.set('never', undefined);
  expect([times.nextMs, times.due(100, 9)]).toEqual([30, ['c', 'd', 'a']]);
});

it('the result equals a search through all of them', () => {
  const random = new SeededRandom(7);
  const times = new DueTimes();
  const all = new Map<string, number>();
  const number = (below: number) => Math.floor(random.fraction() * below);
  for (let step = 0; step < 2_000; step++) {
    const name = `t${number(60)}`;
    const atMs = random.fraction() < 0.3 ? undefined : number(40);
    times.set(name, atMs);
    if (atMs === undefined) all.delete(name);
    else all.set(name, atMs);
    const nowMs = number(40);
    expect(times.due(nowMs, 1_000).sort()).toEqual(
      [...all]
        .filter(([, at]) => at <= nowMs)
        .map(([of]) => of)
        .sort(),
    );
    expect(times.nextMs).toBe(all.size === 0 ? undefined : Math.min(...all.values()));
  }
});
