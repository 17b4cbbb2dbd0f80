import { describe, expect, it } from 'vitest';
import { builtinKinds } from '../../../../../core/apiserver/builtin/builtin-kinds.ts';
import { ownKinds } from '../../../../../core/apiserver/kinds/kinds-of-space.ts';
import { SpaceKinds } from '../../../../../core/apiserver/kinds/space-kinds.ts';
import { fieldManager } from '../../../../../core/apiserver/managed-fields/field-manager.ts';
import { EmbeddedStorage } from '../../../../../core/apiserver/storage/embedded.ts';
import { EmbeddedSpace } from '../../../../../core/apiserver/verbs/embedded-space.ts';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../../core/store/memory/memory-store.ts';
import type { Child } from '../../../../../relay/children/children.ts';
import { Slices } from '../../../../../relay/gather/status/slices.ts';
import { Placements } from '../../../../../relay/placements/placements.ts';
import { factsOf } from '../../support/facts.ts';

const id = 'center.retail/shop';

interface Slice {
  metadata: { name: string; resourceVersion: string; ownerReferences: { name: string; uid: string }[] };
  destinations?: { path: string; locationName: string; syncTargetUID: string }[];
  subtrees?: { path: string; matched: number; observedTime: string }[];
}

function node() {
  const clock = new VirtualClock();
  const store = new MemoryStore();
  const storage = new EmbeddedStorage({
    store,
    name: 'retail',
    logger: silentLogger,
    hook: () => {},
  });
  const space = new EmbeddedSpace({
    name: 'retail',
    storage,
    kinds: new SpaceKinds(storage, [...builtinKinds(), ...ownKinds('Workload')]),
    clock,
    random: new SeededRandom(1),
    fields: fieldManager,
    admissions: [],
  });
  const owner = space.create({
    apiVersion: 'edge.banyan.io/v1alpha1',
    kind: 'EdgePlacement',
    metadata: { name: 'shop' },
    spec: { locationSelectors: [{ matchLabels: { env: 'prod' } }], downsync: [] },
  });
  const placements = new Placements();
  const matched = new Set<string>();
  placements.set({
    id,
    source: 'center.retail',
    name: 'shop',
    locationSelectors: [{ matchLabels: { env: 'prod' } }],
    children: matched,
  });
  const children = new Map<string, Child>();
  const counts = new Map<string, number>();
  const slices = new Slices({
    path: 'eu',
    clock,
    placements,
    children,
    ownSpace: () => space,
    expected: (_id, child) => counts.get(child) ?? 0,
    elsewhere: () => undefined,
  });
  const agent = (name: string, env = 'prod', origin?: string) => {
    const destination = {
      ...(origin === undefined ? {} : { origin }),
      location: name,
      syncTargetUid: `uid-${name}`,
      labels: { env },
      facts: factsOf(name),
      evaluate: () => true,
    };
    children.set(name, { name, role: 'agent', destinations: [destination] });
    matched.add(name);
  };
  const relay = (name: string, count: number) => {
    children.set(name, { name, role: 'relay', destinations: [] });
    counts.set(name, count);
    matched.add(name);
  };
  const run = () => {
    slices.mark(id);
    clock.advance(1_000);
    return storage
      .scan({ group: 'edge.banyan.io', resource: 'singleplacementslices' })
      .map((stored) => space.parse(stored) as object as Slice);
  };
  return { run, agent, relay, matched, owner, clock, store };
}

describe('SinglePlacementSlices', () => {
  it('name the destinations of the own inventory and count those below relays', () => {
    const { run, agent, relay, owner } = node();
    agent('till');
    relay('paris', 12);
    relay('rome', 0);
    const [slice, ...others] = run();
    expect(others).toEqual([]);
    expect(slice!.metadata).toMatchObject({
      name: 'shop-0',
      ownerReferences: [{ name: 'shop', uid: owner.metadata.uid }],
    });
    expect(slice!.destinations).toMatchObject([{ path: 'eu:till', locationName: 'till', syncTargetUID: 'uid-till' }]);
    expect(slice!.subtrees).toMatchObject([{ path: 'eu:paris', matched: 12 }]);
  });

  it('name the SyncTarget of an inventory space if one stands for the agent', () => {
    const { run, agent } = node();
    agent('till', 'prod', 'center.fleet/cafe');
    expect(run()[0]?.destinations).toMatchObject([{ path: 'eu:till', cluster: 'till', syncTargetName: 'cafe' }]);
  });

  it('have a thousand entries each, as many slices as needed, and fewer again', () => {
    const { run, agent, relay, matched } = node();
    for (let i = 0; i < 1_999; i++) agent(`shop-${i}`);
    for (const name of ['a', 'b', 'c']) relay(name, 1);
    const sizes = () => run().map(({ destinations = [], subtrees = [] }) => [destinations.length, subtrees.length]);
    expect(sizes()).toEqual([
      [1_000, 0],
      [999, 1],
      [0, 2],
    ]);
    for (let i = 10; i < 1_999; i++) matched.delete(`shop-${i}`);
    expect(sizes()).toEqual([[10, 3]]);
    matched.clear();
    expect(sizes()).toEqual([]);
  });

  it('are written when there is room for them', async () => {
    const { run, agent, clock, store } = node();
    agent('till');
    await store.flushed();
    store.failFlush(new BanyanError('StoreFull', 'no room'));
    expect(run()).toEqual([]);
    store.crash();
    clock.advance(1_000);
    expect(run()[0]?.destinations).toMatchObject([{ path: 'eu:till' }]);
  });

  it('are not written if the match is unchanged, and keep the time of an unchanged count', () => {
    const { run, agent, relay, clock } = node();
    relay('paris', 12);
    relay('rome', 3);
    const [before] = run();
    expect(run()[0]!.metadata.resourceVersion).toBe(before!.metadata.resourceVersion);
    clock.advance(60_000);
    relay('rome', 4);
    agent('till');
    const [after] = run();
    const timeOf = (slice: Slice | undefined, path: string) =>
      slice!.subtrees!.find((subtree) => subtree.path === path)!.observedTime;
    expect(timeOf(after, 'eu:paris')).toBe(timeOf(before, 'eu:paris'));
    expect(timeOf(after, 'eu:rome')).not.toBe(timeOf(before, 'eu:rome'));
  });

  it('are written for some placements at a time if many change at once', () => {
    const clock = new VirtualClock();
    const placements = new Placements();
    const written: string[] = [];
    const slices = new Slices({
      path: 'eu',
      clock,
      placements,
      children: new Map(),
      ownSpace: () => undefined,
      expected: () => 0,
      elsewhere: (one) => written.push(one),
    });
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      const children = new Set(Array.from({ length: 400 }, (_, i) => `shop-${i}`));
      const of = { id: `center.retail/${name}` as const, source: 'center.retail', name };
      placements.set({ ...of, locationSelectors: [{}], children });
      slices.mark(of.id);
    }
    clock.advance(1_000);
    expect(written).toHaveLength(3);
    clock.advance(10);
    expect(written).toHaveLength(5);
  });
});
