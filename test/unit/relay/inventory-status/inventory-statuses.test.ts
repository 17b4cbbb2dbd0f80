import { describe, expect, it } from 'vitest';
import { ownKinds } from '../../../../core/apiserver/kinds/kinds-of-space.ts';
import { SpaceKinds } from '../../../../core/apiserver/kinds/space-kinds.ts';
import { fieldManager } from '../../../../core/apiserver/managed-fields/field-manager.ts';
import { EmbeddedStorage } from '../../../../core/apiserver/storage/embedded.ts';
import { EmbeddedSpace } from '../../../../core/apiserver/verbs/embedded-space.ts';
import { timestamp } from '../../../../core/object/conditions.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { Inventory, locationResource, syncTargetResource } from '../../../../relay/children/inventory.ts';
import { InventoryStatuses } from '../../../../relay/inventory-status/inventory-statuses.ts';
import { heartbeatEveryMs } from '../../../../relay/inventory-status/sync-target-status.ts';

const apiVersion = 'inventory.banyan.io/v1alpha1';
const fronts = { matchLabels: { tier: 'front' } };

/** The inventory space `fleet` of the node `eu`. */
function fleet() {
  const clock = new VirtualClock();
  let learn: Inventory | undefined;
  const storage = new EmbeddedStorage({
    store: new MemoryStore(),
    name: 'fleet',
    logger: silentLogger,
    hook: (_t, event) => learn?.learn(event),
  });
  const inventory = new Inventory(storage);
  learn = inventory;
  const space = new EmbeddedSpace({
    name: 'fleet',
    storage,
    kinds: new SpaceKinds(storage, ownKinds('Inventory')),
    clock,
    random: new SeededRandom(1),
    fields: fieldManager,
    admissions: [],
  });
  const connected = new Set<string>();
  const heard = new Map<string, number>();
  let changes = 0;
  const statuses = new InventoryStatuses({
    path: 'eu',
    inventories: () => new Map([['eu.fleet', { space, inventory }]]),
    connection: (child) => ({ connected: connected.has(child), heardAtMs: heard.get(child) }),
    reportOf: (child) => (child === 'store' ? { role: 'agent', version: '1', capacity: { cpu: '4' } } : undefined),
    changed: () => {
      changes += 1;
    },
  });
  const apply = (object: object) => {
    space.apply({ apiVersion, metadata: { name: '' }, ...object } as never, { fieldManager: 'test', force: true });
  };
  const settle = () => {
    while (statuses.show(clock.wallMs()));
    return space.storage.revision();
  };
  return {
    space,
    statuses,
    settle,
    changes: () => changes,
    syncTarget: (name: string, attachTo: string, spec: object = {}, labels: object = { tier: 'front' }) =>
      apply({ kind: 'SyncTarget', metadata: { name, labels }, spec: { attachTo, ...spec } }),
    location: (name: string, instanceSelector?: object) =>
      apply({ kind: 'Location', metadata: { name }, spec: instanceSelector ? { instanceSelector } : {} }),
    connect(child: string, isConnected = true) {
      if (isConnected) heard.set(child, clock.wallMs());
      if (isConnected) connected.add(child);
      else connected.delete(child);
      statuses.childChanged(child);
      settle();
    },
    target: (name: string) => space.get({ ...syncTargetResource, namespace: '', name })?.status,
    clock,
    counts: (name: string) => space.get({ ...locationResource, namespace: '', name })?.status,
  };
}

describe('a SyncTarget of an inventory space whose agent is a child of the node', () => {
  it('shows whether the agent is connected, to which parent, and the description of its cluster', () => {
    const bench = fleet();
    bench.statuses.follow();
    bench.syncTarget('cafe', 'eu:store');
    bench.settle();
    expect(bench.target('cafe')).toMatchObject({
      capacity: { cpu: '4' },
      conditions: [{ type: 'Ready', status: 'False', reason: 'Never', message: 'the agent has never connected' }],
    });
    expect(bench.target('cafe')).not.toHaveProperty('attachedTo');
    expect(bench.target('cafe')).not.toHaveProperty('lastHeartbeatTime');
    const heardAt = timestamp(bench.clock.wallMs());
    bench.connect('store');
    expect(bench.target('cafe')).toMatchObject({
      attachedTo: 'eu',
      lastHeartbeatTime: heardAt,
      conditions: [{ type: 'Ready', status: 'True', reason: 'Connected' }],
    });
    bench.clock.advance(40_000);
    bench.connect('store', false);
    expect(bench.target('cafe')).toMatchObject({
      lastHeartbeatTime: heardAt,
      conditions: [{ status: 'False', reason: 'Disconnected' }],
    });
  });

  it('has a newer heartbeat only every five minutes while the agent stays connected', () => {
    const bench = fleet();
    bench.syncTarget('cafe', 'eu:store');
    bench.statuses.follow();
    bench.connect('store');
    const { lastHeartbeatTime: first } = bench.target('cafe') as { lastHeartbeatTime: string };
    bench.clock.advance(heartbeatEveryMs - 1_000);
    bench.connect('store');
    expect(bench.target('cafe')).toMatchObject({ lastHeartbeatTime: first });
    bench.clock.advance(1_000);
    bench.connect('store');
    expect(bench.target('cafe')).toMatchObject({ lastHeartbeatTime: timestamp(bench.clock.wallMs()) });
  });

  it('is one of several that stand for the same agent', () => {
    const bench = fleet();
    for (const name of ['a', 'b']) bench.syncTarget(name, 'eu:store');
    bench.statuses.follow();
    bench.settle();
    bench.connect('store');
    for (const name of ['a', 'b']) expect(bench.target(name)).toMatchObject({ attachedTo: 'eu' });
  });

  it('is announced again after a start, and written only if it differs', () => {
    const bench = fleet();
    bench.syncTarget('cafe', 'eu:store');
    bench.location('cafe');
    bench.statuses.follow();
    bench.settle();
    bench.connect('store');
    const revision = bench.settle();
    bench.connect('store');
    bench.statuses.stop();
    bench.statuses.follow();
    expect(bench.settle()).toBe(revision);
    expect(bench.target('cafe')).toMatchObject({ attachedTo: 'eu' });
  });

  it('does not react to its own writes', () => {
    const bench = fleet();
    bench.statuses.follow();
    bench.syncTarget('cafe', 'eu:store');
    bench.location('cafe');
    const before = bench.changes();
    bench.settle();
    bench.connect('store');
    expect(bench.target('cafe')).toMatchObject({ attachedTo: 'eu' });
    expect(bench.changes()).toBe(before);
  });
});

describe('a SyncTarget of an inventory space whose agent is deeper', () => {
  it('names the node that knows its state, even if the agent was a child before', () => {
    const bench = fleet();
    bench.statuses.follow();
    bench.syncTarget('cafe', 'eu:store');
    bench.settle();
    bench.connect('store');
    bench.syncTarget('cafe', 'eu:paris:store');
    bench.settle();
    expect(bench.target('cafe')).toEqual({
      conditions: [
        expect.objectContaining({
          type: 'Ready',
          status: 'Unknown',
          reason: 'BelowAnotherNode',
          message: 'the agent is no child of this node; the system space of eu:paris has its state',
        }),
      ],
    });
    bench.connect('store', false);
    expect(bench.target('cafe')).toMatchObject({ conditions: [{ status: 'Unknown' }] });
  });
});

describe('a Location of an inventory space', () => {
  it('counts the SyncTargets that it selects, and those that are connected and schedulable', () => {
    const bench = fleet();
    bench.statuses.follow();
    for (const name of ['a', 'b', 'c']) bench.syncTarget(name, `eu:${name}`);
    bench.syncTarget('d', 'eu:d', {}, { tier: 'back' });
    bench.location('fronts', fronts);
    bench.location('d');
    bench.settle();
    expect(bench.counts('fronts')).toEqual({ instances: 3, availableInstances: 0 });
    for (const child of ['a', 'b', 'd']) bench.connect(child);
    expect([bench.counts('fronts'), bench.counts('d')]).toEqual([
      { instances: 3, availableInstances: 2 },
      { instances: 1, availableInstances: 1 },
    ]);
    bench.syncTarget('b', 'eu:b', { unschedulable: true });
    bench.settle();
    expect(bench.counts('fronts')).toEqual({ instances: 3, availableInstances: 1 });
  });

  it('drops SyncTargets that it no longer selects, or that are gone', () => {
    const bench = fleet();
    bench.statuses.follow();
    for (const name of ['a', 'b', 'c']) bench.syncTarget(name, `eu:${name}`);
    bench.location('fronts', fronts);
    bench.location('alone');
    for (const name of ['a', 'b', 'c']) bench.connect(name);
    bench.syncTarget('a', 'eu:a', {}, { tier: 'back' });
    bench.space.delete({ ...syncTargetResource, namespace: '', name: 'b' });
    bench.settle();
    expect(bench.counts('fronts')).toEqual({ instances: 1, availableInstances: 1 });
    bench.location('fronts', { matchLabels: { tier: 'back' } });
    bench.syncTarget('c', 'eu:c', {}, { tier: 'back' });
    bench.settle();
    expect([bench.counts('fronts'), bench.counts('alone')]).toEqual([
      { instances: 2, availableInstances: 2 },
      { instances: 0, availableInstances: 0 },
    ]);
  });

  it('has no number of available ones while it selects one that another node knows', () => {
    const bench = fleet();
    bench.statuses.follow();
    bench.syncTarget('a', 'eu:a');
    bench.syncTarget('b', 'eu:paris:b');
    bench.location('fronts', fronts);
    bench.connect('a');
    expect(bench.counts('fronts')).toEqual({ instances: 2 });
    bench.space.delete({ ...syncTargetResource, namespace: '', name: 'b' });
    bench.settle();
    expect(bench.counts('fronts')).toEqual({ instances: 1, availableInstances: 1 });
  });

  it('with many SyncTargets is processed in bounded steps', () => {
    const bench = fleet();
    for (let i = 0; i < 120; i++) bench.syncTarget(`t-${i}`, `eu:t-${i}`);
    bench.statuses.follow();
    expect([1, 2, 3].map(() => bench.statuses.show(0))).toEqual([true, true, false]);
    expect(bench.target('t-119')).toMatchObject({ conditions: [{ status: 'False' }] });
  });
});
