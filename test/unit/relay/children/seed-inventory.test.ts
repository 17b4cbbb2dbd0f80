import { beforeEach, describe, expect, it } from 'vitest';
import type { Space } from '../../../../core/apiserver/space.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { seedInventory } from '../../../../relay/children/seed-inventory.ts';
import { openSpace } from '../../../../relay/spaces/own-spaces.ts';
import { Turns } from '../../core/apiserver/lifecycle/turns.ts';

const entry = {
  name: 'store-17',
  labels: { env: 'prod' },
  annotations: { 'store-name': 'Rivoli' },
  properties: { 'carbon.gPerKWh': '56' },
};

describe('the inventory of a configuration', () => {
  let space: Space;

  beforeEach(() => {
    const ports = {
      path: '',
      store: new MemoryStore(),
      clock: new VirtualClock(),
      random: new SeededRandom(1),
      log: silentLogger,
      defer: new Turns().schedule,
    };
    ({ space } = openSpace(ports, 'system', 'System', () => {}));
  });

  function get(kind: string, name = 'store-17') {
    return space.get(space.keyOf({ apiVersion: 'inventory.banyan.io/v1alpha1', kind, metadata: { name } }));
  }

  it('is a Location with labels and annotations, and a SyncTarget with properties, of the same name', () => {
    seedInventory(space, [entry]);
    expect(get('Location')?.metadata).toMatchObject({ labels: entry.labels, annotations: entry.annotations });
    expect(get('SyncTarget')).toMatchObject({
      metadata: { labels: entry.labels },
      spec: { properties: entry.properties },
    });
  });

  it('leaves people’s later changes, as long as the configuration is the same', () => {
    seedInventory(space, [entry]);
    const location = get('Location')!;
    space.update({ ...location, metadata: { ...location.metadata, labels: { env: 'lab' } } });
    seedInventory(space, [entry]);
    expect(get('Location')?.metadata.labels).toEqual({ env: 'lab' });
  });

  it('is written again when the configuration changes, except for fields that the configuration never had', () => {
    seedInventory(space, [entry]);
    const location = get('Location')!;
    space.update({ ...location, metadata: { ...location.metadata, labels: { env: 'lab', note: 'mine' } } });
    seedInventory(space, [{ ...entry, labels: { env: 'prod', zone: 'west' } }]);
    expect(get('Location')?.metadata.labels).toEqual({ env: 'prod', zone: 'west', note: 'mine' });
  });

  it('removes values that the configuration no longer has', () => {
    seedInventory(space, [entry]);
    seedInventory(space, [{ ...entry, labels: {}, annotations: {} }]);
    expect(get('Location')?.metadata.labels ?? {}).toEqual({});
    expect(get('Location')?.metadata.annotations).not.toHaveProperty('store-name');
  });

  it('deletes no place that the configuration no longer names', () => {
    seedInventory(space, [entry, { ...entry, name: 'store-18' }]);
    seedInventory(space, [entry]);
    expect(get('SyncTarget', 'store-18')).toBeDefined();
  });
});
