import { expect, it } from 'vitest';
import { hasControllerFinalizers } from '../../../../core/object/finalizers.ts';

it.each([
  [['op.example.com/drain'], true],
  [['foregroundDeletion', 'op.example.com/drain'], true],
  // A domain that only ends alike.
  [['notkubernetes.io/x'], true],
  [['foregroundDeletion'], false],
  [['kubernetes'], false],
  [['kubernetes.io/pvc-protection'], false],
  [['service.kubernetes.io/load-balancer-cleanup'], false],
  [[], false],
])('finalizers %j are of a controller: %s', (finalizers, expected) => {
  expect(hasControllerFinalizers({ metadata: { finalizers } })).toBe(expected);
});

it('an object without the field has none', () => {
  expect(hasControllerFinalizers({ metadata: {} })).toBe(false);
});
