/** An agent written from docs/protocol.md alone (test/protocol), at a real center: a gap in the page would show here. */
import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issueNode } from '../../core/identity/authority.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { Kept, Outsider, type Place } from '../protocol/outsider.ts';
import { hash } from '../protocol/rows.ts';
import { LocalTree, until } from './local-tree.ts';

const topology = join(tmpdir(), `banyan-outsider-${process.pid}.yaml`);
writeFileSync(
  topology,
  `apiVersion: banyan.io/v1alpha1
kind: Topology
metadata: {name: outside}
spec:
  center: {spaces: [{name: retail}]}
`,
);
const tree = new LocalTree(topology);
const kept = new Kept();
let place: Place;
let agent: Outsider;

const configMap = (name: string, value: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'shop' },
  data: { value },
});
const put = (name: string, value: string) => tree.apply('space/center/retail', configMap(name, value));
const names = () => [...kept.rows.values()].map(({ key }) => key).sort();
const data = (name: string) => {
  const row = kept.row(`o/center.retail//configmaps/shop/${name}`);
  return row && (JSON.parse(row.body.toString()) as { data: { value: string } }).data.value;
};
async function attach(): Promise<void> {
  agent = new Outsider(kept, place);
  await agent.attach();
  await until(
    'the second implementation has all there is',
    () => agent.caughtUp || agent.refused !== '' || agent.ended !== undefined,
    20,
  );
  expect([agent.refused, agent.ended]).toEqual(['', undefined]);
}

/** All objects of the parent's present state are available here. */
function reportPartial(): void {
  const { target, generation } = JSON.parse(kept.row('t/center.retail/all')!.attributes.toString()) as Record<
    string,
    number
  >;
  const counts = { expected: 1, fresh: 1, synced: 1, applied: 1, available: 1 };
  kept.report('partial/center.retail/all', {}, { generation: generation!, target: target!, counts, failures: [] });
}

interface Placement {
  readonly status?: { readonly summary?: Readonly<Record<string, number>> };
}
const summary = () => tree.json<Placement>('space/center/retail', 'edgeplacement', 'all')?.status?.summary;

beforeAll(async () => {
  await tree.up();
  const inventory = {
    apiVersion: 'inventory.banyan.io/v1alpha1',
    metadata: { name: 'outsider', labels: { env: 'prod' } },
  };
  tree.apply('node/center', { ...inventory, kind: 'SyncTarget', spec: {} });
  tree.apply('node/center', { ...inventory, kind: 'Location', spec: {} });
  tree.ok('space/center/retail', 'create', 'namespace', 'shop');
  for (const name of ['a', 'b', 'c']) put(name, '1');
  tree.apply('space/center/retail', {
    apiVersion: 'edge.banyan.io/v1alpha1',
    kind: 'EdgePlacement',
    metadata: { name: 'all' },
    spec: {
      locationSelectors: [{ matchLabels: { env: 'prod' } }],
      downsync: [{ apiGroup: '', resources: ['configmaps'], namespaces: ['shop'] }],
    },
  });
  const pki = (file: string) => readFileSync(join(tree.data, 'pki', file), 'utf8');
  const authority = { certPem: pki('ca.crt'), keyPem: pki('ca.key') };
  const asked = { tree: 'outside', path: 'outsider', role: 'agent', hosts: ['127.0.0.1'] } as const;
  const { certPem, keyPem } = await issueNode(authority, asked, { clock: systemClock, random: systemRandom });
  const ports = JSON.parse(readFileSync(join(tree.data, 'ports.json'), 'utf8')) as Record<string, { mesh: number }>;
  place = {
    address: `127.0.0.1:${ports['']!.mesh}`,
    path: 'outsider',
    identity: { ca: authority.certPem, cert: certPem, key: keyPem },
  };
});

afterAll(() => tree[Symbol.asyncDispose]());

describe('an agent written from the protocol page alone', () => {
  it('attaches, and gets its mailbox', async () => {
    await attach();
    expect(agent.parent).toContain('URI:spiffe://outside/node/center');
    await until('all three are there', () => ['a', 'b', 'c'].every((name) => data(name) === '1'));
    expect(names()).toContain('t/center.retail/all');
    expect(agent.resumed).toBe(true);
  });

  it('reports what it has applied, and is counted', async () => {
    reportPartial();
    kept.report('node/outsider', { role: 'agent', version: 'second/1' });
    agent.push();
    await until('it is acknowledged', () => agent.acknowledged === kept.head);
    await until('it is in the summary', () => summary()?.available === 1);
    expect(summary()).toMatchObject({ expected: 1, fresh: 1, available: 1 });
  });

  it('gets a change and a deletion when they happen', async () => {
    put('b', '2');
    tree.ok('space/center/retail', 'delete', 'configmap', 'c', '-n', 'shop');
    await until('both have come', () => data('b') === '2' && data('c') === undefined);
  });

  it('resumes from its cursor after a restart, and gets only the changes since then', async () => {
    agent.close();
    put('a', '2');
    await attach();
    expect(agent.resumed).toBe(true);
    await until('the change has come', () => data('a') === '2');
    expect(agent.receivedEntries).toBeLessThanOrEqual(3);
    expect(agent.receivedKinds).not.toContain('request');
  });

  it('reconciles when it may not resume, and ends with exactly the rows of its parent', async () => {
    agent.close();
    const right = names();
    const at = (name: string) => hash(`o/center.retail//configmaps/shop/${name}`).toString('hex');
    kept.rows.set(at('b'), { ...kept.rows.get(at('b'))!, body: Buffer.from('{}') });
    kept.rows.put({
      key: 'o/center.retail//configmaps/shop/ghost',
      attributes: Buffer.from('{}'),
      body: Buffer.from('{}'),
      originRevision: 1,
    });
    kept.rows.delete(at('a'));
    kept.tuple = { ...kept.tuple, incarnation: '00'.repeat(16) };
    agent = new Outsider(kept, place);
    await agent.attach();
    await until('it has caught up', () => agent.caughtUp);
    expect(agent.receivedKinds).toContain('reply');
    expect(names()).toEqual(right);
    expect([data('a'), data('b')]).toEqual(['2', '2']);
    expect(agent.receivedEntries).toBe(2);
    await until('a beat has brought the digest of the parent', () => agent.digestAgrees !== undefined);
    expect(agent.digestAgrees).toBe(true);
  });

  it('answers the reconciliation of its parent when the parent may not resume', async () => {
    agent.close();
    // Like a store that was restored: it does not have the incarnation that the parent knows.
    kept.incarnations.length = 0;
    reportPartial();
    await attach();
    await until(
      'the parent has asked and is content',
      () => agent.receivedKinds.includes('request') && agent.acknowledged === kept.head,
    );
    await until('it is in the summary', () => summary()?.available === 1);
    agent.close();
  });
});
