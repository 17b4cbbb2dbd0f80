/** A cluster of K3s, as many sites run it, if this machine has the image. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { kubectlBy, LocalTree, until } from '../e2e/local-tree.ts';
import { placedInProduction } from '../e2e/placements.ts';
import { type RunningK3s, startK3s, withoutK3s } from '../support/k3s.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const missing = withoutKubectl ?? withoutK3s;
const why = missing ? ` [not run: ${missing}]` : '';
const retail = 'space/center/retail';

interface Shown {
  readonly status?: {
    readonly kubernetesVersion?: string;
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly summary?: Readonly<Record<string, number>>;
  };
}

describe.skipIf(missing)(`a cluster of K3s${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-k3s-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  let k3s: RunningK3s | undefined;
  const site = (...args: string[]) => kubectlBy(k3s?.kubeconfig ?? '', args);

  beforeAll(async () => {
    k3s = await startK3s(join(directory, 'k3s.kubeconfig'));
    writeFileSync(join(directory, 'topology.yaml'), stringify(topologyOf(k3s.kubeconfig)));
    await tree.up();
  }, 300_000);
  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    await k3s?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('gets its placed objects, and reports their state', async () => {
    tree.ok(retail, 'create', 'namespace', 'shop');
    tree.ok(retail, 'create', 'configmap', 'prices', '-n', 'shop', '--from-literal=bread=1');
    tree.ok(retail, 'create', 'deployment', 'till', '-n', 'shop', '--image=registry.example.com/till');
    expect(tree.apply(retail, placedInProduction('shop')).code).toBe(0);
    await until('all is there', () => site('get', 'cm/prices', 'deploy/till', '-n', 'shop').code === 0);
    // Made by the cluster's own controllers. That its image can't be pulled does not matter here.
    await until('it has a pod', () => /^pod\/till-/m.test(site('get', 'pods', '-n', 'shop', '-o', 'name').out));
    const status = () => tree.json<Shown>('mailbox/eu:shop', 'deployment', 'till', '-n', 'shop')?.status;
    await until('its status is told', () => status()?.replicas === 1);
    const place = () => tree.json<Shown>(retail, 'epl', 'shop')?.status?.summary;
    await until('the placement counts it', () => place()?.expected === 1 && place()?.applied === 1);
    const described = () => tree.json<Shown>('node/eu', 'synctarget', 'shop')?.status;
    expect(described()?.kubernetesVersion).toMatch(/^v1\./);
  });

  it('is corrected when somebody deletes objects by hand, and cleared when the placement goes', async () => {
    expect(site('delete', 'configmap', 'prices', '-n', 'shop').code).toBe(0);
    await until('it is back', () => site('get', 'cm/prices', '-n', 'shop').code === 0);
    tree.ok(retail, 'delete', 'epl', 'shop');
    await until('the namespace has gone', () => site('get', 'namespace', 'shop').code !== 0, 90);
  });
});

function topologyOf(kubeconfig: string): object {
  return {
    apiVersion: 'banyan.io/v1alpha1',
    kind: 'Topology',
    metadata: { name: 'k3s' },
    spec: {
      center: { spaces: [{ name: 'retail', type: 'Workload' }] },
      relays: [{ name: 'eu' }],
      clusters: [
        { name: 'shop', parent: 'eu', labels: { env: 'prod' }, provider: { kubeconfig: { path: kubeconfig } } },
      ],
    },
  };
}
