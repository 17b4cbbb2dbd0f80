import { expect, test } from 'vitest';
import { describeNodes } from '../../../../../edge-agent/cluster/kubernetes/node-sums.ts';

const node = (capacity: Record<string, string>, allocatable = capacity) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n' },
  status: { capacity, allocatable },
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
  expect(describeNodes([{ apiVersion: 'v1', kind: 'Node', metadata: {} }])).toMatchObject({ nodes: 1, capacity: {} });
});
