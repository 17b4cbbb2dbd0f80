import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { furnish } from '../support/control-plane/furniture.ts';
import { kubectlBy, LocalTree, until, withoutKubectl } from './local-tree.ts';
import { buildMsMax } from './one-site.ts';

const missing = withoutKubectl ?? withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
const retail = 'space/center/retail';

interface Shown {
  readonly metadata: { readonly uid: string; readonly resourceVersion: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly status?: {
    readonly display?: string;
    readonly readyReplicas?: number;
    readonly summary?: Readonly<Record<string, number>>;
  };
}

const configMap = (name: string, of: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'shop' },
  data: { of },
});
const till = (replicas: number) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'till', namespace: 'shop' },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'till' } },
    template: {
      metadata: { labels: { app: 'till' } },
      spec: { containers: [{ name: 'app', image: 'registry.example.com/till' }] },
    },
  },
});

/** The status of its objects is that of their copies at its only destination. */
const placement = {
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'EdgePlacement',
  metadata: { name: 'shop' },
  spec: {
    locationSelectors: [{ matchLabels: { env: 'prod' } }],
    downsync: [{ apiGroup: '*', resources: ['*'], namespaces: ['shop'] }],
    wantSingletonReportedState: true,
  },
};

/** Everything that came since the backup has never been there, and the numbers of versions begin again where they were then. */
describe.skipIf(missing)(`a real cluster whose etcd is put back to a backup${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-restored-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  const [etcd, backup] = [join(directory, 'plane', 'etcd'), join(directory, 'backup')];
  let plane: ControlPlane;
  const site = (...args: string[]): string => {
    const { code, out } = kubectlBy(plane.kubeconfig, args);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${out}`);
    return out;
  };
  const there = (kind: string, name: string): Shown | undefined => {
    const { code, stdout } = kubectlBy(plane.kubeconfig, ['get', kind, name, '-n', 'shop', '-o', 'json']);
    return code === 0 ? (JSON.parse(stdout) as Shown) : undefined;
  };
  const put = (...items: object[]) => {
    const { code, out } = tree.apply(retail, { apiVersion: 'v1', kind: 'List', items });
    expect(code, out).toBe(0);
  };
  const isAvailable = () => tree.json<Shown>(retail, 'epl', 'shop')?.status?.display === 'available 1/1';
  const toldOf = () => tree.json<Shown>(retail, 'deploy', 'till', '-n', 'shop')?.status?.readyReplicas;
  const whileStopped = async (act: () => void) => {
    await plane.stopComponents(['kube-apiserver', 'etcd']);
    act();
    await plane.startComponents('etcd', 'kube-apiserver');
  };

  beforeAll(async () => {
    plane = await ControlPlane.start({ directory: join(directory, 'plane') });
    furnish(plane, { nodes: 1, volumes: 0 });
    writeFileSync(join(directory, 'topology.yaml'), stringify(topologyWith(plane.kubeconfig)));
    await tree.up('--no-restart');
    put(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
      ...['prices', 'withdrawn'].map((name) => configMap(name, 'before')),
      till(3),
      placement,
    );
    await until('the shop is open', isAvailable);
    site('create', 'configmap', 'of-the-site', '-n', 'shop', '--from-literal=of=before');
    await whileStopped(() => cpSync(etcd, backup, { recursive: true }));
    await until('the shop is open again', () => there('deploy', 'till')?.status?.readyReplicas === 3);
  }, buildMsMax);
  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  }, 60_000);

  it('gets what came since, loses what was withdrawn since, and keeps what is the site’s; its reports are right again', async () => {
    put(configMap('prices', 'after'), configMap('added', 'after'), till(2));
    tree.ok(retail, 'delete', 'configmap', 'withdrawn', '-n', 'shop');
    await until('all of that is there', () => {
      const now = [there('cm', 'prices')?.data?.of, there('cm', 'added')?.data?.of, there('cm', 'withdrawn')];
      return JSON.stringify(now) === JSON.stringify(['after', 'after', undefined]);
    });
    await until('the tills are two', () => toldOf() === 2);
    // As in hours: versions are further ahead of those of the backup than its controllers get while they start.
    const since = Array.from({ length: 600 }, (_, i) => ({
      ...configMap(`since-${i}`, 'site'),
      metadata: { name: `since-${i}`, namespace: 'default' },
    }));
    kubectlBy(
      plane.kubeconfig,
      ['create', '-f', '-'],
      JSON.stringify({ apiVersion: 'v1', kind: 'List', items: since }),
    );
    put(configMap('last', 'after'));
    await until('the last one is there', () => there('cm', 'last') !== undefined);
    const [before, ahead] = [there('cm', 'of-the-site'), there('cm', 'added')];

    await whileStopped(() => {
      rmSync(etcd, { recursive: true });
      cpSync(backup, etcd, { recursive: true });
    });
    const seen = () => [there('cm', 'prices')?.data?.of, there('cm', 'added')?.data?.of, there('cm', 'withdrawn')];
    await until('it is as the center wants it', () => JSON.stringify(seen()) === '["after","after",null]', 90);
    // It was put back indeed.
    expect(kubectlBy(plane.kubeconfig, ['get', 'cm', 'since-0', '-n', 'default']).code).not.toBe(0);
    expect(there('cm', 'added')?.metadata.uid).not.toBe(ahead?.metadata.uid);
    expect(there('cm', 'of-the-site')).toEqual(before);
    await until('two tills are told of', () => toldOf() === 2, 90);
    await until('the shop is open', isAvailable);
    // And what comes from now on is seen, whatever its number is.
    site('delete', 'configmap', 'added', '-n', 'shop');
    await until('it is put back', () => there('cm', 'added')?.data?.of === 'after');
    put(till(1));
    await until('one till is told of', () => toldOf() === 1);
  }, 240_000);
});

function topologyWith(kubeconfig: string): object {
  return {
    apiVersion: 'banyan.io/v1alpha1',
    kind: 'Topology',
    metadata: { name: 'restored' },
    spec: {
      center: { spaces: [{ name: 'retail', type: 'Workload' }] },
      clusters: [{ name: 'rivoli', labels: { env: 'prod' }, provider: { kubeconfig: { path: kubeconfig } } }],
    },
  };
}
