import { describe, expect, it } from 'vitest';
import { emptyPartial } from '../../../../../core/summary/partial.ts';
import { withSummarizers } from '../../../../../relay/gather/status/summarizers-resolved.ts';
import { summaryContent, summaryName, summaryObject } from '../../../../../relay/gather/summaries/summary-object.ts';
import { field, summarizer } from '../../../core/summary/support.ts';

describe('the name of a StatusSummary', () => {
  it('has the placement’s and the summarizer’s name', () => {
    expect(summaryName('shop-prod', 'images')).toBe('shop-prod.images');
  });

  it('is never shared by two summaries', () => {
    expect(summaryName('a.b', 'c')).toBe('a.b.c');
    expect(summaryName('a', 'b.c')).toMatch(/^a\.b\.c-[0-9a-f]{8}$/);
  });

  it('is cut to the allowed length, and stays unique', () => {
    const names = ['x', 'y'].map((last) => summaryName('p'.repeat(250), `${'s'.repeat(20)}${last}`));
    for (const name of names) expect(name).toMatch(/^p{244}-[0-9a-f]{8}$/);
    expect(new Set(names).size).toBe(2);
  });
});

describe('the completeness of a StatusSummary', () => {
  it('shows how many destinations the summary covers, and the state of the others', () => {
    const of = summarizer({ combinedFields: [field('n', 'COUNT')] });
    const builtIn = emptyPartial(1, 1);
    const counts = { ...builtIn.counts, expected: 10_000, fresh: 9_995, stale: 2, never: 3 };
    const content = summaryContent(
      'shop',
      'n',
      of,
      { ...of.empty, outdated: 4 },
      { ...builtIn, counts, oldestSinceMs: 60_000 },
      300_000,
    );
    expect(content.completeness).toEqual({
      display: '9,995/10,000 fresh (2 stale, 3 never, 4 outdated, oldest 4m)',
      expected: 10_000,
      fresh: 9_995,
      stale: 2,
      never: 3,
      quarantined: 0,
      outdated: 4,
      oldestSince: '1970-01-01T00:01:00Z',
    });
    expect(summaryObject(content, '2026-01-01T00:00:00Z').metadata.labels).toEqual({
      'edge.banyan.io/placement': 'shop',
      'edge.banyan.io/summarizer': 'n',
    });
  });
});

describe('the condition SummarizersResolved', () => {
  const now = '2026-01-01T00:00:00Z';

  it('is absent if no summarizer is named', () => {
    const before = withSummarizers([], new Map(), 1, now);
    expect(before).toMatchObject([{ type: 'SummarizersResolved', status: 'True' }]);
    expect(withSummarizers(before, undefined, 2, now)).toEqual([]);
  });

  it('names the unusable summarizers, at most five', () => {
    const reasons = new Map(Array.from({ length: 7 }, (_, i) => [`s${i}`, `reason ${i}`]));
    expect(withSummarizers([], reasons, 3, now)).toMatchObject([
      {
        status: 'False',
        reason: 'NotResolved',
        observedGeneration: 3,
        message: 'reason 0; reason 1; reason 2; reason 3; reason 4; and 2 more',
      },
    ]);
  });
});
