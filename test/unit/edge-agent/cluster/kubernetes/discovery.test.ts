import { expect, test } from 'vitest';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import type { ClusterApiClient } from '../../../../../edge-agent/cluster/kubernetes/api-client.ts';
import { Discovery } from '../../../../../edge-agent/cluster/kubernetes/discovery.ts';

const verbs = ['get', 'list', 'watch', 'patch', 'delete'];
const resources = [{ resource: 'tills', responseKind: { kind: 'Till' }, scope: 'Namespaced', verbs }];
const group = (version: object) => ({ metadata: { name: 'shop.example' }, versions: [{ version: 'v1', ...version }] });

test('all groups are asked for again from time to time, also during continuous requests', async () => {
  const clock = new VirtualClock();
  const client = { json: async () => ({ items: [group({ freshness: 'Stale' })] }) };
  const discovery = new Discovery(client as unknown as ClusterApiClient, clock);
  const refreshed: number[] = [];
  for (let minute = 1; minute <= 20; minute++) {
    clock.advance(60_000);
    if (discovery.refresh()) refreshed.push(minute);
    await discovery.all();
  }
  expect(refreshed).toEqual([10, 20]);
});

test('a missing group is asked for again within a minute, and all others after ten', async () => {
  const clock = new VirtualClock();
  let groups: object[] = [group({ freshness: 'Stale' })];
  const client = { json: async ({ path }: { path: string }) => ({ items: path === '/apis' ? groups : [] }) };
  const discovery = new Discovery(client as unknown as ClusterApiClient, clock);
  expect([...(await discovery.unknownGroups())]).toEqual(['shop.example']);
  groups = [group({ resources })];
  clock.advance(20_000);
  expect([discovery.refresh(), (await discovery.all()).length]).toEqual([false, 0]);
  clock.advance(40_000);
  expect([discovery.refresh(), (await discovery.all()).length]).toEqual([false, 1]);
  groups = [];
  clock.advance(60_000);
  expect([discovery.refresh(), (await discovery.all()).length]).toEqual([false, 1]);
  clock.advance(540_000);
  expect([discovery.refresh(), (await discovery.all()).length]).toEqual([true, 0]);
});
