import { expect, it } from 'vitest';
import { PendingHistories } from '../../../../relay/moves/recovered-rows.ts';

it('an agent that showed that a store was restored still shows it in the next session, when the store is between two histories', () => {
  const histories = new PendingHistories();
  histories.note('till', true);
  histories.note('till', false);
  histories.note('desk', false);
  histories.note('desk', true);
  histories.note('shelf', false);
  expect(['till', 'desk', 'shelf', 'nobody'].map((name) => histories.take(name))).toEqual([
    'restored',
    'restored',
    'other',
    undefined,
  ]);
  expect(histories.take('till')).toBeUndefined();
});
