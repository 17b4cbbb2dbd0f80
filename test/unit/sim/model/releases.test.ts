import { expect, it } from 'vitest';
import { Releases } from '../../../sim/model/releases.ts';
import { WrittenWorld } from '../written.ts';

const id = 'center.retail/staged';
const key = 'o/center.retail//configmaps/w-center-retail-staged/o0';

it('a promotion that a crash of the origin undoes did not happen, though others may have received it', () => {
  const releases = new Releases();
  const written = new WrittenWorld([{ path: '', role: 'center', labels: {}, spaces: ['retail'] }], (world) => ({
    name: 'follows',
    committed: (host, changes, before) => releases.committed(host, changes, before, world.nowMs),
  }));
  const center = written.host('');
  const put = (value: string, held: number) =>
    written.put(
      '',
      'source/center.retail',
      { key, attributes: { refs: ['staged'] }, body: { metadata: {}, data: { value } } },
      { key: `r/${id}`, attributes: { release: 1, held } },
    );
  put('one', 0);
  center.disk.reached(center.disk.newest);
  const one = releases.now(center, id).promoted.get(key)!;
  put('two', 0);
  const two = releases.now(center, id).promoted.get(key)!;
  expect([one, two]).toEqual([expect.stringContaining('one'), expect.stringContaining('two')]);
  center.disk.crash(0);
  expect(releases.now(center, id).promoted.get(key)).toBe(one);
  expect([releases.wasPromoted(key, one), releases.wasPromoted(key, two)]).toEqual([true, true]);
});
