import { beforeEach, describe, expect, it } from 'vitest';
import { sliceEntriesMax } from '../../../../../core/apiserver/kinds/edge-kinds.ts';
import { parseBody } from '../../../../../core/object/canonical.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { MemoryStore } from '../../../../../core/store/memory/memory-store.ts';
import type { Child } from '../../../../../relay/children/children.ts';
import { SubtreeSlices } from '../../../../../relay/gather/status/subtree-slices.ts';
import { Placements } from '../../../../../relay/placements/placements.ts';
import { shownTopic } from '../../../../../relay/work/topics.ts';
import { agentChild } from '../../support/match-arbitraries.ts';

const source = 'center.retail';

describe('the slices of placements from above', () => {
  let placements: Placements;
  let children: Map<string, Child>;
  let slices: SubtreeSlices;
  let announced: string[];

  beforeEach(() => {
    placements = new Placements();
    children = new Map();
    announced = [];
    const store = new MemoryStore();
    store.subscribe(shownTopic, (objects) => {
      for (const { source: of, key } of objects) announced.push(`${of} ${key.name}`);
    });
    slices = new SubtreeSlices({
      path: 'eu:paris',
      placements,
      children,
      expected: () => 3,
      store,
    });
  });

  function placement(name: string, count: number, from = source): string {
    const id = `${from}/${name}`;
    const matched = new Set<string>();
    for (let i = 0; i < count; i++) {
      children.set(`a${i}`, agentChild(`a${i}`, [{ labels: {}, properties: {}, targetLabels: {} }]));
      matched.add(`a${i}`);
    }
    placements.set({ ...factsOf(id, from, name), children: matched });
    return id;
  }

  const factsOf = (id: string, from: string, name: string) => ({ id, source: from, name, locationSelectors: [{}] });
  const shown = (of = source) =>
    [...slices.shown(of)].map(
      ({ key, body }) =>
        [key.name, parseBody(body) as KubeObject & { destinations?: unknown[]; subtrees?: unknown[] }] as const,
    );

  it('have the agents of this node by their paths, and counts for the relays below it', () => {
    const id = placement('shop', 1);
    children.set('north', { name: 'north', role: 'relay', destinations: [] });
    placements.get(id)!.children.add('north');
    expect(shown()).toMatchObject([
      [
        'shop-0',
        {
          destinations: [{ cluster: 'a0', path: 'eu:paris:a0' }],
          subtrees: [{ path: 'eu:paris:north', matched: 3 }],
          metadata: { labels: { 'edge.banyan.io/placement': 'shop' } },
        },
      ],
    ]);
  });

  it('have a bounded number of entries each, and are found by name', () => {
    placement('shop', sliceEntriesMax + 1);
    placement('shop-0', 1);
    expect(shown().map(([name, { destinations }]) => [name, destinations?.length])).toEqual([
      ['shop-0', sliceEntriesMax],
      ['shop-1', 1],
      ['shop-0-0', 1],
    ]);
    const names = ['shop-1', 'shop-0-0', 'shop-2', 'other-0'];
    expect(names.map((name) => slices.shownOne(source, name) !== undefined)).toEqual([true, true, false, false]);
  });

  it('are those of one source only', () => {
    placement('shop', 1);
    placement('shop', 1, 'eu.ops');
    expect([shown().length, shown('eu.ops').length, shown('us.ops').length]).toEqual([1, 1, 0]);
    expect(slices.shownOne('us.ops', 'shop-0')).toBeUndefined();
  });

  it('are announced one by one, also deleted ones', () => {
    const id = placement('shop', sliceEntriesMax + 1);
    slices.placementChanged(id);
    placement('shop', 1);
    slices.placementChanged(id);
    placements.delete(id);
    slices.placementChanged(id);
    slices.placementChanged(id);
    const [first, second] = [`${source} shop-0`, `${source} shop-1`];
    expect(announced).toEqual([first, second, first, second, first]);
  });
});
