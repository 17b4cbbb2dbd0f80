import { describe, expect, it } from 'vitest';
import { UserSummary } from '../../../../../relay/gather/summaries/user-summary.ts';
import { field, row, summarizer } from '../../../core/summary/support.ts';

const of = summarizer({ combinedFields: [field('n', 'COUNT')] });
const one = of.evaluate(row({ path: 'p' }))!;
const expected = (child: string) => (child === 'large' ? 70 : 3);

describe('UserSummary', () => {
  it('counts the destinations of relays with another version, and merges their partials when they have this one', () => {
    const summary = new UserSummary(of);
    summary.setRelay('small', { ...one, outdated: 2 });
    summary.setRelay('large', undefined);
    expect(summary.total(expected)).toMatchObject({ rows: 1, outdated: 72 });
    summary.setRelay('large', one);
    expect(summary.total(expected)).toMatchObject({ rows: 2, outdated: 2 });
    summary.setRelay('small', undefined);
    expect(summary.total(expected)).toMatchObject({ rows: 1, outdated: 3 });
    summary.deleteChild('small');
    expect(summary.total(expected)).toMatchObject({ rows: 1, outdated: 0 });
  });

  it('adds up the rows of an agent, and drops the agent with its last row', () => {
    const summary = new UserSummary(of);
    summary.setRow('shop', 'a', one);
    summary.setRow('shop', 'b', one);
    expect(summary.total(expected).rows).toBe(2);
    expect(summary.hasRow('shop', 'a')).toBe(true);
    summary.setRow('shop', 'a', undefined);
    summary.setRow('shop', 'b', undefined);
    expect(summary.total(expected)).toEqual(of.empty);
  });

  it('merges at most log2 of the objects and log2 of the agents for one change of 45,000 rows', () => {
    const summary = new UserSummary(of);
    for (let agent = 0; agent < 1000; agent++)
      for (let object = 0; object < 45; object++) summary.setRow(`agent-${agent}`, `object-${object}`, one);
    expect(summary.total(expected).rows).toBe(45_000);
    const before = summary.merges;
    summary.setRow('agent-500', 'object-7', undefined);
    expect(summary.total(expected).rows).toBe(44_999);
    expect(summary.merges - before).toBeLessThanOrEqual(Math.log2(45_000) + 1);
  });
});
