import { describe, expect, it } from 'vitest';
import { watermarks } from '../../../sim/check/watermarks.ts';
import { beat, HandMade, request } from './hand-made.ts';

const source = 'center.retail';

describe('the check of watermarks', () => {
  it('accepts growing ones', () => {
    const made = new HandMade(watermarks);
    made.commit('r:a', (rows) => rows.json('watermarks', '', { own: { [source]: 4 }, complete: {} }));
    made.commit('r:a', (rows) => rows.json('watermarks', '', { own: { [source]: 5 }, complete: { [source]: 5 } }));
    expect(made.violations).toEqual([]);
  });

  it('finds a watermark that a consumer stores lower than before', () => {
    const made = new HandMade(watermarks);
    made.commit('r:a', (rows) => rows.json('watermarks', '', { own: { [source]: 5 }, complete: {} }));
    made.commit('r:a', (rows) => rows.json('watermarks', '', { own: { [source]: 4 }, complete: {} }));
    expect(made.violations).toEqual(['r:a, own: center.retail at 4 after 5']);
  });

  it('finds a watermark that a parent sends to a child lower than before', () => {
    const made = new HandMade(watermarks);
    const connection = made.connection('r', '');
    made.sent(connection, 'parent', beat({ [source]: 7 }));
    made.sent(made.connection('r~1', ''), 'parent', beat({ [source]: 6 }));
    expect(made.violations).toEqual([]);
    made.sent(connection, 'parent', beat({ [source]: 6 }));
    expect(made.violations).toEqual(['center sends center.retail at 6, it has sent 7']);
  });

  it('finds a child that follows a replica which has not stated the child’s watermark', () => {
    const made = new HandMade(watermarks);
    made.commit('r:a', (rows) => rows.json('watermarks', '', { own: { [source]: 9 }, complete: {} }));
    const behind = made.connection('r:a', 'r~1');
    made.delivered(behind, 'child', beat({ [source]: 8 }));
    made.sent(behind, 'child', request());
    expect(made.violations).toEqual(['r:a follows r~1, which is behind: center.retail at 8 after 9']);
  });

  it('accepts a child that follows a replica which has', () => {
    const made = new HandMade(watermarks);
    made.commit('r:a', (rows) => rows.json('watermarks', '', { own: { [source]: 9 }, complete: {} }));
    const level = made.connection('r:a', 'r~1');
    made.delivered(level, 'child', beat({ [source]: 9 }), () => made.sent(level, 'child', request()));
    expect(made.violations).toEqual([]);
  });
});
