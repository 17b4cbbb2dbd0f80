import { expect, it } from 'vitest';
import { authorizationAgeMs } from '../../../../core/rollout/authority.ts';

it('treats an authorisation of the root as new while beats come in time, on every level', () => {
  for (const depth of [1, 2, 5]) expect(authorizationAgeMs('center.retail', depth, depth * 20_000)).toBe(0);
});

it('dates an authorisation by the time at which the node above last heard from the root, within a beat for each hop', () => {
  expect(authorizationAgeMs('center.retail', 1, 3_600_000)).toBe(3_580_000);
  expect(authorizationAgeMs('center.retail', 3, 3_600_000)).toBe(3_540_000);
});

it('does not date messages of a node between, which the age of the root does not measure', () => {
  expect(authorizationAgeMs('eu.ops', 2, 3_600_000)).toBe(0);
  expect(authorizationAgeMs('eu.center.ops', 2, 3_600_000)).toBe(0);
});
