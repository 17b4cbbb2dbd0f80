import { expect, test } from 'vitest';
import { clockSkewMessage } from '../../../../../edge-agent/cluster/kubernetes/clock-trouble.ts';

const server = 'https://10.0.0.1:443';
const dayMs = 86_400_000;

test('a difference of some minutes is no trouble', () => {
  expect(clockSkewMessage(0, server)).toBeUndefined();
  expect(clockSkewMessage(300_000, server)).toBeUndefined();
  expect(clockSkewMessage(-300_000, server)).toBeUndefined();
});

test('a larger difference is reported with its direction, in the same words while it stays about the same', () => {
  expect(clockSkewMessage(365 * dayMs, server)).toMatchObject({
    reason: 'ClocksDiffer',
    message: expect.stringContaining('365 days ahead of that of https://10.0.0.1:443'),
  });
  expect(clockSkewMessage(-7 * 3_600_000, server)?.message).toContain('7 hours behind');
  expect(clockSkewMessage(-301_000, server)?.message).toContain('5 minutes behind');
  expect(clockSkewMessage(365 * dayMs + 40_000, server)).toEqual(clockSkewMessage(365 * dayMs - 40_000, server));
});
