// The long test of poisonous objects changes the source of four modules by their text. This test runs with every change, so a renamed function is noticed
// here and not days later.
import { expect, it } from 'vitest';
import { staleChanges } from '../../e2e/poison-changes.ts';

it('the texts that the test of poisonous objects replaces are in the source', () => {
  expect(staleChanges()).toEqual([]);
});
