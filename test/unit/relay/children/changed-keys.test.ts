import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type LocationLabels, mergeLabelSummaries } from '../../../../core/match/label-summary.ts';
import { changedKeys } from '../../../../relay/children/changed-keys.ts';
import { type Child, matchChild } from '../../../../relay/children/children.ts';
import type { Placement } from '../../../../relay/placements/placement.ts';
import { routeKeysOf } from '../../../../relay/placements/route-keys.ts';
import { agentChild, byFewKeys, byKey, placement, places, summaryOf } from '../support/match-arbitraries.ts';

type Full = Required<LocationLabels>;

function relayOf(all: readonly (readonly Full[])[], isKeyed: boolean): Child {
  const summary = mergeLabelSummaries(all.map((one, i) => summaryOf(agentChild(`n${i}`, one))));
  return { name: 'relay', role: 'relay', destinations: [], labels: isKeyed ? byKey(summary) : summary };
}

function isConcerned(rule: Placement, before: Child, after: Child): boolean {
  const changed = changedKeys(before, after);
  return changed === 'all' || [...routeKeysOf(rule)].some((key) => changed.has(key));
}

const at = (labels: Full['labels'], properties: Full['properties'] = {}): Full => ({
  labels,
  properties,
  targetLabels: {},
});

describe('the changed keys of a child', () => {
  it('concern every placement whose answer changed, at an agent', () => {
    fc.assert(
      fc.property(places, places, placement, (a, b, rule) => {
        const [before, after] = [agentChild('n', a), agentChild('n', b)];
        if (matchChild(rule, before).matches !== matchChild(rule, after).matches)
          expect(isConcerned(rule, before, after)).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  it('concern every placement whose answer or count changed, at a relay', () => {
    const all = fc.array(places, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(
        all,
        fc.array(places, { maxLength: 2 }),
        fc.boolean(),
        fc.nat(),
        placement,
        (a, b, isKeyed, i, rule) => {
          // Some of the agents are different now, and some have exchanged their places.
          const turned = [...a.slice(i % a.length), ...a.slice(0, i % a.length)];
          const next = [...b, ...turned].slice(0, a.length);
          const [before, after] = [relayOf(a, isKeyed), relayOf(next, isKeyed)];
          const changed = JSON.stringify(matchChild(rule, before)) !== JSON.stringify(matchChild(rule, after));
          if (changed) expect(isConcerned(rule, before, after)).toBe(true);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('are one key if one label or one property has changed', () => {
    const changes = (before: Child, after: Child) => [...changedKeys(before, after)].sort();
    const [prod, test] = [at({ env: 'prod', tier: 'a' }, { load: '1' }), at({ env: 'test', tier: 'a' }, { load: '1' })];
    const env = ['labels/*', 'labels/env'];
    expect(changes(agentChild('n', [prod]), agentChild('n', [test]))).toEqual(env);
    for (const isKeyed of [false, true]) {
      expect(changes(relayOf([[prod], [prod]], isKeyed), relayOf([[prod], [test]], isKeyed))).toEqual(env);
      const busy = at(prod.labels, { load: '2' });
      expect(changes(relayOf([[prod], [prod]], isKeyed), relayOf([[busy], [prod]], isKeyed))).toEqual([
        'properties/*',
        'properties/load',
      ]);
      expect(changes(relayOf([[prod]], isKeyed), relayOf([[prod]], isKeyed))).toEqual([]);
    }
  });

  it('include the places that a relay counts, if it has replicas', () => {
    const [one, two] = [at({ env: 'prod' }), at({ env: 'test' })];
    const all = relayOf([[one], [two]], false);
    const labelsOf = (of: readonly Full[]) => relayOf([of], false).labels!;
    const counts = (...of: Full[]): Child => ({
      ...all,
      counted: mergeLabelSummaries(of.map((each) => labelsOf([each]))),
    });
    expect(changedKeys(all, counts(one, two))).toEqual(new Set());
    expect(changedKeys(all, counts(one))).toBe('all');
    expect(changedKeys(counts(one), counts(two))).toEqual(new Set(['labels/env', 'labels/*']));
  });

  it('are all keys of the sets if values have been exchanged between them', () => {
    const sets = (...pairs: [string, string][]) =>
      relayOf(
        pairs.map(([a, b]) => [at({ a, b })]),
        false,
      );
    const changed = changedKeys(sets(['1', '1'], ['2', '2']), sets(['1', '2'], ['2', '1']));
    expect([...changed].sort()).toEqual(['labels/*', 'labels/a', 'labels/b']);
  });

  it('distinguish destinations by their source, if several have a Location of one name', () => {
    const [own] = agentChild('n', [at({ env: 'prod' })]).destinations;
    const from = (origin: string, env: string) => ({ ...own!, origin, labels: { env } });
    const child = (...destinations: Child['destinations']): Child => ({ name: 'n', role: 'agent', destinations });
    const before = child(own!, from('c.a/x', 'test'), from('c.a/y', 'lab'));
    expect(changedKeys(before, child(from('c.a/y', 'lab'), own!, from('c.a/x', 'test')))).toEqual(new Set());
    const changed = changedKeys(before, child(own!, from('c.a/x', 'test'), from('c.a/y', 'dev')));
    expect(changed).toEqual(new Set(['labels/env', 'labels/*']));
    expect(changedKeys(before, child(own!, from('c.a/x', 'test'), from('c.b/y', 'lab')))).toBe('all');
    const cordoned = child(own!, from('c.a/x', 'test'), { ...from('c.a/y', 'lab'), cordoned: true });
    expect(changedKeys(before, cordoned)).toBe('all');
  });

  it('are everything if destinations come or go, or an agent is cordoned', () => {
    const one = at({ env: 'prod' });
    expect(changedKeys(undefined, agentChild('n', [one]))).toBe('all');
    expect(changedKeys(agentChild('n', [one]), undefined)).toBe('all');
    expect(changedKeys(agentChild('n', [one]), agentChild('n', []))).toBe('all');
    expect(changedKeys(agentChild('n', [one]), agentChild('n', [one], true))).toBe('all');
    expect(changedKeys(relayOf([[one]], false), relayOf([[one], [one]], false))).toBe('all');
    expect(changedKeys(relayOf([[one]], false), relayOf([[one]], true))).toBe('all');
  });

  it('are everything if a relay begins or ceases to omit labels', () => {
    const all = relayOf([[at({ env: 'prod', tier: 'one' })]], true);
    const few = { ...all, labels: byFewKeys(all.labels!) };
    expect([changedKeys(all, few), changedKeys(few, all)]).toEqual(['all', 'all']);
    expect(changedKeys(few, { ...few })).toEqual(new Set());
  });
});
