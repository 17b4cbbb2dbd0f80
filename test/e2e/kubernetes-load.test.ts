import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { type Audited, ControlPlane } from '../support/control-plane/control-plane.ts';
import { LocalTree, until, withoutKubectl } from './local-tree.ts';

const missing = withoutKubectl ?? withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
const buildMsMax = 3_600_000;
const objects = 2_000;
const space = 'space/center/retail';
/** A watch ends after five minutes at the earliest, node sums are asked for each minute. */
const idleMs = 10_000;

describe.skipIf(missing)(`two thousand objects of one placement on a real cluster${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-load-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  let plane: ControlPlane;
  /** What the agent has asked of the API server. */
  const asked = (): Audited[] =>
    plane.audited().filter(({ userAgent, stage }) => userAgent === 'banyan-agent' && stage === 'ResponseComplete');
  const ofBulk = (requests: readonly Audited[], verb: string) =>
    requests.filter(
      (one) => one.verb === verb && one.objectRef?.namespace === 'bulk' && one.objectRef.resource === 'configmaps',
    );
  const display = () => tree.json<{ status?: { display?: string } }>(space, 'epl', 'bulk')?.status?.display;

  beforeAll(async () => {
    plane = await ControlPlane.start({ directory: join(directory, 'plane'), audit: true });
    writeFileSync(join(directory, 'topology.yaml'), stringify(topologyWith(plane.kubeconfig)));
    await tree.up();
  }, buildMsMax);
  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  }, 60_000);

  it('applies each of them once, and is never told to wait by the API server', async () => {
    const file = join(directory, 'bulk.json');
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: bulk() }));
    tree.ok(space, 'create', '-f', file);
    await until('all are available', () => display() === 'available 1/1', 100_000);
    const requests = asked();
    expect(ofBulk(requests, 'patch')).toHaveLength(objects);
    expect(requests.filter(({ responseStatus }) => responseStatus?.code === 429)).toEqual([]);
  }, 150_000);

  it('makes one patch of one change', async () => {
    const before = asked();
    tree.ok(space, 'patch', 'configmap', 'c7', '-n', 'bulk', '-p', JSON.stringify({ data: { text: 'changed' } }));
    await until('it is there', () => ofBulk(asked(), 'patch').length > ofBulk(before, 'patch').length);
    await until('it is told', () => display() === 'available 1/1');
    const since = asked().slice(before.length);
    expect(ofBulk(since, 'patch').map(({ objectRef }) => objectRef?.name)).toEqual(['c7']);
    expect(ofBulk(since, 'list')).toEqual([]);
  }, 60_000);

  it('asks nothing while nothing happens', async () => {
    const before = asked().length;
    await delay(idleMs);
    expect(asked().slice(before)).toEqual([]);
  }, 60_000);
});

function bulk(): object[] {
  const metadata = { namespace: 'bulk', labels: { part: 'bulk' } };
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'bulk' } },
    {
      apiVersion: 'edge.banyan.io/v1alpha1',
      kind: 'EdgePlacement',
      metadata: { name: 'bulk' },
      spec: {
        locationSelectors: [{ matchLabels: { env: 'prod' } }],
        downsync: [{ apiGroup: '*', resources: ['*'], namespaces: ['bulk'] }],
      },
    },
    ...Array.from({ length: objects }, (_, i) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { ...metadata, name: `c${i}` },
      data: { text: `object ${i} `.repeat(20) },
    })),
  ];
}

function topologyWith(kubeconfig: string): object {
  return {
    apiVersion: 'banyan.io/v1alpha1',
    kind: 'Topology',
    metadata: { name: 'load' },
    spec: {
      center: { spaces: [{ name: 'retail', type: 'Workload' }] },
      clusters: [{ name: 'rivoli', labels: { env: 'prod' }, provider: { kubeconfig: { path: kubeconfig } } }],
    },
  };
}
