import { expect, it } from 'vitest';
import { Others } from '../../../../relay/moves/recovered-rows.ts';

it('an agent that showed that a store was put back has shown it also in the session after, where it is between two histories', () => {
  const others = new Others();
  others.note('till', true);
  others.note('till', false);
  others.note('desk', false);
  others.note('desk', true);
  others.note('shelf', false);
  expect(['till', 'desk', 'shelf', 'nobody'].map((name) => others.take(name))).toEqual([
    'putBack',
    'putBack',
    'other',
    undefined,
  ]);
  expect(others.take('till')).toBeUndefined();
});
