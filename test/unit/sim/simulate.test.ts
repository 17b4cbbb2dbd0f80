import { expect, it } from 'vitest';
import { planOf } from '../../sim/plan/plan.ts';
import { simulate } from '../../sim/simulate.ts';

it('a run whose own code throws ends with a violation, so that the seed is known', async () => {
  const steps = [{ atMs: 0, action: undefined as never }];
  const outcome = await simulate({ ...planOf(1, 'safety'), steps });
  expect(outcome).toMatchObject({ seed: 1, violation: { check: 'the simulation runs to its end' } });
  expect(outcome.violation?.message).toContain('TypeError');
});
