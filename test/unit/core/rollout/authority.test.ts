import { expect, it } from 'vitest';
import { authorizationAgeMs } from '../../../../core/rollout/authority.ts';

it('counts a word of the root as new while beats come as they should, on every level', () => {
  for (const depth of [1, 2, 5]) expect(authorizationAgeMs('center.retail', depth, depth * 20_000)).toBe(0);
});

it('counts a word of the root as said when the node above has heard of the root last, within a beat a hop', () => {
  expect(authorizationAgeMs('center.retail', 1, 3_600_000)).toBe(3_580_000);
  expect(authorizationAgeMs('center.retail', 3, 3_600_000)).toBe(3_540_000);
});

it('leaves alone what a node between says, of which the age of the root is no measure', () => {
  expect(authorizationAgeMs('eu.ops', 2, 3_600_000)).toBe(0);
  expect(authorizationAgeMs('eu.center.ops', 2, 3_600_000)).toBe(0);
});
