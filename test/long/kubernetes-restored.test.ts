import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LocalTree, until, untilAnswered } from '../e2e/local-tree.ts';
import { buildMsMax, trueCondition } from '../e2e/one-site.ts';
import { RealCluster } from '../e2e/real-cluster.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { withoutKubectl } from '../support/kubectl.ts';

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

/** The status of its objects is the status of their copies at its only destination. */
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

/** All later writes are lost, and versions begin again at those of the backup. */
describe.skipIf(missing)(`a real cluster whose etcd is restored from a backup${why}`, () => {
  let cluster: RealCluster;
  let tree: LocalTree;
  let [etcd, backup] = ['', ''];
  const there = (kind: string, name: string) => cluster.there<Shown>(kind, name, '-n', 'shop');
  const put = (...items: object[]) => {
    const { code, out } = tree.apply(retail, { apiVersion: 'v1', kind: 'List', items });
    expect(code, out).toBe(0);
  };
  const isAvailable = () => tree.json<Shown>(retail, 'epl', 'shop')?.status?.display === 'available 1/1';
  const readyReplicas = () => tree.json<Shown>(retail, 'deploy', 'till', '-n', 'shop')?.status?.readyReplicas;
  /** With its controllers, which would use stale data: https://kubernetes.io/docs/tasks/administer-cluster/configure-upgrade-etcd/#restoring-an-etcd-cluster */
  const whileStopped = async (act: () => void, withEtcd = async () => {}) => {
    const others = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kwok'] as const;
    await cluster.plane.stopComponents([...others.toReversed(), 'etcd']);
    act();
    await cluster.plane.startComponents('etcd');
    await withEtcd();
    await cluster.plane.startComponents(...others);
  };
  const ask = async (way: string, body: object) => {
    const response = await fetch(`${cluster.plane.etcd}/v3/kv/${way}`, { method: 'POST', body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${way}: ${await response.text()}`);
    return (await response.json()) as { readonly header: { readonly revision: string } };
  };
  /** The purpose of `etcdutl snapshot restore --bump-revision --mark-compacted`: no version comes twice, and all watchers start again. */
  const countOn = async () => {
    const key = Buffer.from('/of-the-restore').toString('base64');
    await untilAnswered('etcd answers', async () => Boolean(await ask('deleterange', { key })));
    for (let i = 0; i < 100; i++) await Promise.all(Array.from({ length: 50 }, () => ask('put', { key, value: key })));
    const { header } = await ask('deleterange', { key });
    await ask('compaction', { revision: header.revision });
  };

  const putBack = () => {
    rmSync(etcd, { recursive: true });
    cpSync(backup, etcd, { recursive: true });
  };
  const seen = () =>
    JSON.stringify([there('cm', 'prices')?.data?.of, there('cm', 'added')?.data?.of, there('cm', 'withdrawn')]);
  const writeMuch = (name: string) => {
    const many = Array.from({ length: 600 }, (_, i) => ({
      ...configMap(`${name}-${i}`, 'site'),
      metadata: { name: `${name}-${i}`, namespace: 'default' },
    }));
    cluster.kubectl(['create', '-f', '-'], ...many);
  };

  beforeAll(async () => {
    cluster = await RealCluster.start('restored', { nodes: 1 });
    tree = cluster.tree;
    [etcd, backup] = [join(cluster.directory, 'plane', 'etcd'), join(cluster.directory, 'backup')];
    put(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
      ...['prices', 'withdrawn'].map((name) => configMap(name, 'before')),
      till(3),
      placement,
    );
    await until('the shop is open', isAvailable);
    cluster.kubectl(['create', 'configmap', 'of-the-site', '-n', 'shop', '--from-literal=of=before']);
    await whileStopped(() => cpSync(etcd, backup, { recursive: true }));
    await until('the shop is open again', () => there('deploy', 'till')?.status?.readyReplicas === 3);
  }, buildMsMax);
  afterAll(() => cluster?.[Symbol.asyncDispose]());

  it('gets the later objects again, loses the withdrawn ones, and keeps the site’s own; its reports are right again', async () => {
    put(configMap('prices', 'after'), configMap('added', 'after'), till(2));
    tree.ok(retail, 'delete', 'configmap', 'withdrawn', '-n', 'shop');
    await until('all of that is there', () => seen() === '["after","after",null]');
    await until('the tills are two', () => readyReplicas() === 2);
    // As after hours: versions are further ahead of the backup than the controllers get while they start.
    writeMuch('since');
    put(configMap('last', 'after'));
    await until('the last one is there', () => there('cm', 'last') !== undefined);
    const [before, ahead] = [there('cm', 'of-the-site'), there('cm', 'added')];

    await whileStopped(putBack);
    await until('it is as the center wants it', () => seen() === '["after","after",null]', 90);
    // It was really restored.
    expect(cluster.there('cm', 'since-0', '-n', 'default')).toBeUndefined();
    expect(there('cm', 'added')?.metadata.uid).not.toBe(ahead?.metadata.uid);
    expect(there('cm', 'of-the-site')).toEqual(before);
    await until('two tills are told of', () => readyReplicas() === 2, 90);
    await until('the shop is open', isAvailable);
    // And later changes are noticed, whatever their version is.
    cluster.kubectl(['delete', 'configmap', 'added', '-n', 'shop']);
    await until('it is put back', () => there('cm', 'added')?.data?.of === 'after');
    put(till(1));
    await until('one till is told of', () => readyReplicas() === 1);
  }, 240_000);

  it('recovers when its agent was away during the restore and versions have passed those that the agent knows', async () => {
    await tree.down();
    await whileStopped(putBack);
    expect(there('cm', 'withdrawn')?.data?.of).toBe('before');
    for (const name of ['once', 'twice', 'thrice']) writeMuch(name);
    await tree.up('--no-restart');
    await until('it is as the center wants it', () => seen() === '["after","after",null]');
    expect(there('cm', 'of-the-site')?.data?.of).toBe('before');
    await until('the shop is open', isAvailable);
  }, 240_000);

  it('recovers when versions continue from the highest one before the restore', async () => {
    const reached = Number(there('cm', 'added')?.metadata.resourceVersion);
    const trouble = () => trueCondition(tree.json('node/center', 'synctarget', 'rivoli'), 'ClusterTrouble')?.reason;
    await whileStopped(putBack, async () => {
      await until('it is told that the API server is away', () => trouble() === 'Unavailable');
      await countOn();
    });
    await until('it is as the center wants it', () => seen() === '["after","after",null]', 90);
    expect(Number(there('cm', 'added')?.metadata.resourceVersion)).toBeGreaterThan(reached);
    expect(there('cm', 'of-the-site')?.data?.of).toBe('before');
    // Three restores within two minutes look like a writer that undoes the work of the agent. Such a conflict ends after three rounds without a change.
    await until('the shop is open', isAvailable, 150);
  }, 400_000);
});
