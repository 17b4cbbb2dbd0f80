import { beforeEach, describe, expect, it } from 'vitest';
import { parseKey } from '../../../../core/object/key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { upsyncObjectsMax } from '../../../../edge-agent/upsync/upsync.ts';
import { AgentBench, configMap, deployment, namespace, path } from '../support/agent-bench.ts';

const placement = 'center.retail/shop-prod';
const shop = '/namespaces//shop';
const web = 'apps/deployments/shop/web';
const till = '/configmaps/shop/till';
const up = (key: string, source = 'center.retail') => `up/${source}/${path}/${key}`;
const maps = { apiGroup: '', resources: ['configmaps'], namespaces: ['shop'] };

/** Somebody at the edge writes an object. */
function born(
  bench: AgentBench,
  key: string,
  more: { owner?: string; labels?: object; data?: object; status?: object },
) {
  bench.cluster.write(key, (object) => {
    const [, , namespace = '', name = ''] = key.split('/');
    Object.assign(object, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        ...object.metadata,
        ...(namespace === '' ? {} : { namespace }),
        name,
        labels: more.labels ?? {},
        managedFields: [{ manager: 'edge' }],
        ...(more.owner === undefined
          ? {}
          : { ownerReferences: [ownerOf(more.owner, bench.cluster.objects.get(more.owner))] }),
      },
      ...(more.data ? { data: more.data } : {}),
      ...(more.status ? { status: more.status } : {}),
    });
  });
}

/** The cluster answers no list of the resource before the returned function is called. */
function holdBack({ cluster }: AgentBench, name: string): () => void {
  const watch = cluster.watch.bind(cluster);
  const waiting: (() => void)[] = [];
  cluster.watch = (resource, events, options) => {
    if (resource.resource !== name) return watch(resource, events, options);
    waiting.push(() => watch(resource, events, options));
    return () => {};
  };
  return () => {
    cluster.watch = watch;
    for (const answer of waiting) answer();
  };
}

/** The served kinds of the cluster, with one kind in another group. */
function servedAs({ cluster }: AgentBench, kind: string, group: string) {
  const served = cluster.served.bind(cluster);
  return async () => {
    const all = (await served()).map((one) => (one.kind === kind ? { ...one, group } : one));
    return all.filter((one) => !cluster.unknown.has(one.group));
  };
}

function ownerOf(key: string, owner: KubeObject | undefined) {
  const kinds: Record<string, [string, string]> = {
    'apps/deployments': ['apps/v1', 'Deployment'],
    'apps/replicasets': ['apps/v1', 'ReplicaSet'],
    '/configmaps': ['v1', 'ConfigMap'],
  };
  const [group, resource, , name = ''] = key.split('/');
  const [apiVersion, kind] = kinds[`${group}/${resource}`]!;
  return { apiVersion, kind, name, uid: owner?.metadata.uid ?? `uid-${key}`, controller: true };
}

describe('objects created at the edge', () => {
  let bench: AgentBench;

  beforeEach(async () => {
    bench = await new AgentBench().start();
  });

  it('are reported whole if a rule matches, without fields that only their cluster needs', async () => {
    born(bench, till, { data: { a: '1' } });
    born(bench, '/configmaps/home/other', {});
    await bench.receive(bench.rules(placement, { upsync: [maps] }), bench.target(placement));
    expect(bench.reportedKeys('up/')).toEqual([up(till)]);
    const { attributes, body } = bench.reported(up(till))!;
    expect(attributes).toEqual({ refs: ['shop-prod'], namespaced: true, returnTo: 'Parent' });
    expect(body).toMatchObject({ kind: 'ConfigMap', metadata: { name: 'till', uid: `uid-${till}` }, data: { a: '1' } });
    expect(body.metadata).not.toHaveProperty('managedFields');
    expect(body.metadata).not.toHaveProperty('resourceVersion');
  });

  it('follow changes and deletions, and end when the rule no longer matches', async () => {
    await bench.receive(
      bench.rules(placement, { upsync: [{ ...maps, labelSelectors: [{ matchLabels: { up: '1' } }] }] }),
    );
    born(bench, till, { labels: { up: '1' }, data: { a: '1' } });
    born(bench, '/configmaps/shop/b', { labels: { up: '1' } });
    await bench.settle();
    expect(bench.reportedKeys('up/')).toEqual([up('/configmaps/shop/b'), up(till)]);
    born(bench, till, { labels: { up: '1' }, data: { a: '2' } });
    bench.cluster.erase('/configmaps/shop/b');
    await bench.settle();
    expect(bench.reportedKeys('up/')).toEqual([up(till)]);
    expect(bench.reported(up(till))!.body).toMatchObject({ data: { a: '2' } });
    born(bench, till, {});
    await bench.settle();
    expect(bench.reportedKeys('up/')).toEqual([]);
  });

  it('are reported once for each source, with the placements that want them and the highest requested level', async () => {
    born(bench, till, {});
    await bench.receive(
      bench.rules(placement, { upsync: [maps] }),
      bench.rules('center.retail/all', { upsync: [{ ...maps, returnTo: 'Center' }] }),
      bench.rules('eu.ops/here', { upsync: [maps] }),
    );
    expect(bench.reported(up(till))!.attributes).toMatchObject({ refs: ['all', 'shop-prod'], returnTo: 'Center' });
    expect(bench.reported(up(till, 'eu.ops'))!.attributes).toMatchObject({ refs: ['here'], returnTo: 'Parent' });
    await bench.receive(bench.gone('u/center.retail/all'), bench.gone('u/eu.ops/here'));
    expect(bench.reported(up(till))!.attributes).toMatchObject({ refs: ['shop-prod'], returnTo: 'Parent' });
    expect(bench.reported(up(till, 'eu.ops'))).toBeUndefined();
  });

  it('of a resource that is already watched are found when a rule grows', async () => {
    for (const name of ['a', 'b']) born(bench, `/configmaps/shop/${name}`, {});
    await bench.receive(bench.rules(placement, { upsync: [{ ...maps, names: ['a'] }] }));
    await bench.receive(bench.rules(placement, { upsync: [{ ...maps, names: ['a', 'b'] }] }));
    expect(bench.reportedKeys('up/')).toEqual([up('/configmaps/shop/a'), up('/configmaps/shop/b')]);
  });

  it('are up to date after a restart, and unchanged ones are not sent again', async () => {
    born(bench, till, {});
    born(bench, '/configmaps/shop/b', {});
    await bench.receive(bench.rules(placement, { upsync: [maps] }));
    bench.cluster.erase('/configmaps/shop/b');
    await bench.restart();
    expect(bench.reportedKeys('up/')).toEqual([up(till)]);
    const before = bench.reports();
    await bench.restart();
    expect(bench.reports()).toBe(before);
  });

  it('keep their reports while a cluster does not list its objects', async () => {
    born(bench, till, {});
    await bench.receive(bench.rules(placement, { upsync: [maps] }));
    const release = await bench.restartHanging();
    await bench.clock.advance(60_000);
    expect(bench.reportedKeys('up/')).toEqual([up(till)]);
    bench.cluster.erase(till);
    release();
    await bench.advance(20);
    await bench.advance(20);
    expect(bench.reportedKeys('up/')).toEqual([]);
  });

  it('keep their reports while the cluster does not list the kinds of their group', async () => {
    bench.cluster.served = servedAs(bench, 'ConfigMap', 'maps.example');
    const rule = { apiGroup: 'maps.example', resources: ['configmaps'], namespaces: ['shop'] };
    const [a, b] = ['maps.example/configmaps/shop/a', 'maps.example/configmaps/shop/b'];
    for (const key of [a, b]) born(bench, key, {});
    await bench.receive(bench.rules(placement, { upsync: [rule] }));
    expect(bench.reportedKeys('up/')).toEqual([up(a), up(b)]);
    bench.cluster.unknown.set('maps.example', 'its server does not answer');
    bench.cluster.objects.delete(b);
    await bench.restart();
    expect(bench.reportedKeys('up/')).toEqual([up(a), up(b)]);
    bench.cluster.unknown.clear();
    await bench.advance(60_000);
    await bench.settle();
    expect(bench.reportedKeys('up/')).toEqual([up(a)]);
  });

  it('of a kind without a definition are reported once the kind is served', async () => {
    const { cluster } = bench;
    const reports = { apiGroup: 'reports.example', resources: ['reports'], namespaces: ['shop'] };
    await bench.receive(bench.rules(placement, { upsync: [reports] }), bench.target(placement));
    const [served, report] = [cluster.served.bind(cluster), 'reports.example/reports/shop/one'];
    const kind = { group: 'reports.example', resource: 'reports', kind: 'Report', versions: ['v1'], namespaced: true };
    cluster.served = async () => [...(await served()), kind];
    born(bench, report, {});
    for (let i = 0; i < 3; i++) await bench.advance(60_000);
    expect(bench.reportedKeys('up/')).toEqual([up(report)]);
  });

  it('of a resource that the cluster withholds block no others', async () => {
    bench.cluster.silent.add('/secrets');
    born(bench, till, {});
    await bench.receive(bench.rules(placement, { upsync: [maps, { ...maps, resources: ['secrets'] }] }));
    expect(bench.reportedKeys('up/')).toEqual([up(till)]);
    await bench.receive(
      bench.object(shop, namespace('shop'), ['shop-prod']),
      bench.object('/configmaps/shop/other', configMap('other'), ['shop-prod']),
    );
    expect(bench.reported(`state/center.retail/${shop}`)!.attributes).toMatchObject({ applied: true });
    bench.cluster.erase(till);
    await bench.settle();
    expect(bench.reported(up(till))).toBeUndefined();
  });

  describe('of a kind with more placed objects than the agent processes at once', () => {
    const some = { ...maps, labelSelectors: [{ matchLabels: { up: '1' } }] };
    const secret = (i: number) => `/secrets/shop/s${i}`;
    const service = '/services/shop/web';
    const many = Array.from({ length: 12 }, (_, i) => secret(i));
    const sent = (kind: string, name: string) => ({ ...configMap(name), kind });

    const receive = () =>
      bench.receive(
        bench.rules(placement, { upsync: [{ ...some, resources: ['secrets', 'services'] }] }),
        bench.object(shop, namespace('shop'), ['shop-prod']),
        ...many.map((key, i) => bench.object(key, sent('Secret', `s${i}`), ['shop-prod'])),
        bench.object(service, sent('Service', 'web'), ['shop-prod']),
      );

    it.each(['Forbidden', 'NotFound'] as const)(
      'block no object if the cluster refuses to list it as %s',
      async (code) => {
        bench.cluster.unlisted.set('/secrets', code);
        await receive();
        for (const key of [service, ...many]) expect(bench.cluster.objects.has(key)).toBe(true);
      },
    );

    it('block only objects whose list has not arrived, and these report it', async () => {
      bench.cluster.silent.add('/secrets');
      await receive();
      await bench.advance(1_000);
      await bench.advance(1_000);
      expect(bench.cluster.objects.has(service)).toBe(true);
      expect(bench.cluster.objects.has(secret(0))).toBe(false);
      expect(bench.reported(`state/center.retail/${secret(11)}`)!.attributes).toMatchObject({
        applied: false,
        reason: 'Pending',
        message: expect.stringContaining('waiting for the cluster to list its secrets'),
      });
    });

    it('are applied, or left to the cluster, as soon as the list has arrived', async () => {
      const list = holdBack(bench, 'secrets');
      born(bench, secret(3), { labels: { up: '1' }, data: { mine: '1' } });
      await receive();
      expect(bench.cluster.objects.has(secret(4))).toBe(false);
      list();
      await bench.settle();
      expect(bench.cluster.objects.has(secret(4))).toBe(true);
      expect(bench.cluster.objects.get(secret(3))!.data).toEqual({ mine: '1' });
      await bench.advance(1_000);
      expect(bench.reported(`state/center.retail/${secret(3)}`)!.attributes).toMatchObject({ reason: 'Conflicted' });
    });

    it('keep their reports while a list takes long after a restart', async () => {
      await receive();
      await bench.advance(1_000);
      const before = bench.reports();
      const list = holdBack(bench, 'secrets');
      await bench.restart();
      await bench.advance(1_000);
      expect(bench.reports()).toBe(before);
      list();
      await bench.settle();
      await bench.advance(1_000);
      expect(bench.reported(`state/center.retail/${secret(3)}`)!.attributes).toMatchObject({ applied: true });
      expect(bench.reports()).toBe(before);
    });
  });

  it('are bounded for each placement, which reports the bound', async () => {
    const name = (i: number) => `/configmaps/shop/m${String(i).padStart(5, '0')}`;
    for (let i = 0; i < upsyncObjectsMax + 2; i++) born(bench, name(i), {});
    await bench.receive(bench.rules(placement, { upsync: [maps] }), bench.target(placement));
    for (let i = 0; i < 4; i++) await bench.advance(1_000);
    expect(bench.reportedKeys('up/')).toHaveLength(upsyncObjectsMax);
    expect(bench.reported(`partial/${placement}`)!.body).toMatchObject({
      counts: { available: 1, failed: 0 },
      failures: [
        { object: 'spec.upsync', reason: 'UpsyncLimit', message: expect.stringContaining('1002 objects match') },
      ],
    });
    bench.cluster.erase(name(0));
    bench.cluster.erase(name(1));
    await bench.advance(1_000);
    expect(bench.reportedKeys('up/')).toHaveLength(upsyncObjectsMax);
    expect(bench.reported(up(name(upsyncObjectsMax + 1)))).toBeDefined();
    expect(bench.reported(`partial/${placement}`)!.body).toMatchObject({ failures: [] });
  });

  it('keep their former report while they are larger than an entry may be, and their placement shows it', async () => {
    born(bench, till, { data: { a: '1' } });
    await bench.receive(bench.rules(placement, { upsync: [maps] }), bench.target(placement));
    await bench.advance(1_000);
    born(bench, till, { data: { a: 'x'.repeat(5 * 2 ** 20) } });
    await bench.advance(1_000);
    await bench.advance(1_000);
    expect(bench.reported(up(till))!.body).toMatchObject({ data: { a: '1' } });
    const message = expect.stringMatching(/^it has 52\d+ bytes, .* older/);
    const failures = [{ object: 'configmaps shop/till', reason: 'TooLarge', message }];
    expect(bench.reported(`partial/${placement}`)!.body).toMatchObject({ counts: { failed: 0 }, failures });
    born(bench, till, { data: { a: '2' } });
    await bench.advance(1_000);
    await bench.advance(1_000);
    expect(bench.reported(up(till))!.body).toMatchObject({ data: { a: '2' } });
    expect(bench.reported(`partial/${placement}`)!.body).toMatchObject({ failures: [] });
    bench.cluster.erase(till);
    await bench.advance(1_000);
    expect(bench.reported(up(till))).toBeUndefined();
  });

  it('win over placed objects of their source with the same name, and yield when no rule matches them any more', async () => {
    born(bench, till, { data: { mine: '1' } });
    await bench.receive(
      bench.rules('center.retail/reports', { upsync: [maps] }),
      bench.object(shop, namespace('shop'), ['shop-prod']),
      bench.object(till, configMap('till', { theirs: '1' }), ['shop-prod']),
      bench.target(placement),
    );
    expect(bench.cluster.objects.get(till)!.data).toEqual({ mine: '1' });
    expect(bench.counts(placement)).toEqual({ expected: 1, fresh: 1, synced: 1, conflicted: 1 });
    expect(bench.reported(`state/center.retail/${till}`)!.attributes).toMatchObject({
      applied: false,
      reason: 'Conflicted',
      message: expect.stringMatching(/^EdgePlacement reports of center.retail takes this object up/),
    });
    await bench.receive(bench.gone('u/center.retail/reports'));
    expect(bench.cluster.objects.get(till)!.data).toMatchObject({ theirs: '1' });
    await bench.advance(1_000);
    expect(bench.counts(placement)).toMatchObject({ available: 1 });
  });

  it('are none of the objects that another source delivers, and no rule of another source changes the delivery', async () => {
    born(bench, '/configmaps/shop/own', {});
    await bench.receive(
      bench.object(shop, namespace('shop'), ['shop-prod']),
      bench.object(till, configMap('till', { of: 'retail' }), ['shop-prod']),
      bench.target(placement),
    );
    await bench.receive(bench.rules('center.ops/reports', { upsync: [maps] }));
    await bench.settle();
    expect(bench.reportedKeys('up/')).toEqual([up('/configmaps/shop/own', 'center.ops')]);
    await bench.receive(bench.object(till, configMap('till', { of: 'retail', now: '1' }), ['shop-prod']));
    expect(bench.cluster.objects.get(till)!.data).toEqual({ of: 'retail', now: '1' });
    // A new object is applied although the rule names it before anybody has seen it on the cluster.
    const late = '/configmaps/shop/late';
    await bench.receive(bench.object(late, configMap('late', { of: 'retail' }), ['shop-prod']));
    await bench.settle();
    expect(bench.cluster.objects.get(late)!.data).toEqual({ of: 'retail' });
    await bench.receive(bench.gone(`o/center.retail/${till}`));
    await bench.settle();
    expect(bench.cluster.objects.has(till)).toBe(false);
    expect(bench.reportedKeys('up/')).toEqual([up('/configmaps/shop/own', 'center.ops')]);
  });

  it.each(['wins', 'inherits'] as const)(
    'are none of the objects that another source has delivered, also if the source of the rule %s their names',
    async (how) => {
      const ops = 'center.ops/reports';
      await bench.receive(
        bench.object(shop, namespace('shop'), ['shop-prod']),
        bench.object(till, configMap('till', { of: 'retail' }), ['shop-prod']),
        bench.target(placement, 1, { priority: 1 }),
        bench.rules(ops, { upsync: [maps] }),
        bench.object(till, configMap('till', { of: 'ops' }), ['reports'], 'center.ops'),
        bench.target(ops),
      );
      expect(bench.cluster.objects.get(till)!.data).toEqual({ of: 'retail' });
      await bench.receive(
        how === 'wins' ? bench.target(ops, 2, { priority: 5 }) : bench.gone(`o/center.retail/${till}`),
      );
      await bench.advance(1_000);
      // The object belongs to the cluster from now on, with the content of the source whose rule takes it.
      expect(bench.cluster.objects.get(till)!.data).toEqual({ of: 'ops' });
      expect(bench.reported(up(till, 'center.ops'))!.body).toMatchObject({ data: { of: 'ops' } });
    },
  );

  it('are reported again when the agent gives a placed object back to the cluster', async () => {
    born(bench, till, { data: { mine: '1' } });
    const rules = { upsync: [maps] };
    await bench.receive(bench.rules('center.ops/reports', rules));
    expect(bench.reportedKeys('up/')).toEqual([up(till, 'center.ops')]);
    await bench.receive(
      bench.object(shop, namespace('shop'), ['shop-prod']),
      bench.object(till, configMap('till', { mine: '1' }), ['shop-prod']),
      bench.target(placement),
    );
    await bench.settle();
    expect(bench.reportedKeys('up/')).toEqual([]);
    await bench.receive(bench.gone(`o/center.retail/${till}`));
    await bench.settle();
    expect(bench.reported(up(till, 'center.ops'))!.body).toMatchObject({ data: { mine: '1' } });
  });

  it('are left alone from then on if they were placed before', async () => {
    await bench.receive(
      bench.object(shop, namespace('shop'), ['shop-prod']),
      bench.object(till, configMap('till', { theirs: '1' }), ['shop-prod']),
      bench.target(placement),
    );
    await bench.receive(bench.rules(placement, { upsync: [maps] }));
    born(bench, till, { data: { mine: '1' } });
    await bench.receive(bench.gone(`o/center.retail/${till}`));
    expect(bench.cluster.objects.get(till)!.data).toEqual({ mine: '1' });
    expect(bench.reported(up(till))!.body).toMatchObject({ data: { mine: '1' } });
  });

  it('lose the mark from then on, since another store of the agent would treat them as its own', async () => {
    await bench.receive(
      bench.object(shop, namespace('shop'), ['shop-prod']),
      bench.object(till, configMap('till', { theirs: '1' }), ['shop-prod']),
      bench.target(placement),
    );
    expect(bench.cluster.objects.get(till)!.metadata.labels).toMatchObject({ 'banyan.io/managed': 'true' });
    await bench.receive(bench.rules(placement, { upsync: [maps] }));
    expect(bench.reported(`state/center.retail/${till}`)!.attributes).toMatchObject({ reason: 'Conflicted' });
    const { data, metadata } = bench.cluster.objects.get(till)!;
    expect([data, JSON.stringify([metadata.labels, metadata.annotations])]).toEqual([
      { theirs: '1' },
      expect.not.stringContaining('banyan.io'),
    ]);
    const before = bench.cluster.log.length;
    await bench.advance(600_000);
    expect(bench.cluster.log).toHaveLength(before);
  });

  it('are not removed because of their mark by a scan', async () => {
    await bench.receive(
      bench.object(shop, namespace('shop'), ['shop-prod']),
      bench.object(till, configMap('till'), ['shop-prod']),
      bench.target(placement),
    );
    await bench.receive(bench.rules('center.retail/reports', { upsync: [maps] }));
    await bench.receive(bench.gone(`o/center.retail/${till}`));
    const { uid = '' } = bench.cluster.objects.get(till)!.metadata;
    const found = { key: parseKey(till), uid, agent: 'eu:paris:store-17', source: 'center.retail', created: false };
    bench.agent.scanAppliedInventory([found], { entries: 50, fraction: 0.2 });
    await bench.settle();
    expect(bench.cluster.objects.has(till)).toBe(true);
    await bench.receive(bench.gone('u/center.retail/reports'));
    bench.agent.scanAppliedInventory([found], { entries: 50, fraction: 0.2 });
    await bench.settle();
    expect(bench.cluster.objects.has(till)).toBe(true);
  });
});

describe('objects that placed objects own', () => {
  const pod = (i: number) => `/pods/shop/web-1-${i}`;
  const set = 'apps/replicasets/shop/web-1';
  const rules = (limit: number, resources = ['pods']) => ({ associated: [{ apiGroup: '', resources, limit }] });
  const assoc = (key: string, source = 'center.retail') => `assoc/${source}/${key}`;
  let bench: AgentBench;

  async function placed(of: Parameters<AgentBench['rules']>[1]) {
    bench = await new AgentBench().start();
    await bench.receive(
      bench.rules(placement, of),
      bench.object(shop, namespace('shop'), ['shop-prod']),
      bench.object(web, deployment('web'), ['shop-prod']),
      bench.target(placement),
    );
  }

  it('are reported over any number of steps, in whatever order they are seen', async () => {
    await placed(rules(20));
    born(bench, pod(1), { owner: set });
    born(bench, '/pods/shop/stray', { owner: 'apps/replicasets/shop/other' });
    await bench.settle();
    expect(bench.reportedKeys('assoc/')).toEqual([]);
    bench.cluster.write(set, (object) => {
      object.metadata = { ...object.metadata, name: 'web-1', namespace: 'shop', uid: `uid-${set}` };
      object.metadata.ownerReferences = [ownerOf(web, bench.cluster.objects.get(web))];
    });
    await bench.settle();
    expect(bench.reportedKeys('assoc/')).toEqual([assoc(pod(1))]);
    expect(bench.reported(assoc(pod(1)))).toMatchObject({
      attributes: { owner: web, namespaced: true },
      body: { metadata: { name: 'web-1-1' } },
    });
  });

  describe('of one Deployment', () => {
    beforeEach(async () => {
      await placed(rules(2));
      bench.cluster.write(set, (object) => {
        object.metadata = { ...object.metadata, name: 'web-1', namespace: 'shop' };
        object.metadata.ownerReferences = [ownerOf(web, bench.cluster.objects.get(web))];
      });
      for (const i of [1, 2, 3]) born(bench, pod(i), { owner: set });
      await bench.settle();
    });

    it('are limited by the rule, and failing ones come first', async () => {
      expect(bench.reportedKeys('assoc/')).toEqual([pod(1), pod(2)].map((key) => assoc(key)));
      bench.cluster.write(pod(3), (object) => {
        Object.assign(object, { kind: 'Pod', status: { phase: 'Failed' } });
      });
      await bench.settle();
      expect(bench.reportedKeys('assoc/')).toEqual([pod(1), pod(3)].map((key) => assoc(key)));
      bench.cluster.erase(pod(3));
      await bench.settle();
      expect(bench.reportedKeys('assoc/')).toEqual([pod(1), pod(2)].map((key) => assoc(key)));
    });

    it('count a pod that stays without a node among the failing ones, without another event', async () => {
      const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }];
      bench.cluster.write(pod(3), (object) => {
        Object.assign(object, { kind: 'Pod', status: { phase: 'Pending', conditions } });
      });
      await bench.settle();
      expect(bench.reportedKeys('assoc/')).toEqual([pod(1), pod(2)].map((key) => assoc(key)));
      bench.clock.advance(15_000);
      await bench.settle();
      expect(bench.reportedKeys('assoc/')).toEqual([pod(1), pod(3)].map((key) => assoc(key)));
    });

    it('are watched whole if a rule names them, and kinds in between without their bodies', async () => {
      const always = 'apiextensions.k8s.io/customresourcedefinitions';
      expect(bench.cluster.watchedBare()).toEqual([always, 'apps/replicasets']);
      const all = [{ resources: ['*'], limit: 2 }];
      await bench.receive(bench.rules(placement, { associated: all }));
      expect(bench.cluster.watchedBare()).toEqual([always]);
    });

    it('follow the rules', async () => {
      await bench.receive(
        bench.rules(placement, { associated: [...rules(1).associated, { resources: ['replicasets'], limit: 5 }] }),
      );
      expect(bench.reportedKeys('assoc/')).toEqual([assoc(pod(1)), assoc(set)]);
      expect(bench.reported(assoc(set))!.body).toMatchObject({ metadata: { name: 'web-1' } });
      expect(bench.cluster.watchedBare()).not.toContain('apps/replicasets');
      await bench.receive(bench.gone(`u/${placement}`));
      expect(bench.reportedKeys('assoc/')).toEqual([]);
      expect(bench.cluster.watched()).not.toContain('/pods');
    });

    it('name the placements, of those that want the placed object, that ask for them', async () => {
      const refs = () => bench.reported(assoc(pod(1)))?.attributes;
      expect(refs()).toMatchObject({ refs: ['shop-prod'] });
      await bench.receive(
        bench.object(web, deployment('web'), ['audit', 'shop-prod', 'silent']),
        bench.target('center.retail/audit'),
        bench.target('center.retail/silent'),
        bench.rules('center.retail/audit', rules(1)),
      );
      expect(refs()).toMatchObject({ refs: ['audit', 'shop-prod'] });
      await bench.receive(bench.object(web, deployment('web'), ['audit', 'silent']));
      expect(refs()).toMatchObject({ refs: ['audit'] });
    });

    it.each(['refuses', 'does not tell'])('go while the cluster %s the owners of others', async (way) => {
      if (way === 'refuses') bench.cluster.unlisted.set('/configmaps', 'Forbidden');
      else bench.cluster.silent.add('/configmaps');
      born(bench, '/pods/shop/foreign', { owner: '/configmaps/shop/operator' });
      await bench.settle();
      bench.cluster.erase(pod(1));
      await bench.settle();
      expect(bench.reportedKeys('assoc/')).toEqual([pod(2), pod(3)].map((key) => assoc(key)));
      bench.cluster.objects.delete(pod(2));
      await bench.restart();
      await bench.settle();
      expect(bench.reportedKeys('assoc/')).toEqual([assoc(pod(3))]);
    });

    it('keep their reports while their owners are unknown, and go if these are known to be others', async () => {
      const list = holdBack(bench, 'replicasets');
      bench.cluster.objects.delete(set);
      bench.cluster.objects.delete(pod(1));
      await bench.restart();
      await bench.settle();
      expect(bench.reportedKeys('assoc/')).toEqual([assoc(pod(2))]);
      list();
      await bench.settle();
      expect(bench.reportedKeys('assoc/')).toEqual([]);
    });

    it.each(['', 'apps'])(
      'keep their reports while the cluster does not list the kinds of the group %j',
      async (group) => {
        bench.cluster.unknown.set(group, 'its server does not answer');
        bench.cluster.objects.delete(pod(1));
        await bench.restart();
        await bench.settle();
        expect(bench.reportedKeys('assoc/')).toEqual(
          (group === '' ? [pod(1), pod(2)] : [pod(2)]).map((key) => assoc(key)),
        );
        bench.cluster.unknown.clear();
        await bench.advance(60_000);
        await bench.settle();
        expect(bench.reportedKeys('assoc/')).toEqual([pod(2), pod(3)].map((key) => assoc(key)));
      },
    );

    it('keep their reports while the cluster does not list its kinds', async () => {
      const { served } = bench.cluster;
      bench.cluster.served = () => Promise.reject(new Error('away'));
      await bench.restart();
      await bench.advance(1_000);
      expect(bench.reportedKeys('assoc/')).toEqual([pod(1), pod(2)].map((key) => assoc(key)));
      bench.cluster.served = served;
      bench.cluster.objects.delete(pod(1));
      await bench.advance(5_000);
      await bench.settle();
      expect(bench.reportedKeys('assoc/')).toEqual([pod(2), pod(3)].map((key) => assoc(key)));
    });

    it('go with the placed object', async () => {
      await bench.receive(bench.gone(`o/center.retail/${web}`));
      expect(bench.reportedKeys('assoc/')).toEqual([]);
    });

    it('belong to the placements of the placed object', async () => {
      await bench.receive(
        bench.object(web, deployment('web'), ['b'], 'center.a'),
        bench.target('center.a/b', 1, { priority: 9 }),
      );
      expect(bench.reportedKeys('assoc/')).toEqual([]);
      await bench.receive(bench.rules('center.a/b', rules(1)));
      expect(bench.reportedKeys('assoc/')).toEqual([assoc(pod(1), 'center.a')]);
    });

    it('are reported again after a restart only if they have changed', async () => {
      const before = bench.reports();
      await bench.restart();
      expect(bench.reports()).toBe(before);
      bench.cluster.write(pod(1), (object) => {
        object.status = { conditions: [{ type: 'Ready', status: 'False', lastProbeTime: '1' }] };
      });
      await bench.settle();
      expect(bench.reports()).toBe(before + 1);
      bench.cluster.write(pod(1), (object) => {
        object.status = { conditions: [{ type: 'Ready', status: 'False', lastProbeTime: '2' }] };
      });
      await bench.settle();
      expect(bench.reports()).toBe(before + 1);
    });
  });
});
