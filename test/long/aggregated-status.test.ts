import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { banyan, fixture, LocalTree, until } from '../e2e/local-tree.ts';
import { anything, definitionOf } from '../support/definition.ts';
import { Helm, type HelmVersion, withoutHelm, withoutHelm4 } from '../support/helm.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const retail = 'space/center/retail';
const clusters = ['eu:rivoli', 'eu:mitte', 'market'];
const chart = fixture('test/fixtures/helm/hooked');

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

interface Shown {
  readonly metadata: { readonly name: string; readonly generation: number; readonly resourceVersion: string };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly conditions?: readonly Condition[];
  };
}

const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
const web = (name: string, image: string, more: object = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: name },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image }] } },
    ...more,
  },
});
const place = (name: string, more: object = {}) => ({
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'EdgePlacement',
  metadata: { name },
  spec: {
    locationSelectors: [{ matchLabels: { env: 'prod' } }],
    downsync: [{ apiGroup: '*', resources: ['*'], namespaces: [name] }],
    ...more,
  },
});

const job = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'count', namespace: 'jobs', annotations: { 'edge.banyan.io/customizer': 'market' } },
  spec: {
    backoffLimit: 0,
    template: { spec: { restartPolicy: 'Never', containers: [{ name: 'count', image: 'count:1' }] } },
  },
};
/** Breaks the Job at one cluster, and nothing else. */
const customizer = (image: string) => ({
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'Customizer',
  metadata: { name: 'market', namespace: 'jobs' },
  spec: {
    rules: [
      {
        when: 'path == "market"',
        target: { kind: 'Job' },
        patch: [{ op: 'replace', path: '/spec/template/spec/containers/0/image', value: image }],
      },
    ],
  },
});
const boilers = definitionOf({
  group: 'heat.example.com',
  kind: 'Boiler',
  properties: { spec: anything, status: anything },
});

describe.skipIf(withoutKubectl)(`tools that wait for the status of an object at three clusters${why}`, () => {
  const tree = new LocalTree('test/e2e/aggregated-status-topology.yaml');
  const apply = (...items: object[]) => {
    const { code, out } = tree.apply(retail, { apiVersion: 'v1', kind: 'List', items });
    expect(code, out).toBe(0);
  };
  const deployment = (name: string, context = retail) => tree.json<Shown>(context, 'deployment', 'web', '-n', name);
  const condition = (name: string, type: string, context = retail) =>
    deployment(name, context)?.status?.conditions?.find((one) => one.type === type);
  const rollout = (name: string, timeout = '60s') =>
    tree.kubectl(retail, ['rollout', 'status', 'deploy/web', '-n', name, `--timeout=${timeout}`]);

  beforeAll(() => tree.up());
  afterAll(() => tree[Symbol.asyncDispose]());

  it('kubectl rollout status and kubectl wait end when the placement is Ready', async () => {
    apply(namespace('web'), web('web', 'web:1'), place('web'));
    const { code, out } = rollout('web');
    expect([code, out]).toEqual([0, expect.stringContaining('successfully rolled out')]);
    tree.ok(retail, 'wait', 'deploy/web', '-n', 'web', '--for=condition=Available', '--timeout=30s');
    tree.ok(retail, 'wait', 'epl/web', '--for=condition=Ready', '--timeout=5s');
    expect(deployment('web')?.status).toMatchObject({ observedGeneration: 1, replicas: 2 });
    expect(condition('web', 'Available')?.message).toBe('6 of 6 replicas are available at 3 destinations');
    // The shown ReplicaSet stays in the space.
    const [shown] = tree.json<{ items: Shown[] }>(retail, 'replicasets', '-n', 'web')!.items;
    for (const cluster of clusters) {
      const there = tree.json<{ items: Shown[] }>(`cluster/${cluster}`, 'replicasets', '-n', 'web')!.items;
      expect(there.map(({ metadata }) => metadata.name)).not.toContain(shown!.metadata.name);
    }
  });

  it('kubectl rollout status waits for the new form of the object at all clusters', () => {
    apply(web('web', 'web:2'));
    const { code, out } = rollout('web');
    expect([code, out]).toEqual([0, expect.stringContaining('successfully rolled out')]);
    for (const cluster of clusters) {
      const there = tree.json<Shown & { spec: { template: { spec: { containers: { image: string }[] } } } }>(
        `cluster/${cluster}`,
        'deployment',
        'web',
        '-n',
        'web',
      );
      expect(there?.spec.template.spec.containers[0]?.image).toBe('web:2');
    }
  });

  it('kubectl rollout history shows the former forms, and kubectl rollout undo goes back to one', async () => {
    const history = () => tree.ok(retail, 'rollout', 'history', 'deploy/web', '-n', 'web');
    tree.ok(retail, 'annotate', 'deploy/web', '-n', 'web', 'kubernetes.io/change-cause=the second image');
    await until('the cause is shown', () => /^1 +<none>\n2 +the second image$/m.test(history()));
    tree.ok(retail, 'rollout', 'undo', 'deploy/web', '-n', 'web');
    expect(rollout('web').code).toBe(0);
    expect(tree.ok(retail, 'rollout', 'history', 'deploy/web', '-n', 'web')).toMatch(
      /^2 +the second image\n3 +<none>$/m,
    );
    for (const cluster of clusters)
      expect(tree.ok(`cluster/${cluster}`, 'get', 'deploy/web', '-n', 'web', '-o', 'wide')).toContain('web:1');
    // kubectl describe names as the new one the ReplicaSet that helm waits for.
    const described = tree.ok(retail, 'describe', 'deploy/web', '-n', 'web');
    expect(described).toMatch(/NewReplicaSet: .*\(2\/2 replicas created\)/);
    expect(described).toMatch(/OldReplicaSets: .*\(0\/0 replicas created\)$/m);
  });

  it('while a cluster is away, the tools wait, and the status names the cluster; a relay shows its own subtree', async () => {
    process.kill(tree.pid('market'), 'SIGSTOP');
    try {
      apply(web('web', 'web:3'));
      await until('the cluster is known to be away', () => condition('web', 'Available')?.reason === 'Stale', 90);
      expect(condition('web', 'Available')?.message).toContain('1 of 3 destinations is not connected: market');
      expect(rollout('web', '2s').code).not.toBe(0);
      await until(
        'the relay has its own',
        () => condition('web', 'Available', 'space/eu/center.retail')?.status === 'True',
      );
    } finally {
      process.kill(tree.pid('market'), 'SIGCONT');
    }
    expect(rollout('web').code).toBe(0);
  }, 180_000);

  it('kubectl rollout status fails when one cluster has failed, and the status has the reason and the path', async () => {
    apply(web('web', 'web:broken', { progressDeadlineSeconds: 3 }));
    const { code, out } = rollout('web');
    expect([code, out]).toEqual([1, expect.stringContaining('exceeded its progress deadline')]);
    expect(condition('web', 'Progressing')).toMatchObject({
      status: 'False',
      message: expect.stringMatching(/eu:mitte|eu:rivoli|market/),
    });
    apply(web('web', 'web:4', { progressDeadlineSeconds: 3 }));
    expect(rollout('web').code).toBe(0);
  });

  it('kubectl rollout status ends after the last wave of a release', () => {
    const waves = [
      { name: 'first', count: 1 },
      { name: 'all', fraction: 1 },
    ];
    apply(namespace('waves'), web('waves', 'web:1'), place('waves', { rollout: { strategy: 'Progressive', waves } }));
    expect(rollout('waves').code).toBe(0);
    apply(web('waves', 'web:2'));
    expect(rollout('waves').code).toBe(0);
    tree.ok(retail, 'wait', 'epl/waves', '--for=condition=Ready', '--timeout=5s');
  });

  it('a Job that fails at one cluster for ever has failed, with the path, the reason and the remedy, until it is made anew', () => {
    apply(namespace('jobs'), customizer('count:failing'), job, place('jobs'));
    tree.ok(retail, 'wait', 'job/count', '-n', 'jobs', '--for=condition=Failed', '--timeout=60s');
    const failed = tree.json<Shown>(retail, 'job', 'count', '-n', 'jobs')?.status?.conditions;
    expect(failed?.find(({ type }) => type === 'Failed')).toMatchObject({
      reason: 'BackoffLimitExceeded',
      message: 'market: Job has reached the specified backoff limit',
    });
    const { out } = banyan('status', 'epl/jobs', '--space', retail, '--data', tree.data);
    expect(out).toMatch(/^market .*jobs\.batch jobs\/count +JobFailed: .*banyan why jobs\/count -n jobs --at market$/m);
    tree.ok(retail, 'delete', 'job', 'count', '-n', 'jobs');
    apply(customizer('count:2'), job);
    tree.ok(retail, 'wait', 'job/count', '-n', 'jobs', '--for=condition=Complete', '--timeout=60s');
  });

  it('a StatefulSet that differs between clusters and is not available can be applied again', async () => {
    const database = (image: string) => ({
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'db', namespace: 'sets', annotations: { 'edge.banyan.io/customizer': 'market' } },
      spec: {
        replicas: 2,
        serviceName: 'db',
        selector: { matchLabels: { app: 'db' } },
        template: { metadata: { labels: { app: 'db' } }, spec: { containers: [{ name: 'db', image }] } },
      },
    });
    const differs = {
      apiVersion: 'edge.banyan.io/v1alpha1',
      kind: 'Customizer',
      metadata: { name: 'market', namespace: 'sets' },
      spec: {
        rules: [
          {
            when: 'path == "market"',
            target: { kind: 'StatefulSet' },
            patch: [{ op: 'add', path: '/spec/template/metadata/labels/site', value: 'market' }],
          },
        ],
      },
    };
    apply(namespace('sets'), differs, database('db:broken'), place('sets'));
    const seen = () => tree.json<Shown & { status?: { updatedReplicas?: number } }>(retail, 'sts', 'db', '-n', 'sets');
    await until('the set is known not to be available', () => seen()?.status?.updatedReplicas !== undefined);
    apply(database('db:2'));
    tree.ok(retail, 'rollout', 'status', 'sts/db', '-n', 'sets', '--timeout=60s');
  });

  it('an object of a kind without rules names the fields that its status lacks, and the remedy', async () => {
    apply(boilers);
    await until('the kind is served', () => tree.kubectl(retail, ['get', 'boilers', '-A']).code === 0);
    const boiler = { apiVersion: 'heat.example.com/v1', kind: 'Boiler', metadata: { name: 'b', namespace: 'heat' } };
    apply(namespace('heat'), { ...boiler, spec: { most: 90 } }, place('heat'));
    tree.ok(retail, 'wait', 'epl/heat', '--for=condition=Ready', '--timeout=60s');
    const status = JSON.stringify({ status: { temperature: 70 } });
    tree.ok(
      'cluster/market',
      'patch',
      'boiler',
      'b',
      '-n',
      'heat',
      '--subresource=status',
      '--type=merge',
      '-p',
      status,
    );
    const condition = '--for=condition=FieldsLeftOut';
    tree.ok(retail, 'wait', 'boiler/b', '-n', 'heat', condition, '--timeout=30s');
    expect(tree.ok(retail, 'describe', 'boiler', 'b', '-n', 'heat')).toMatch(
      /temperature: no rule makes one value from those of 3 destinations; name a StatusSummarizer/,
    );
  });

  it('writes no status again while nothing changes', async () => {
    const version = () => deployment('web')?.metadata.resourceVersion;
    let [seen, sinceMs] = [version(), Date.now()];
    await until('the status has stayed for five seconds', () => {
      const now = version();
      if (now !== seen) [seen, sinceMs] = [now, Date.now()];
      return Date.now() - sinceMs > 5_000;
    });
  });

  const versions: readonly { version: HelmVersion; missing: string | undefined; rollback: string }[] = [
    { version: 3, missing: withoutHelm, rollback: '--atomic' },
    { version: 4, missing: withoutHelm4, rollback: '--rollback-on-failure' },
  ];
  describe.each(versions)('helm $version', ({ version, missing, rollback }) => {
    const home = mkdtempSync(join(tmpdir(), 'banyan-helm-'));
    const name = `hooked${version}`;
    let helm: Helm;
    const run = (...args: string[]) =>
      helm.run(...args, '-n', name, '--kubeconfig', join(tree.data, 'kubeconfig'), '--kube-context', retail);
    const waiting = ['--wait', '--wait-for-jobs', '--timeout', '60s'];

    beforeAll(async () => {
      if (missing) return;
      helm = await Helm.find(home, version);
      apply(namespace(name), place(name));
    });
    afterAll(() => rmSync(home, { recursive: true, force: true }));

    it.skipIf(missing)(
      `installs a chart with hooks and waits until it is ready everywhere${missing ? ` [not run: ${missing}]` : ''}`,
      () => {
        const installed = run('install', 'h', chart, ...waiting);
        expect([installed.code, installed.out]).toEqual([0, expect.anything()]);
        tree.ok(retail, 'wait', `epl/${name}`, '--for=condition=Ready', '--timeout=10s');
        for (const cluster of clusters) {
          const job = tree.json<Shown>(`cluster/${cluster}`, 'job', 'check', '-n', name);
          expect(job?.status?.conditions?.some(({ type }) => type === 'Complete')).toBe(true);
        }
      },
      120_000,
    );

    it.skipIf(missing)(
      'upgrades it, and the placement is Ready as soon as helm says so',
      () => {
        for (const image of ['web:5', 'web:4', 'web:3', 'web:2']) {
          const upgraded = run('upgrade', 'h', chart, ...waiting, '--set', `image=${image},hookImage=check:2`);
          expect([upgraded.code, upgraded.out]).toEqual([0, expect.anything()]);
          const { status } = tree.json<Shown>(retail, 'epl', name)!;
          expect(status?.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({ status: 'True' });
        }
      },
      120_000,
    );

    it.skipIf(missing)(
      'takes an upgrade back that does not become ready, before the time is over',
      () => {
        const failed = run(
          'upgrade',
          'h',
          chart,
          '--wait',
          rollback,
          '--timeout',
          '25s',
          '--set',
          'image=web:broken,hookImage=check:2',
        );
        expect(failed.code, failed.out).not.toBe(0);
        const back = tree.json<{ spec: { template: { spec: { containers: { image: string }[] } } } }>(
          retail,
          'deployment',
          'web',
          '-n',
          name,
        );
        expect(back?.spec.template.spec.containers[0]?.image).toBe('web:2');
      },
      180_000,
    );

    it.skipIf(missing)(
      'fails with the reason when a hook fails',
      () => {
        const failed = run('upgrade', 'h', chart, ...waiting, '--set', 'image=web:2,hookImage=check:failing');
        expect([failed.code, failed.out]).toEqual([1, expect.stringMatching(/BackoffLimitExceeded|failed/)]);
      },
      180_000,
    );

    it.skipIf(missing)(
      'uninstalls it everywhere',
      async () => {
        expect(run('uninstall', 'h').code).toBe(0);
        for (const cluster of clusters)
          await until(
            'it is gone',
            () => tree.json<Shown>(`cluster/${cluster}`, 'deployment', 'web', '-n', name) === undefined,
          );
      },
      120_000,
    );
  });
});
