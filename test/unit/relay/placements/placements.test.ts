import { describe, expect, it } from 'vitest';
import { hash128 } from '../../../../core/object/hash.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import type { Placement } from '../../../../relay/placements/placement.ts';
import {
  forgetMatched,
  forgetPlacement,
  forgetSelected,
  matchedChildren,
  Placements,
  selectedObjects,
  storedPlacements,
  storeMatched,
  storePlacement,
  storeSelected,
} from '../../../../relay/placements/placements.ts';

const [p, p2, foreign] = ['center.retail/p', 'center.retail/p2', 'eu.retail/p'] as const;
const [a, b] = [hash128('a'), hash128('b')];

describe('the placements in a store', () => {
  it('are listed', () => {
    const store = new MemoryStore();
    store.write((t) => {
      for (const id of [p, p2, foreign]) storePlacement(t, id);
      forgetPlacement(t, p2);
    });
    expect(store.read(storedPlacements)).toEqual([p, foreign]);
  });

  it('have their objects, even if the name is the beginning of another, or another source has the same name', () => {
    const store = new MemoryStore();
    store.write((t) => {
      storeSelected(t, p, a);
      storeSelected(t, p, b);
      storeSelected(t, p2, a);
      storeSelected(t, foreign, a);
      forgetSelected(t, p, a);
    });
    const objects = (id: string) => store.read((reader) => [...selectedObjects(reader, id)].map(hex));
    expect([objects(p), objects(p2), objects(foreign)]).toEqual([[hex(b)], [hex(a)], [hex(a)]]);
  });

  it('have their children', () => {
    const store = new MemoryStore();
    store.write((t) => {
      for (const child of ['paris', 'rome']) storeMatched(t, p, child);
      storeMatched(t, p2, 'oslo');
      forgetMatched(t, p, 'rome');
    });
    const children = (id: string) => store.read((reader) => matchedChildren(reader, id));
    expect([children(p), children(p2), children(foreign)]).toEqual([['paris'], ['oslo'], []]);
  });
});

describe('placements in memory', () => {
  const placement = (id: string, ...children: string[]): Placement => ({
    id,
    source: 'center.retail',
    name: 'p',
    locationSelectors: [],
    children: new Set(children),
  });

  it('are found by id and by child', () => {
    const placements = new Placements();
    placements.set(placement(p, 'paris', 'rome'));
    placements.set(placement(p2, 'rome'));
    expect([...placements.ofChild('rome')]).toEqual([p, p2]);
    placements.delete(p);
    expect([...placements.ofChild('rome')]).toEqual([p2]);
    expect([placements.get(p), [...placements.ofChild('paris')]]).toEqual([undefined, []]);
  });

  it('are found by a child while its mailbox has them, even during a new reading', () => {
    const placements = new Placements();
    const first = placement(p, 'rome');
    placements.set(first);
    placements.attach(first, 'paris');
    placements.set({
      ...first,
      target: { generation: 1, target: 1, reportedState: 'Exact', priority: 0, created: '', uid: '' },
    });
    expect([[...placements.ofChild('paris')], [...placements.ofChild('rome')]]).toEqual([[p], [p]]);
    placements.detach(p, first.children, 'rome');
    placements.set(placement(p, 'paris', 'oslo'));
    expect(['paris', 'rome', 'oslo'].map((child) => [...placements.ofChild(child)])).toEqual([[p], [], [p]]);
  });
});

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
