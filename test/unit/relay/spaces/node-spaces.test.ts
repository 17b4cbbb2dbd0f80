import { describe, expect, it } from 'vitest';
import type { Space } from '../../../../core/apiserver/space.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import type { NodeConfig } from '../../../../relay/config/config.ts';
import { startedSpaces } from '../support/started-spaces.ts';

const of = { group: 'mesh.banyan.io', resource: 'spaces' };

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
    expect(shown(startedSpaces(new MemoryStore(), spaces).system)).toEqual(['ops Inventory', 'retail Workload']);
  });

  it('stay with their labels over a start', () => {
    const store = new MemoryStore();
    const spaces: NodeConfig['spaces'] = [{ name: 'retail', type: 'Workload' }];
    const first = startedSpaces(store, spaces);
    const key = { ...of, namespace: '', name: 'retail' };
    const labelled = first.system.patch(key, { type: 'merge', patch: { metadata: { labels: { team: 'till' } } } });
    first.close();
    const { uid, labels } = startedSpaces(store, spaces).system.get(key)!.metadata;
    expect([uid, labels]).toEqual([labelled.metadata.uid, { team: 'till' }]);
  });

  it('go when the configuration no longer names the space, and start anew with another type', () => {
    const store = new MemoryStore();
    startedSpaces(store, [
      { name: 'old', type: 'Workload' },
      { name: 'ops', type: 'Workload' },
    ]).close();
    expect(shown(startedSpaces(store, [{ name: 'ops', type: 'Inventory' }]).system)).toEqual(['ops Inventory']);
  });
});
