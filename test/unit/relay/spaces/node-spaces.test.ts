import { describe, expect, it } from 'vitest';
import type { Space } from '../../../../core/apiserver/space.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
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

describe('a space that is removed', () => {
  const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  const limited: NodeConfig['spaces'] = [{ name: 'retail', type: 'Workload', limits: { objects: 10 } }];

  it('stays as it is on a full disk, and begins empty after it was removed', async () => {
    const store = new MemoryStore();
    const spaces = startedSpaces(store, limited);
    const space = spaces.named('retail')!;
    space.create(namespace('shop'));
    await store.flushed();
    store.failFlush(new BanyanError('StoreFull', 'no room'));
    expect(() => spaces.remove('retail')).toThrow('no room');
    expect(spaces.named('retail')).toBe(space);
    store.crash();
    spaces.remove('retail');
    expect(spaces.named('retail')).toBeUndefined();
    spaces.open('retail', 'Workload');
    expect(spaces.named('retail')!.get(space.keyOf(namespace('shop')))).toBeUndefined();
  });

  it('leaves its counts to the next space of its name', () => {
    const clock = new VirtualClock();
    const spaces = startedSpaces(new MemoryStore(), limited, clock);
    const spaceAfter = (ms: number) => {
      clock.advance(ms);
      return spaces.system.get({ ...of, namespace: '', name: 'retail' })!;
    };
    spaces.named('retail')!.create(namespace('shop'));
    const { objects } = (spaceAfter(2_000).status as { usage: { objects: number } }).usage;
    spaces.remove('retail');
    spaces.open('retail', 'Workload');
    for (const name of ['till', 'desk']) spaces.named('retail')!.create(namespace(name));
    const shown = spaceAfter(2_000);
    expect(shown.status).toMatchObject({ usage: { objects: objects + 1 } });
    expect(spaceAfter(10_000).metadata.resourceVersion).toBe(shown.metadata.resourceVersion);
  });
});
