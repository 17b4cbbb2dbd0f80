import { expect, it } from 'vitest';
import { prunedWrong } from '../../../sim/check/pruned.ts';
import type { PlannedNode } from '../../../sim/plan/tree.ts';
import { WrittenWorld } from '../written.ts';

const nodes: PlannedNode[] = [
  { path: '', role: 'center', labels: {}, spaces: ['retail'] },
  { path: 'r', role: 'relay', labels: {}, spaces: [] },
  { path: 'r:a', role: 'agent', labels: {}, spaces: [] },
];
const placement = { key: 't/center.retail/shop', body: {} };
const object = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'shop' },
  spec: { move: { strategy: 'None' } },
};

/** The violation if the relay reports these labels; `reaches` are the mailboxes with the placement. */
function wrong(labels: object, ...reaches: readonly string[]): string | undefined {
  const written = new WrittenWorld(nodes);
  if (reaches.includes('r')) written.put('', 'mailbox/r', placement);
  if (reaches.includes('a')) written.put('r', 'mailbox/a', placement);
  written.put('', 'reported/r', { key: 'labels', attributes: { leaves: 1, ...labels } });
  const place = { path: 'r:a', labels: { env: 'prod' }, annotations: {}, properties: {} };
  const agents = ['r:a'];
  const of = { host: written.host(''), space: 'retail', object, agents, broken: [], isUnfinished: false };
  const placements = [{ ...of, delivered: [{ place, object }] }];
  return prunedWrong(written.world, { objects: new Map(), placements, waiting: new Set() }, () => false);
}

it('finds nothing if every node on the way has the placement, and reports the labels', () => {
  expect(wrong({ sets: [{ labels: { env: 'prod', region: 'eu' }, leaves: 1 }] }, 'r', 'a')).toBeUndefined();
  const env = { present: 1, values: { prod: 1 }, complete: true };
  expect(wrong({ keys: { env } }, 'r', 'a')).toBeUndefined();
});

it('takes a report that is no label summary for one without labels', () => {
  expect(wrong({ sets: [7] }, 'r', 'a')).toBe('r does not report {"env":"prod"} below it');
});

it('asks, of several replicas, one that receives from above', () => {
  const written = new WrittenWorld(nodes.map((node) => (node.path === 'r' ? { ...node, replicas: 2 } : node)));
  const place = { path: 'r:a', labels: {}, annotations: {}, properties: {} };
  const of = { host: written.host(''), space: 'retail', object, agents: ['r:a'], broken: [], isUnfinished: false };
  const model = {
    objects: new Map(),
    placements: [{ ...of, delivered: [{ place, object }] }],
    waiting: new Set<string>(),
  };
  written.put('r', 'mailbox/a');
  written.put('r~1', 'mailbox/a', placement);
  const now = () => prunedWrong(written.world, model, () => false);
  expect(now()).toBe('r does not send center.retail/shop towards r:a');
  written.world.network.line(written.host('r'), written.host('')).cut = true;
  expect(now()).toBeUndefined();
});

it('finds a node on the way that has pruned a matching placement, or a relay that does not report a label', () => {
  const summary = { sets: [{ labels: { env: 'prod' }, leaves: 1 }] };
  expect(wrong(summary, 'a')).toBe('center does not send center.retail/shop towards r:a');
  expect(wrong(summary, 'r')).toBe('r does not send center.retail/shop towards r:a');
  expect(wrong({ sets: [{ labels: { env: 'test' }, leaves: 1 }] }, 'r', 'a')).toBe(
    'r does not report {"env":"prod"} below it',
  );
});
