import { expect, test } from 'vitest';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import type { Cluster } from '../../../../../edge-agent/cluster/cluster.ts';
import { describeNodes } from '../../../../../edge-agent/cluster/described-nodes.ts';
import { NodeSums } from '../../../../../edge-agent/cluster/kubernetes/node-sums.ts';

const node = (capacity: Record<string, string>, allocatable = capacity) => ({
  capacity,
  allocatable,
});

/** The nodes of the test, and how often the description was to be repeated. */
function followed() {
  const received: { events?: Parameters<Cluster['watch']>[1]; changes: number } = { changes: 0 };
  const watch = (events: Parameters<Cluster['watch']>[1]) => {
    received.events = events;
    return () => {};
  };
  return { sums: new NodeSums(new VirtualClock(), watch, () => received.changes++), received };
}

test('the capacity of nodes is added up by resource, each in the units that nodes use', () => {
  const described = describeNodes([
    node({ cpu: '4', memory: '16Gi', pods: '110' }, { cpu: '3500m', memory: '15Gi', pods: '110' }),
    node({ cpu: '2', memory: '8388608Ki', pods: '110', 'example.com/gpu': '1' }, { cpu: '1', memory: '7Gi' }),
  ]);
  expect(described).toEqual({
    nodes: 2,
    nodesReady: 0,
    capacity: { cpu: '6', memory: `${24 * 1024 * 1024}Ki`, pods: '220', 'example.com/gpu': '1' },
    allocatable: { cpu: '4500m', memory: `${22 * 1024 * 1024}Ki`, pods: '110' },
  });
});

test('a cluster without nodes has no capacity, and invalid quantities are left out', () => {
  expect(describeNodes([])).toEqual({ nodes: 0, nodesReady: 0, capacity: {}, allocatable: {} });
  expect(describeNodes([node({ cpu: 'many', pods: '1' })]).capacity).toEqual({ pods: '1' });
  expect(describeNodes([{}])).toMatchObject({ nodes: 1, capacity: {} });
});

test('nodes are listed once and watched from then on', async () => {
  let events: Parameters<Cluster['watch']>[1] | undefined;
  let watches = 0;
  const sums = new NodeSums(new VirtualClock(), (listener) => {
    events = listener;
    watches++;
    return () => watches--;
  });
  const report = (type: 'ADDED' | 'MODIFIED' | 'DELETED', name: string, cpu: string) =>
    events!.on({
      type,
      key: { group: '', resource: 'nodes', namespace: '', name },
      object: { apiVersion: 'v1', kind: 'Node', metadata: { name }, status: { capacity: { cpu } } },
    });
  const first = sums.described();
  report('ADDED', 'a', '2');
  report('ADDED', 'b', '4');
  events!.synced(new Set());
  expect(await first).toMatchObject({ nodes: 2, capacity: { cpu: '6' } });
  report('MODIFIED', 'a', '3');
  report('DELETED', 'b', '4');
  expect(await sums.described()).toMatchObject({ nodes: 1, capacity: { cpu: '3' } });
  expect(watches).toBe(1);
  sums.stop();
  expect(watches).toBe(0);
});

test('nodes that do not arrive are unknown, and not zero', async () => {
  const clock = new VirtualClock();
  const sums = new NodeSums(clock, () => () => {});
  const described = sums.described();
  clock.advance(5_000);
  expect(await described).toEqual({});
});

test('an agent that may not list nodes reports this at once, and counts them when it may', async () => {
  const { sums, received } = followed();
  const described = sums.described();
  received.events!.trouble?.(new BanyanError('Forbidden', 'nodes is forbidden'));
  expect(await described).toEqual({});
  expect(sums.refusal?.message).toBe('nodes is forbidden');
  received.events!.trouble?.(undefined);
  received.events!.synced(new Set());
  expect([sums.refusal, await sums.described()]).toMatchObject([undefined, { nodes: 0 }]);
  expect(received.changes).toBe(3);
});

test('a change is reported if it changes the description, and not when a node only repeats its state', async () => {
  const { sums, received } = followed();
  const report = (status: 'True' | 'False', lastHeartbeatTime: string) =>
    received.events!.on({
      type: 'MODIFIED',
      key: { group: '', resource: 'nodes', namespace: '', name: 'a' },
      object: {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name: 'a' },
        status: { conditions: [{ type: 'Ready', status, lastHeartbeatTime }] },
      },
    });
  const first = sums.described();
  report('True', '10:00');
  received.events!.synced(new Set());
  expect(await first).toMatchObject({ nodes: 1, nodesReady: 1 });
  received.changes = 0;
  report('True', '10:05');
  expect(received.changes).toBe(0);
  report('False', '10:10');
  expect([received.changes, await sums.described()]).toMatchObject([1, { nodes: 1, nodesReady: 0 }]);
});
