import { describe, expect, it } from 'vitest';
import { exactSetsMax, mergeLabelSummaries } from '../../../../core/match/label-summary.ts';
import type { LabelSelector, Labels } from '../../../../core/object/selector.ts';
import { type Child, type Destination, matchChild } from '../../../../relay/children/children.ts';
import type { Placement } from '../../../../relay/placements/placement.ts';
import { factsOf } from '../support/facts.ts';

const site = (name: string): LabelSelector => ({ matchLabels: { site: name } });

function placement(locationSelectors: readonly LabelSelector[], locationExpression?: string): Placement {
  const one = {
    id: 'center.retail/p',
    source: 'center.retail',
    name: 'p',
    locationSelectors,
    children: new Set<string>(),
  };
  return locationExpression === undefined ? one : { ...one, locationExpression };
}

function agent(...destinations: readonly { labels: Labels; expression?: string }[]): Child {
  const list = destinations.map(
    ({ labels, expression }, i): Destination => ({
      location: `location-${i}`,
      syncTargetUid: `uid-${i}`,
      labels,
      facts: factsOf(`location-${i}`, labels),
      evaluate: (asked) => asked === expression,
    }),
  );
  return { name: 'kid', role: 'agent', destinations: list };
}

function relay(all: readonly Labels[]): Child {
  const labels = mergeLabelSummaries(all.map((one) => ({ leaves: 1, sets: [{ labels: one, leaves: 1 }] })));
  return { name: 'kid', role: 'relay', destinations: [], labels };
}

describe('a placement at an agent', () => {
  it('matches if one of its selectors selects one of the Locations, and then it is one destination', () => {
    const kid = agent({ labels: { site: 'paris' } }, { labels: { site: 'lyon' } });
    expect(matchChild(placement([site('rome'), site('lyon')]), kid)).toEqual({ matches: true, expected: 1 });
    expect(matchChild(placement([site('paris'), site('lyon')]), kid)).toEqual({ matches: true, expected: 1 });
    expect(matchChild(placement([site('rome')]), kid)).toEqual({ matches: false, expected: 0 });
  });

  it('matches nothing without a selector, and everything with an empty one', () => {
    const kid = agent({ labels: { site: 'paris' } });
    expect(matchChild(placement([]), kid).matches).toBe(false);
    expect(matchChild(placement([{}]), kid).matches).toBe(true);
  });

  it('needs selector and expression to agree on one Location', () => {
    const kid = agent(
      { labels: { site: 'paris' }, expression: 'big' },
      { labels: { site: 'lyon' }, expression: 'small' },
    );
    expect(matchChild(placement([site('paris')], 'big'), kid).matches).toBe(true);
    expect(matchChild(placement([site('paris')], 'small'), kid).matches).toBe(false);
  });

  it('with an expression alone asks every Location', () => {
    const kid = agent({ labels: {} }, { labels: {}, expression: 'big' });
    expect([matchChild(placement([], 'big'), kid).matches, matchChild(placement([], 'x'), kid).matches]).toEqual([
      true,
      false,
    ]);
  });

  it('matches no agent that is not in the inventory', () => {
    expect(matchChild(placement([{}]), agent())).toEqual({ matches: false, expected: 0 });
  });
});

describe('a placement at a relay', () => {
  it('matches nothing before the relay has reported its labels', () => {
    expect(matchChild(placement([{}]), { name: 'kid', role: 'relay', destinations: [] })).toEqual({
      matches: false,
      expected: 0,
    });
  });

  it('counts destinations exactly while the summary is exact, each once for all selectors', () => {
    const kid = relay([{ site: 'paris' }, { site: 'paris' }, { site: 'rome' }]);
    expect(matchChild(placement([site('paris'), {}]), kid)).toEqual({ matches: true, expected: 3 });
    expect(matchChild(placement([site('paris')]), kid)).toEqual({ matches: true, expected: 2 });
    expect(matchChild(placement([site('oslo')]), kid)).toEqual({ matches: false, expected: 0 });
  });

  it('is "maybe", without a count, when there are too many label sets', () => {
    const many = Array.from({ length: exactSetsMax + 1 }, (_, i) => ({ site: 'paris', rack: `r${i}` }));
    expect(matchChild(placement([site('paris')]), relay(many))).toEqual({ matches: true, expected: undefined });
    expect(matchChild(placement([site('oslo')]), relay(many))).toEqual({ matches: false, expected: 0 });
  });

  it('is "maybe" with an expression, which only the last hop evaluates', () => {
    const kid = relay([{ site: 'paris' }]);
    expect(matchChild(placement([site('paris')], 'big'), kid)).toEqual({ matches: true, expected: undefined });
    expect(matchChild(placement([], 'big'), kid)).toEqual({ matches: true, expected: undefined });
    expect(matchChild(placement([site('oslo')], 'big'), kid)).toEqual({ matches: false, expected: 0 });
  });

  it('matches nothing below a relay without destinations', () => {
    expect(matchChild(placement([{}]), relay([]))).toEqual({ matches: false, expected: 0 });
  });
});
