import { expect, test } from 'vitest';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import type { Cluster } from '../../../../../edge-agent/cluster/cluster.ts';
import { describeNodes, NodeSums } from '../../../../../edge-agent/cluster/kubernetes/node-sums.ts';

const node = (capacity: Record<string, string>, allocatable = capacity) => ({
  capacity,
  allocatable,
});

test('what nodes have is added up by resource, each in the units that nodes use', () => {
  const described = describeNodes([
    node({ cpu: '4', memory: '16Gi', pods: '110' }, { cpu: '3500m', memory: '15Gi', pods: '110' }),
    node({ cpu: '2', memory: '8388608Ki', pods: '110', 'example.com/gpu': '1' }, { cpu: '1', memory: '7Gi' }),
  ]);
  expect(described).toEqual({
    nodes: 2,
    capacity: { cpu: '6', memory: `${24 * 1024 * 1024}Ki`, pods: '220', 'example.com/gpu': '1' },
    allocatable: { cpu: '4500m', memory: `${22 * 1024 * 1024}Ki`, pods: '110' },
  });
});

test('a cluster without nodes has nothing, and what is no quantity is left out', () => {
  expect(describeNodes([])).toEqual({ nodes: 0, capacity: {}, allocatable: {} });
  expect(describeNodes([node({ cpu: 'many', pods: '1' })]).capacity).toEqual({ pods: '1' });
  expect(describeNodes([{}])).toMatchObject({ nodes: 1, capacity: {} });
});

test('nodes are listed once and followed from then on', async () => {
  let events: Parameters<Cluster['watch']>[1] | undefined;
  let watches = 0;
  const sums = new NodeSums(new VirtualClock(), (told) => {
    events = told;
    watches++;
    return () => watches--;
  });
  const tell = (type: 'ADDED' | 'MODIFIED' | 'DELETED', name: string, cpu: string) =>
    events!.on({
      type,
      key: { group: '', resource: 'nodes', namespace: '', name },
      object: { apiVersion: 'v1', kind: 'Node', metadata: { name }, status: { capacity: { cpu } } },
    });
  const first = sums.described();
  tell('ADDED', 'a', '2');
  tell('ADDED', 'b', '4');
  events!.synced();
  expect(await first).toMatchObject({ nodes: 2, capacity: { cpu: '6' } });
  tell('MODIFIED', 'a', '3');
  tell('DELETED', 'b', '4');
  expect(await sums.described()).toMatchObject({ nodes: 1, capacity: { cpu: '3' } });
  expect(watches).toBe(1);
  sums.stop();
  expect(watches).toBe(0);
});

test('an agent that may not list nodes says so little after a while', async () => {
  const clock = new VirtualClock();
  const sums = new NodeSums(clock, () => () => {});
  const described = sums.described();
  clock.advance(5_000);
  expect(await described).toEqual({ nodes: 0, capacity: {}, allocatable: {} });
});
