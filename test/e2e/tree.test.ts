import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withoutKubectl } from '../support/kubectl.ts';
import { fixture, LocalTree, until } from './local-tree.ts';

const space = 'space/center/retail';
const production = ['eu:paris:rivoli', 'eu:paris:bastille', 'eu:berlin:mitte', 'us:market', 'hq'];
const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';

interface Shown {
  metadata: { uid: string; annotations?: Record<string, string> };
  data?: Record<string, string>;
  status?: { summary?: Record<string, number>; display?: string; conditions?: { type: string; status: string }[] };
}

describe.skipIf(withoutKubectl)(`a tree of processes${why}`, () => {
  const tree = new LocalTree('deploy/topologies/shop.yaml');
  const counts = (context: string) => tree.json<Shown>(context, 'epl', 'guestbook')?.status?.summary ?? {};
  const configMapAt = (cluster: string) =>
    tree.json<Shown>(`cluster/${cluster}`, 'configmap', 'greeting', '-n', 'guestbook');

  beforeAll(async () => {
    await tree.up();
    tree.ok(space, 'apply', '-f', fixture('docs/examples/guestbook.yaml'));
    tree.ok(space, 'wait', 'epl/guestbook', '--for=condition=Ready', '--timeout=60s');
  });
  afterAll(() => tree[Symbol.asyncDispose]());

  it('delivers to every cluster that matches and to no other', async () => {
    for (const cluster of production) expect(configMapAt(cluster)?.data).toEqual({ text: 'Good morning' });
    expect(configMapAt('eu:berlin:lab')).toBeUndefined();
  });

  it('sums up at every level the clusters below it', async () => {
    expect(counts(space)).toMatchObject({ expected: 5, available: 5, fresh: 5, failed: 0 });
    await until(
      'the regions agree',
      () => counts('space/eu/center.retail').available === 3 && counts('space/eu:paris/center.retail').available === 2,
    );
    expect(counts('space/us/center.retail')).toMatchObject({ expected: 1, available: 1 });
  });

  it('shows matches one by one in the own inventory, and as counts elsewhere', async () => {
    interface Slice {
      destinations: { path: string; syncTargetUID: string }[];
      subtrees: { path: string; matched: number }[];
    }
    const slice = () => tree.json<Slice>(space, 'sps', 'guestbook-0');
    await until(
      'the slice has all',
      () =>
        slice()
          ?.subtrees?.map(({ matched }) => matched)
          .join() === '3,1',
    );
    const { destinations, subtrees } = slice()!;
    const { uid } = tree.json<Shown>('node/center', 'synctarget', 'hq')!.metadata;
    expect(destinations).toMatchObject([{ path: 'hq', syncTargetUID: uid }]);
    expect(subtrees).toMatchObject([
      { path: 'eu', matched: 3 },
      { path: 'us', matched: 1 },
    ]);
  });

  it('shows the relays below a node, and its own agents, with their sessions', async () => {
    interface Nodes {
      items: { spec: { path: string; role: string }; status?: { session?: { state: string }; agents?: number } }[];
    }
    const shown = () => tree.json<Nodes>('node/center', 'nodes.mesh.banyan.io')?.items ?? [];
    const agentsOf = (path: string) => shown().find(({ spec }) => spec.path === path)?.status?.agents;
    await until('deeper relays are told of', () => agentsOf('eu:paris') === 2 && agentsOf('eu') === 4);
    expect(new Set(shown().map(({ spec }) => spec.path))).toEqual(
      new Set(['', 'eu', 'us', 'eu:paris', 'eu:berlin', 'hq']),
    );
    process.kill(tree.pid('eu'), 'SIGSTOP');
    tree.kill('center');
    try {
      await until('nothing is known below a relay that is away', () =>
        shown().some(({ spec, status }) => spec.path === 'eu:paris' && status?.session?.state === 'Unknown'),
      );
    } finally {
      process.kill(tree.pid('eu'), 'SIGCONT');
    }
    await until('it is known again', () =>
      shown().some(({ spec, status }) => spec.path === 'eu:paris' && status?.session?.state === 'Connected'),
    );
  });

  it('keeps mailboxes readable and not writable', () => {
    expect(tree.json('mailbox/eu:paris:rivoli', 'deployment', 'frontend', '-n', 'guestbook')).toBeDefined();
    expect(
      tree.kubectl('mailbox/eu:paris:rivoli', ['delete', 'deployment', 'frontend', '-n', 'guestbook']).code,
    ).not.toBe(0);
  });

  it('follows a label to a sixth cluster and back', async () => {
    tree.ok('node/eu:berlin', 'label', 'location', 'lab', 'env=prod', '--overwrite');
    await until('it is at the lab', () => configMapAt('eu:berlin:lab') !== undefined);
    await until('six are available', () => counts(space).available === 6);
    tree.ok('node/eu:berlin', 'label', 'location', 'lab', 'env=test', '--overwrite');
    await until('it is gone from the lab', () => configMapAt('eu:berlin:lab') === undefined);
    await until('five are expected', () => counts(space).expected === 5 && counts(space).available === 5);
  });

  it('writes exact status into the object while one destination matches in all, and takes it back', async () => {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'single' } };
    const metadata = { name: 'exact', namespace: 'single' };
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'web:1' }] } };
    const deployment = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: { replicas: 2, selector: { matchLabels: { a: 'b' } }, template },
    };
    const placement = {
      apiVersion: 'edge.banyan.io/v1alpha1',
      kind: 'EdgePlacement',
      metadata: { name: 'single' },
      spec: {
        locationSelectors: [{ matchLabels: { single: 'yes' } }],
        downsync: [{ apiGroup: '*', resources: ['*'], namespaces: ['single'] }],
        wantSingletonReportedState: true,
      },
    };
    for (const object of [namespace, deployment, placement]) expect(tree.apply(space, object).code).toBe(0);
    const ready = () =>
      tree.json<{ status?: { readyReplicas?: number } }>(space, 'deployment', 'exact', '-n', 'single')?.status
        ?.readyReplicas;
    tree.ok('node/eu:paris', 'label', 'location', 'rivoli', 'single=yes');
    await until('the only destination tells', () => ready() === 2);
    tree.ok('node/us', 'label', 'location', 'market', 'single=yes');
    await until('two tell nothing exact', () => ready() === undefined);
    tree.ok('node/eu:paris', 'label', 'location', 'rivoli', 'single-');
    await until('the other one tells', () => ready() === 2);
    tree.ok(space, 'delete', 'epl', 'single');
  });

  it('survives kill -9 of every node without making any object anew', async () => {
    const before = production.map((cluster) => configMapAt(cluster)!.metadata.uid);
    for (const [i, node] of ['center', 'eu', 'us', 'eu:paris', 'eu:berlin', 'eu:paris:rivoli'].entries()) {
      tree.kill(node);
      const round = `round=${i}`;
      const args = ['annotate', 'configmap', 'greeting', '-n', 'guestbook', round, '--overwrite'];
      await until(`the center takes a change after kill -9 of ${node}`, () => tree.kubectl(space, args).code === 0);
      await until(`the change is everywhere after kill -9 of ${node}`, () =>
        production.every((cluster) => configMapAt(cluster)?.metadata.annotations?.round === String(i)),
      );
    }
    expect(production.map((cluster) => configMapAt(cluster)!.metadata.uid)).toEqual(before);
    await until('all are available again', () => counts(space).available === 5);
  }, 240_000);

  it('lets a region work while the center is away', async () => {
    process.kill(tree.pid('center'), 'SIGSTOP');
    try {
      const object = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'local', namespace: 'default' },
        data: { a: '1' },
      };
      const placement = {
        apiVersion: 'edge.banyan.io/v1alpha1',
        kind: 'EdgePlacement',
        metadata: { name: 'local' },
        spec: {
          locationSelectors: [{ matchLabels: { zone: 'paris' } }],
          downsync: [{ resources: ['configmaps'], namespaces: ['default'] }],
        },
      };
      expect(tree.apply('space/eu/ops', object).code).toBe(0);
      expect(tree.apply('space/eu/ops', placement).code).toBe(0);
      tree.ok('space/eu/ops', 'wait', 'epl/local', '--for=condition=Ready', '--timeout=30s');
      expect(tree.json('cluster/eu:paris:rivoli', 'configmap', 'local', '-n', 'default')).toBeDefined();
      tree.ok('cluster/eu:paris:rivoli', 'delete', 'configmap', 'greeting', '-n', 'guestbook');
      await until('drift is put back', () => configMapAt('eu:paris:rivoli') !== undefined);
    } finally {
      process.kill(tree.pid('center'), 'SIGCONT');
    }
    await until('the center is exact again', () => counts(space).available === 5);
  });

  it.each([[['eu']], [['eu:paris']], [['eu', 'eu:paris']]])(
    'deletes nothing when %j lose their stores',
    async (lost) => {
      const uids = () => production.map((cluster) => configMapAt(cluster)?.metadata.uid);
      const before = uids();
      expect(await tree.down()).toBe(0);
      for (const node of lost) rmSync(join(tree.data, 'nodes', node.replaceAll(':', '.')), { recursive: true });
      await tree.up();
      const round = `round=${lost.join('-')}`;
      tree.ok(space, 'annotate', 'configmap', 'greeting', '-n', 'guestbook', round.replaceAll(':', '.'), '--overwrite');
      await until('the change is everywhere', () =>
        production.every(
          (cluster) => configMapAt(cluster)?.metadata.annotations?.round === round.replaceAll(':', '.').slice(6),
        ),
      );
      await until('all are available again', () => counts(space).available === 5);
      expect(uids()).toEqual(before);
    },
    240_000,
  );

  it('removes everything with its placement', async () => {
    tree.ok(space, 'delete', 'epl', 'guestbook');
    await until('it is gone everywhere', () => production.every((cluster) => configMapAt(cluster) === undefined));
    expect(tree.json(space, 'deployment', 'frontend', '-n', 'guestbook')).toBeDefined();
  });

  it('ends on SIGTERM with exit code 0', async () => {
    expect(await tree.down()).toBe(0);
  });
});
