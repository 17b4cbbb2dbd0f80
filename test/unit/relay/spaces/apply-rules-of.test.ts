import { expect, test } from 'vitest';
import { applyRulesOf } from '../../../../relay/spaces/apply-rules-of.ts';

test('only differences from the defaults travel', () => {
  expect(applyRulesOf({})).toBeUndefined();
  expect(
    applyRulesOf({ drift: { mode: 'Correct', ignoredFields: [] }, adopt: 'IfUnowned', replace: 'Never' }),
  ).toBeUndefined();
  expect(
    applyRulesOf({
      drift: { mode: 'Report', ignoredFields: ['.spec.replicas'] },
      adopt: 'Always',
      replace: 'IfImmutable',
    }),
  ).toEqual({
    drift: 'Report',
    ignored: ['.spec.replicas'],
    adopt: 'Always',
    replace: true,
  });
});
