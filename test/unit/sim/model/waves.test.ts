import fc from 'fast-check';
import { expect, it } from 'vitest';
import { positionOf, waveOf } from '../../../../core/rollout/waves.ts';
import { position, waveAt, waveCount } from '../../../sim/model/waves.ts';

it('computes positions and waves like the product', () => {
  const wave = fc.oneof(
    fc.record({ count: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ fraction: fc.double({ min: 0.01, max: 1, noNaN: true }) }),
    fc.constant({ selector: { matchLabels: { env: 'prod' } } }),
  );
  const of = fc.record({
    uid: fc.string(),
    env: fc.constantFrom('prod', 'test'),
    waves: fc.array(wave),
    others: fc.nat(3),
  });
  fc.assert(
    fc.property(of, ({ uid, env, waves, others }) => {
      const at = position('salt', uid);
      expect(at).toBe(positionOf('salt', uid));
      const drawn = [...Array.from({ length: others }, (_, i) => position('salt', `other ${i}`)), at].sort(
        (a, b) => a - b,
      );
      const named = waves.map((one, index) => ({ name: `${index}`, ...one }));
      expect(waveAt(named, { labels: { env }, position: at, drawn })).toBe(waveOf(waves, drawn, [{ env }], at));
    }),
  );
});

it('counts the rest as a wave unless the last wave takes all', () => {
  const rollout = { strategy: 'Progressive', authorizationSeconds: 3 };
  expect(waveCount({ ...rollout, waves: [{ name: 'some', fraction: 0.5 }] })).toBe(2);
  expect(waveCount({ ...rollout, waves: [{ name: 'all', fraction: 1 }] })).toBe(1);
  expect(waveCount({ ...rollout, waves: [{ name: 'all', selector: {} }] })).toBe(1);
});
