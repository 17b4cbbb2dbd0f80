import { expect, it } from 'vitest';
import { progressReporter } from '../../../../center/cli/start-progress.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';

it('names the nodes that are not up yet, at most once a second, and only when their number has changed', () => {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const hear = progressReporter(8, clock, (line) => lines.push(line));
  const waiting = (...ids: string[]) => hear(new Map(ids.map((id) => [id, 'has not answered yet'])));
  const all = ['', 'eu', 'us', 'eu:a', 'eu:b', 'eu:c', 'us:d', 'us:e'];
  clock.advance(5_000);
  waiting(...all);
  expect(lines).toEqual([]);
  waiting(...all.slice(1));
  waiting(...all.slice(2));
  expect(lines).toEqual(['1 of 8 nodes are up; not yet: eu, us, eu:a, eu:b, eu:c, and 2 more']);
  clock.advance(1_000);
  waiting('', 'us:e');
  waiting('', 'us:e');
  expect(lines.slice(1)).toEqual(['6 of 8 nodes are up; not yet: center, us:e']);
  clock.advance(1_000);
  waiting();
  expect(lines).toHaveLength(2);
});
