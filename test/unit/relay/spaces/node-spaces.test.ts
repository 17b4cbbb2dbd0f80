import { describe, expect, it } from 'vitest';
import type { Space } from '../../../../core/apiserver/space.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import type { NodeConfig } from '../../../../relay/config/config.ts';
import { childrenSchema } from '../../../../relay/config/config.ts';
import { NodeSpaces } from '../../../../relay/spaces/node-spaces.ts';

const of = { group: 'mesh.banyan.io', resource: 'spaces' };

function started(store: MemoryStore, spaces: NodeConfig['spaces']): NodeSpaces {
  const clock = new VirtualClock();
  const ports = { store, clock, random: new SeededRandom(1), log: silentLogger, defer: () => {}, path: '' };
  return new NodeSpaces(
    ports,
    { spaces, access: { fromAbove: 'grants' }, children: childrenSchema.parse({}) },
    {
      inventoryChanged: () => {},
      revocationsChanged: () => {},
      claimsChanged: () => {},
      metricsAccountsChanged: () => {},
    },
  );
}

function shown(system: Space): string[] {
  const objects = system.storage.scan(of).map((stored) => system.parse(stored));
  return objects.map(({ metadata, spec }) => `${metadata.name} ${(spec as { type: string }).type}`);
}

describe('the Space objects of a node', () => {
  it('are those of its configuration', () => {
    const spaces: NodeConfig['spaces'] = [
      { name: 'ops', type: 'Inventory' },
      { name: 'retail', type: 'Workload' },
    ];
    expect(shown(started(new MemoryStore(), spaces).system)).toEqual(['ops Inventory', 'retail Workload']);
  });

  it('stay with their labels over a start', () => {
    const store = new MemoryStore();
    const spaces: NodeConfig['spaces'] = [{ name: 'retail', type: 'Workload' }];
    const first = started(store, spaces);
    const key = { ...of, namespace: '', name: 'retail' };
    const labelled = first.system.patch(key, { type: 'merge', patch: { metadata: { labels: { team: 'till' } } } });
    first.close();
    const { uid, labels } = started(store, spaces).system.get(key)!.metadata;
    expect([uid, labels]).toEqual([labelled.metadata.uid, { team: 'till' }]);
  });

  it('go when the configuration no longer names the space, and start anew with another type', () => {
    const store = new MemoryStore();
    started(store, [
      { name: 'old', type: 'Workload' },
      { name: 'ops', type: 'Workload' },
    ]).close();
    expect(shown(started(store, [{ name: 'ops', type: 'Inventory' }]).system)).toEqual(['ops Inventory']);
  });
});
