/** Objects that were on the cluster before the agent, on a cluster with server-side apply. */
import { describe, expect, it } from 'vitest';
import type { SparseApplyRules } from '../../../core/entries/apply-rules.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import { EmbeddedBench } from './support/embedded-bench.ts';

const namespace: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'site-apps' } };
const tariff = (data: Record<string, string>, metadata: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'tariff', namespace: 'site-apps', ...metadata },
  data,
});
const deployment = (containers: object[], more: object = {}): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'till', namespace: 'site-apps' },
  spec: {
    replicas: 1,
    ...more,
    selector: { matchLabels: { app: 'till' } },
    template: { metadata: { labels: { app: 'till' } }, spec: { containers } },
  },
});
const siteData = { rate: '17', 'local-note': 'keep-me' };
const bySite = { fieldManager: 'kubectl-create' };
const mark = 'banyan.io/managed';

/** A site that has the objects, before anything is placed. */
async function site(rules: SparseApplyRules, ...objects: KubeObject[]): Promise<EmbeddedBench> {
  const bench = await new EmbeddedBench(rules).start();
  for (const object of [namespace, ...objects]) bench.space.create(structuredClone(object), bySite);
  await bench.pass(500);
  return bench;
}

/** The object without the parts that each write changes. */
function content(bench: EmbeddedBench, object: KubeObject): object | undefined {
  const live = bench.live(object);
  if (!live) return undefined;
  const { metadata, status: _status, ...rest } = live;
  const { labels, annotations, uid } = metadata;
  return { ...rest, metadata: { labels, annotations, uid } };
}

const edit = (bench: EmbeddedBench, object: KubeObject, change: (live: KubeObject) => void) => {
  const live = structuredClone(bench.live(object)!);
  change(live);
  bench.space.update(live, { fieldManager: 'kubectl-edit' });
};

describe('under IfUnowned, an object of the site', () => {
  it('with other values keeps them, and the report names the field and the remedy', async () => {
    const bench = await site({}, tariff(siteData));
    const before = content(bench, tariff({}));
    await bench.place([namespace, tariff({ rate: 'from-the-hub' })]);
    await bench.pass(5_000);
    expect(content(bench, tariff({}))).toEqual(before);
    expect(bench.reported(tariff({}))).toMatch(/^NotOwned: .*kubectl-create.*\.data\.rate.*spec\.adopt: Always/);
    expect(bench.counts()).toMatchObject({ failed: 1 });
    await bench.remove([tariff({}), namespace]);
    await bench.pass(5_000);
    expect(content(bench, tariff({}))).toEqual(before);
    expect(bench.agent.counts().applied).toBe(0);
  });

  it('with equal values, or without the field, is taken over, reported as adopted, and given back as it was', async () => {
    const bench = await site({}, tariff(siteData));
    const before = content(bench, tariff({}));
    await bench.place([namespace], { implied: ['all'] });
    await bench.place([tariff({ rate: '17', added: 'by-the-hub' })]);
    await bench.pass(5_000);
    expect(bench.live(tariff({}))).toMatchObject({ data: { ...siteData, added: 'by-the-hub' } });
    expect(bench.reported(tariff({}))).toMatch(/^Adopted: /);
    expect(bench.counts()).toMatchObject({ applied: 1, available: 1 });
    expect(bench.failures()).toMatchObject([{ object: 'configmaps site-apps/tariff', reason: 'Adopted' }]);
    await bench.remove([tariff({}), namespace]);
    await bench.pass(5_000);
    expect(content(bench, tariff({}))).toEqual(before);
    expect(content(bench, namespace)).toMatchObject({
      metadata: { labels: { 'kubernetes.io/metadata.name': 'site-apps' } },
    });
  });

  it('that gets the desired values is taken over then', async () => {
    const bench = await site({}, tariff(siteData));
    await bench.place([namespace, tariff({ rate: 'from-the-hub' })]);
    await bench.pass(2_000);
    edit(bench, tariff({}), (live) => {
      live.data = { rate: 'from-the-hub' };
    });
    await bench.pass(600_000);
    expect(bench.live(tariff({}))!.metadata.labels).toHaveProperty([mark]);
  });
});

describe('under Always, an object of the site is overwritten and', () => {
  const always: SparseApplyRules = { adopt: 'Always' };
  const hub = { rate: 'from-the-hub' };
  const taken = async (...objects: KubeObject[]) => {
    const bench = await site(always, tariff(siteData));
    await bench.place([namespace, ...(objects.length > 0 ? objects : [tariff(hub)])]);
    await bench.pass(2_000);
    expect(bench.live(tariff({}))).toMatchObject({ data: { rate: 'from-the-hub', 'local-note': 'keep-me' } });
    return bench;
  };
  const released = async (bench: EmbeddedBench) => {
    await bench.remove([tariff({}), namespace]);
    await bench.pass(5_000);
    expect(bench.agent.counts().applied).toBe(0);
    return bench.live(tariff({}));
  };

  it('gets its values back, without the mark and without the agent among its managers', async () => {
    const bench = await taken();
    const live = await released(bench);
    expect(live).toMatchObject({ data: siteData });
    expect(live!.metadata.labels).toBeUndefined();
    expect(live!.metadata.annotations).toBeUndefined();
    expect(live!.metadata.managedFields!.map(({ manager }) => manager)).not.toContain('banyan');
  });

  it('keeps what the site has changed in its own fields meanwhile', async () => {
    const bench = await taken();
    edit(bench, tariff({}), (live) => {
      live.data = { ...(live.data as object), 'local-note': 'new', more: 'theirs' };
      live.metadata.labels = { ...live.metadata.labels, team: 'site' };
    });
    await bench.pass(2_000);
    const live = await released(bench);
    expect(live).toMatchObject({ data: { rate: '17', 'local-note': 'new', more: 'theirs' } });
    expect(live!.metadata.labels).toEqual({ team: 'site' });
  });

  it('gets them back after a correction, after a restart of the agent, and after the content has changed', async () => {
    const bench = await taken();
    edit(bench, tariff({}), (live) => {
      live.data = { ...(live.data as object), rate: '18' };
    });
    await bench.pass(2_000);
    expect(bench.live(tariff({}))).toMatchObject({ data: { rate: 'from-the-hub' } });
    await bench.restart();
    await bench.place([tariff({ rate: 'second', extra: 'x' })]);
    await bench.pass(2_000);
    expect(bench.live(tariff({}))).toMatchObject({ data: { rate: 'second', extra: 'x', 'local-note': 'keep-me' } });
    expect((await released(bench))!.data).toEqual(siteData);
  });

  it('gets the value of a field back that is not desired any more, at once and for good', async () => {
    const bench = await taken();
    await bench.place([tariff({ extra: 'x' })]);
    await bench.pass(2_000);
    expect(bench.live(tariff({}))!.data).toEqual({ ...siteData, extra: 'x' });
    await bench.pass(20_000);
    expect((await released(bench))!.data).toEqual(siteData);
  });

  it('gets them back each time when two placements come and go in turn', async () => {
    const bench = await taken();
    expect((await released(bench))!.data).toEqual(siteData);
    await bench.place([namespace, tariff({ rate: 'again' })]);
    await bench.pass(2_000);
    expect(bench.live(tariff({}))).toMatchObject({ data: { rate: 'again' } });
    expect((await released(bench))!.data).toEqual(siteData);
  });

  it('is not made anew if the site has deleted it, and goes if the agent has made it again meanwhile', async () => {
    const ignoring = await site({ ...always, drift: 'Ignore' }, tariff(siteData));
    await ignoring.place([namespace, tariff(hub)]);
    await ignoring.pass(1_000);
    ignoring.space.delete(ignoring.space.keyOf(tariff({})));
    await ignoring.pass(1_000);
    expect(await released(ignoring)).toBeUndefined();

    const correcting = await taken();
    correcting.space.delete(correcting.space.keyOf(tariff({})));
    await correcting.pass(1_000);
    expect(correcting.live(tariff({}))!.data).toEqual(hub);
    expect(await released(correcting)).toBeUndefined();
  });

  it('keeps its content if the store with its former form was lost, and loses the mark', async () => {
    const bench = await taken();
    const { apiVersion, kind, data, metadata } = bench.live(tariff({}))!;
    const [labels, annotations] = [metadata.labels!, metadata.annotations!];
    const applied = { apiVersion, kind, data, metadata: { ...tariff({}).metadata, labels, annotations } };
    const other = await site(always);
    other.space.apply(applied, { fieldManager: 'banyan' });
    const key = other.space.keyOf(tariff({}));
    const { uid = '' } = other.live(tariff({}))!.metadata;
    const found = { key, uid, agent: annotations['banyan.io/agent']!, source: 'center.retail', created: false };
    other.agent.scanAppliedInventory([found], { entries: 50, fraction: 0.2 });
    await other.pass(2_000);
    expect(other.live(tariff({}))!.data).toMatchObject(hub);
    expect(other.live(tariff({}))!.metadata.labels ?? {}).not.toHaveProperty([mark]);
  });
});

describe('a list with keys', () => {
  it('gets back the values of the site’s items, loses the items of the agent, and keeps the items that others have added', async () => {
    const theirs = deployment([
      { name: 'app', image: 'site:1', env: [{ name: 'A', value: 'site' }] },
      { name: 'log', image: 'log:1' },
    ]);
    const bench = await site({ adopt: 'Always' }, theirs);
    const before = (content(bench, theirs) as { spec: object }).spec;
    const ours = deployment(
      [
        {
          name: 'app',
          image: 'hub:1',
          env: [
            { name: 'A', value: 'hub' },
            { name: 'B', value: 'hub' },
          ],
        },
        { name: 'proxy', image: 'proxy:1' },
      ],
      { replicas: 3, minReadySeconds: 5 },
    );
    await bench.place([namespace, ours]);
    await bench.pass(5_000);
    edit(bench, theirs, (live) => {
      const spec = live.spec as { template: { spec: { containers: object[] } } };
      spec.template.spec.containers.push({ name: 'sidecar', image: 'sidecar:1' });
    });
    await bench.pass(5_000);
    await bench.remove([ours]);
    await bench.pass(5_000);
    const { spec } = content(bench, theirs) as { spec: { template: { spec: { containers: { name: string }[] } } } };
    const { containers } = spec.template.spec;
    expect(containers.map(({ name }) => name).sort()).toEqual(['app', 'log', 'sidecar']);
    spec.template.spec.containers = containers.filter(({ name }) => name !== 'sidecar');
    expect(spec).toEqual(before);
  });
});

describe('an object of the cluster itself', () => {
  const role = (rules: object[], name = 'cluster-admin'): KubeObject => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name, labels: {} },
    rules,
  });
  const all = [
    { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
    { nonResourceURLs: ['*'], verbs: ['*'] },
  ];
  const one = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }];
  const withBootstrap = async (rules: SparseApplyRules) => {
    const bench = await new EmbeddedBench(rules).start();
    const { labels } = bench.live(role([]))!.metadata;
    expect(labels).toEqual({ 'kubernetes.io/bootstrapping': 'rbac-defaults' });
    return bench;
  };

  it.each([
    [
      'IfUnowned',
      { adopt: 'IfUnowned' },
      { named: ['all'] },
      /the API server keeps it \(spec.adopt: Always would take it\)/,
    ],
    [
      'Always without its name',
      { adopt: 'Always' },
      {},
      /spec.adopt: Always would take it, if an item of spec.downsync has its name in objectNames/,
    ],
  ] as const)('is never taken under %s, even with equal values', async (_, rules, more, message) => {
    for (const rulesOfRole of [one, all]) {
      const bench = await withBootstrap(rules);
      await bench.place([role(rulesOfRole)], more);
      await bench.pass(2_000);
      expect(bench.reported(role([]))).toMatch(message);
      expect(bench.live(role([]))!.rules).toEqual(all);
      await bench.remove([role(one)]);
      await bench.pass(2_000);
      expect(bench.live(role([]))!.rules).toEqual(all);
    }
  });

  it('is taken under Always with its name, and given back', async () => {
    const bench = await withBootstrap({ adopt: 'Always' });
    await bench.place([role(one)], { named: ['all'] });
    await bench.pass(2_000);
    expect(bench.live(role([]))!.rules).toEqual(one);
    await bench.remove([role(one)]);
    await bench.pass(2_000);
    expect(bench.live(role([]))!.rules).toEqual(all);
  });

  it('is left alone without a word if it is a namespace in which something is placed', async () => {
    const bench = await new EmbeddedBench().start();
    const system: KubeObject = {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'kube-system', labels: { from: 'hub' } },
    };
    const ours = { ...tariff({ a: 'b' }), metadata: { name: 'ours', namespace: 'kube-system' } };
    const before = content(bench, system);
    await bench.place([system], { implied: ['all'] });
    await bench.place([ours]);
    await bench.pass(2_000);
    expect(bench.counts()).toMatchObject({ applied: 1, available: 1 });
    expect(bench.failures()).toEqual([]);
    expect(content(bench, system)).toEqual(before);
    await bench.remove([ours, system]);
    await bench.pass(2_000);
    expect(content(bench, system)).toEqual(before);
    expect(bench.live(ours)).toBeUndefined();
  });
});
