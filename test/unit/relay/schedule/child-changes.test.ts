import { beforeEach, describe, expect, it } from 'vitest';
import { mergeLabelSummaries, summaryOfAgent } from '../../../../core/match/label-summary.ts';
import type { Labels } from '../../../../core/object/selector.ts';
import type { Child } from '../../../../relay/children/children.ts';
import { agentChild } from '../support/match-arbitraries.ts';
import { ScheduleBench, selecting } from '../support/schedule-bench.ts';

const shop = (name: string, labels: Labels, properties: Record<string, string> = {}): Child =>
  agentChild(name, [{ labels: { shop: name, ...labels }, properties, targetLabels: {} }]);
const relay = (name: string, below: readonly Labels[]): Child => {
  const labels = mergeLabelSummaries(
    below.map((one) => summaryOfAgent([{ labels: one, properties: {}, targetLabels: {} }])),
  );
  return { name, role: 'relay', destinations: [], labels };
};

describe('a scheduler, when a child has changed', () => {
  let bench: ScheduleBench;

  beforeEach(() => {
    bench = new ScheduleBench();
    for (let i = 0; i < 50; i++)
      bench.placement(`tier-${i}`, { locationSelectors: [{ matchLabels: { tier: `t${i}` } }] });
    bench.placement('paris', selecting('paris'));
    bench.placement('green', { locationExpression: 'double(properties["carbon"]) < 100.0' });
    bench.placement('all', { locationSelectors: [{}] });
    bench.child(shop('one', { site: 'rome', tier: 't1' }, { carbon: '120' }));
    bench.child(relay('east', [{ site: 'rome' }, { site: 'oslo' }]));
    bench.settle();
  });

  function lookedAt(act: () => void): number {
    const before = bench.lookedAt;
    act();
    bench.settle();
    return bench.lookedAt - before;
  }

  it('checks the placements that name the changed label or property, or whose expression reads it, and no other', () => {
    expect(lookedAt(() => bench.child(shop('one', { site: 'paris', tier: 't1' }, { carbon: '120' })))).toBe(1);
    expect(bench.mailbox('one').sort()).toEqual(['t/all', 't/paris', 't/tier-1']);
    expect(lookedAt(() => bench.child(shop('one', { site: 'paris', tier: 't1' }, { carbon: '80' })))).toBe(1);
    expect(bench.mailbox('one').sort()).toEqual(['t/all', 't/green', 't/paris', 't/tier-1']);
    expect(lookedAt(() => bench.child(shop('one', { site: 'paris', tier: 't2' }, { carbon: '80' })))).toBe(50);
    expect(bench.mailbox('one').sort()).toEqual(['t/all', 't/green', 't/paris', 't/tier-2']);
  });

  it('checks none if nothing relevant has changed', () => {
    expect(
      lookedAt(() => bench.child(shop('one', { site: 'rome', tier: 't1', colour: 'red' }, { carbon: '120' }))),
    ).toBe(0);
  });

  it('checks the placements that name a changed key of a relay’s summary', () => {
    expect(lookedAt(() => bench.child(relay('east', [{ site: 'paris' }, { site: 'oslo' }])))).toBe(1);
    expect(bench.mailbox('east').sort()).toEqual(['p/all', 'p/paris', 't/all', 't/paris']);
  });

  it('checks all of them once after a start, since the remaining work is not known', () => {
    bench.child(shop('one', { site: 'paris', tier: 't1' }, { carbon: '120' }));
    bench.restart();
    expect(lookedAt(() => undefined)).toBe(53);
    expect(bench.mailbox('one').sort()).toEqual(['t/all', 't/paris', 't/tier-1']);
    expect(lookedAt(() => bench.child(shop('one', { site: 'rome', tier: 't1' }, { carbon: '120' })))).toBe(1);
  });

  it('does not check a placement that has other selectors meanwhile, nor a deleted one', () => {
    bench.placement('paris', { locationSelectors: [{ matchLabels: { tier: 't1' } }] });
    bench.removePlacement('green');
    bench.settle();
    expect(lookedAt(() => bench.child(shop('one', { site: 'paris', tier: 't1' }, { carbon: '80' })))).toBe(0);
    expect(bench.mailbox('one').sort()).toEqual(['t/all', 't/paris', 't/tier-1']);
  });

  it('repeats, with any change of the child, the work that had to wait', () => {
    bench.attaches = () => false;
    bench.child(shop('one', { site: 'paris', tier: 't1' }, { carbon: '120' }));
    bench.settle();
    expect(bench.mailbox('one').sort()).toEqual(['t/all', 't/tier-1']);
    bench.attaches = () => true;
    bench.child(shop('one', { site: 'paris', tier: 't1', colour: 'red' }, { carbon: '120' }));
    bench.settle();
    expect(bench.mailbox('one').sort()).toEqual(['t/all', 't/paris', 't/tier-1']);
  });
});

describe('a scheduler, when an agent is unschedulable', () => {
  let bench: ScheduleBench;
  const kid = (site: string, cordoned: boolean) =>
    agentChild('kid', [{ labels: { site }, properties: {}, targetLabels: {} }], cordoned);

  beforeEach(() => {
    bench = new ScheduleBench();
    bench.object('a', ['old', 'new']);
    bench.placement('old', selecting('paris', 'lyon'));
    bench.child(kid('paris', false));
    bench.settle();
    bench.child(kid('paris', true));
    bench.settle();
  });

  it('leaves existing placements there, passes their changes on, and brings nothing new', () => {
    bench.placement('new', selecting('paris'));
    bench.object('b', ['old']);
    bench.settle();
    expect(bench.mailbox('kid').sort()).toEqual(['o/a', 'o/b', 't/old']);
    bench.child(kid('lyon', true));
    bench.settle();
    expect(bench.mailbox('kid').sort()).toEqual(['o/a', 'o/b', 't/old']);
  });

  it('knows the existing placements after a start', () => {
    bench.placement('new', selecting('paris'));
    bench.settle();
    bench.restart();
    bench.child(kid('lyon', true));
    bench.settle();
    expect(bench.mailbox('kid').sort()).toEqual(['o/a', 't/old']);
  });

  it('removes placements that no longer match, and brings them again only when the agent is schedulable', () => {
    bench.child(kid('rome', true));
    bench.settle();
    expect(bench.mailbox('kid')).toEqual([]);
    bench.child(kid('paris', true));
    bench.settle();
    expect(bench.mailbox('kid')).toEqual([]);
    bench.child(kid('paris', false));
    bench.settle();
    expect(bench.mailbox('kid').sort()).toEqual(['o/a', 't/old']);
  });
});
