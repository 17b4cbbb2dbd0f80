import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kubectlBy, type LocalTree, until } from '../e2e/local-tree.ts';
import { buildMsMax } from '../e2e/one-site.ts';
import { RealCluster } from '../e2e/real-cluster.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import type { Audited, ControlPlane } from '../support/control-plane/control-plane.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const missing = withoutKubectl ?? withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
const objects = 2_000;
const space = 'space/center/retail';
/** A watch ends after five minutes at the earliest, and node sums are asked for each minute. */
const idleMs = 10_000;

interface Failure {
  readonly reason?: string;
  readonly object?: string;
}

interface Shown {
  readonly display?: string;
  readonly failures?: readonly Failure[];
}

describe.skipIf(missing)(`two thousand objects of one placement on a real cluster${why}`, () => {
  let cluster: RealCluster;
  let tree: LocalTree;
  let plane: ControlPlane;
  /** The agent's requests to the API server. */
  const asked = (): Audited[] =>
    plane.audited().filter(({ userAgent, stage }) => userAgent === 'banyan-agent' && stage === 'ResponseComplete');
  const ofBulk = (requests: readonly Audited[], verb: string) =>
    requests.filter(
      (one) => one.verb === verb && one.objectRef?.namespace === 'bulk' && one.objectRef.resource === 'configmaps',
    );
  const ofBulkStatus = () => tree.json<{ status?: Shown }>(space, 'epl', 'bulk')?.status;
  const display = () => ofBulkStatus()?.display;
  const site = (...args: string[]) => kubectlBy(plane.kubeconfig, args);

  beforeAll(async () => {
    cluster = await RealCluster.start('load', { audit: true });
    ({ tree, plane } = cluster);
  }, buildMsMax);
  afterAll(() => cluster?.[Symbol.asyncDispose]());

  it('are applied once each with few reads before, leave alone the objects of another program, and never reach the rate limit of the API server', async () => {
    expect(site('create', 'namespace', 'bulk').code).toBe(0);
    // With the same fields, so that an apply that merges would meet no conflict.
    const theirs = JSON.stringify(configMap('theirs'));
    const kept = kubectlBy(plane.kubeconfig, ['apply', '--server-side', '--field-manager=helm', '-f', '-'], theirs);
    expect(kept.code, kept.out).toBe(0);
    const live = () => site('get', 'configmap', 'theirs', '-n', 'bulk', '-o', 'yaml', '--show-managed-fields').out;
    const before = live();
    const file = join(cluster.directory, 'bulk.json');
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [...bulk(), configMap('theirs')] }));
    tree.ok(space, 'create', '-f', file);
    const isRefused = ({ object, reason }: Failure) => object === 'configmaps bulk/theirs' && reason === 'NotOwned';
    await until('one is refused', () => ofBulkStatus()?.failures?.some(isRefused) ?? false, 100);
    const made = () => ofBulk(asked(), 'patch').filter(({ responseStatus }) => responseStatus?.code === 201);
    await until('the others are made', () => made().length === objects, 100);
    const requests = asked();
    // One request is about the existing object, one tests whether the server notices an existing object.
    expect(ofBulk(requests, 'patch').length).toBeLessThanOrEqual(objects + 2);
    expect(ofBulk(requests, 'get').length).toBeLessThan(objects / 20);
    expect(requests.filter(({ responseStatus }) => responseStatus?.code === 429)).toEqual([]);
    tree.ok(space, 'delete', 'configmap', 'theirs', '-n', 'bulk');
    await until('all are available', () => display() === 'available 1/1', 100);
    expect(live()).toBe(before);
  }, 300_000);

  it('cause one patch for one change', async () => {
    const before = asked();
    tree.ok(space, 'patch', 'configmap', 'c7', '-n', 'bulk', '-p', JSON.stringify({ data: { text: 'changed' } }));
    await until('it is there', () => ofBulk(asked(), 'patch').length > ofBulk(before, 'patch').length);
    await until('it is told', () => display() === 'available 1/1');
    const since = asked().slice(before.length);
    expect(ofBulk(since, 'patch').map(({ objectRef }) => objectRef?.name)).toEqual(['c7']);
    expect(ofBulk(since, 'list')).toEqual([]);
  });

  it('cause no requests while nothing changes', async () => {
    const before = asked().length;
    await delay(idleMs);
    expect(asked().slice(before)).toEqual([]);
  });
});

function bulk(): object[] {
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
    ...Array.from({ length: objects }, (_, i) => configMap(`c${i}`)),
  ];
}

function configMap(name: string): object {
  const metadata = { namespace: 'bulk', labels: { part: 'bulk' }, name };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { text: `object ${name} `.repeat(20) } };
}
