import { expect, it } from 'vitest';
import { promotion } from '../../../sim/check/promotion.ts';
import { Releases } from '../../../sim/model/releases.ts';
import type { RolloutWritten } from '../../../sim/model/waves.ts';
import { WrittenWorld } from '../written.ts';

const source = 'source/center.retail';
const rollout: RolloutWritten = {
  strategy: 'Progressive',
  authorizationSeconds: 3,
  waves: [
    { name: 'first', count: 1, gates: [{ rolloutGate: 'go' }] },
    { name: 'half', fraction: 0.5 },
  ],
};

/** The violations for each of these release rows, one after the other; the gate has the given `phase`. */
function violationsOf(releaseRows: readonly object[], phase = 'Passed'): string[] {
  const releases = new Releases();
  const written = new WrittenWorld(
    [{ path: '', role: 'center', labels: {}, spaces: ['retail'] }],
    () => ({ name: 'follows', committed: (host, changes, before) => releases.committed(host, changes, before, 0) }),
    (world) =>
      promotion(world, releases, (_host, _space, resource) =>
        resource === 'rolloutgates' ? { status: { phase } } : { spec: { rollout } },
      ),
  );
  const key = 'o/center.retail//configmaps/w-center-retail-staged/o0';
  releaseRows.forEach((fields, index) => {
    const value = index === 0 ? 'one' : 'two';
    const row = { key, attributes: { refs: ['staged'] }, body: { metadata: {}, data: { value } } };
    written.put('', source, row, { key: 'r/center.retail/staged', attributes: { release: 1, held: 1, ...fields } });
  });
  return written.messages;
}

const before = { release: 0, held: 0, wave: -1 };

it('accepts a release that goes wave by wave', () => {
  expect(violationsOf([before, { wave: -1 }, { wave: 0 }, { wave: 1 }, { wave: 2 }, { held: 0, wave: -1 }])).toEqual(
    [],
  );
});

it.each<[string, object[], string?]>([
  ['goes from wave -1 to 1', [before, { wave: -1 }, { wave: 1 }]],
  ['is promoted at wave 1', [before, { wave: 1 }, { held: 0, wave: -1 }]],
  ['continues from wave 1 while it is halted', [before, { wave: 1, halted: true }, { wave: 2 }]],
  ['passes the gate of wave 0, which says Waiting', [before, { wave: 0 }, { wave: 1 }], 'Waiting'],
])('finds a release that %s', (message, releaseRows, phase) => {
  expect(violationsOf(releaseRows, phase)).toEqual([`center: release 1 of center.retail/staged ${message}`]);
});
