import { beforeEach, describe, expect, it, vi } from 'vitest';
import { ownKinds } from '../../../../core/apiserver/kinds/kinds-of-space.ts';
import { SpaceKinds } from '../../../../core/apiserver/kinds/space-kinds.ts';
import { fieldManager } from '../../../../core/apiserver/managed-fields/field-manager.ts';
import { EmbeddedStorage } from '../../../../core/apiserver/storage/embedded.ts';
import { EmbeddedSpace } from '../../../../core/apiserver/verbs/embedded-space.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import type { Child, Destination } from '../../../../relay/children/children.ts';
import { locationResource } from '../../../../relay/children/inventory.ts';
import { LocationCounts } from '../../../../relay/inventory-status/location-counts.ts';

describe('the counts of a Location', () => {
  let store: MemoryStore;
  let space: EmbeddedSpace;
  let children: Map<string, Child>;
  let connected: Set<string>;
  let counts: LocationCounts;
  const open = () => new LocationCounts({ space, children, isConnected: (child) => connected.has(child) });
  const location = (name: string) =>
    space.create({ apiVersion: 'inventory.banyan.io/v1alpha1', kind: 'Location', metadata: { name }, spec: {} });
  const agent = (name: string, locations: string[], more: Partial<Destination> = {}) => {
    const destinations = locations.map((one) => ({ location: one, ...more }) as Destination);
    children.set(name, { name, role: 'agent', destinations } as Child);
    counts.childChanged(name);
  };
  const shown = (name: string) => space.get({ ...locationResource, namespace: '', name })?.status;
  const settle = () => {
    let runs = 1;
    while (counts.show()) runs++;
    return runs;
  };

  beforeEach(() => {
    store = new MemoryStore();
    const storage = new EmbeddedStorage({ store, name: 'system', logger: silentLogger });
    space = new EmbeddedSpace({
      name: 'system',
      storage,
      kinds: new SpaceKinds(storage, ownKinds('System')),
      clock: new VirtualClock(),
      random: new SeededRandom(1),
      fields: fieldManager,
      admissions: [],
    });
    children = new Map();
    connected = new Set();
    counts = open();
    location('shops');
  });

  it('cover the agents that it selects here: the connected and schedulable ones', () => {
    connected = new Set(['a', 'b', 'c']);
    agent('a', ['shops']);
    agent('b', ['shops'], { cordoned: true });
    agent('c', ['shops'], { origin: 'center.fleet/c' });
    agent('d', ['shops', 'unknown']);
    settle();
    expect(shown('shops')).toEqual({ instances: 3, availableInstances: 1 });
    connected.add('d');
    counts.childChanged('d');
    settle();
    expect(shown('shops')).toEqual({ instances: 3, availableInstances: 2 });
  });

  it('are written when there is room for them', async () => {
    connected = new Set(['a']);
    agent('a', ['shops']);
    await store.flushed();
    store.failFlush(new BanyanError('StoreFull', 'no room'));
    expect(() => counts.show()).toThrow('no room');
    store.crash();
    settle();
    expect(shown('shops')).toEqual({ instances: 1, availableInstances: 1 });
  });

  it('decrease when an agent goes, or belongs to another Location', () => {
    location('depots');
    agent('a', ['shops']);
    agent('b', ['shops']);
    settle();
    agent('a', ['depots']);
    children.delete('b');
    counts.childChanged('b');
    settle();
    expect([shown('shops'), shown('depots')]).toMatchObject([{ instances: 0 }, { instances: 1 }]);
  });

  it('are up to date after a start, even if the last agent went meanwhile', () => {
    agent('a', ['shops']);
    settle();
    children.clear();
    counts = open();
    counts.start();
    settle();
    expect(shown('shops')).toMatchObject({ instances: 0 });
  });

  it('cost one read however many agents change, and of many Locations some at a time', () => {
    const get = vi.spyOn(space, 'get');
    for (let i = 0; i < 1_000; i++) agent(`a${i}`, ['shops']);
    settle();
    expect(get.mock.calls.length).toBeLessThan(5);
    expect(shown('shops')).toMatchObject({ instances: 1_000 });
    for (let i = 0; i < 120; i++) agent(`a${i}`, ['shops', `l${i}`]);
    expect(settle()).toBe(3);
  });
});
