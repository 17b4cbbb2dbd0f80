/** What a site accepts from which sources (`accept`). */
import { describe, expect, it } from 'vitest';
import type { Acceptance } from '../../../core/match/acceptance.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import { AgentBench, configMap, namespace, path } from './support/agent-bench.ts';
import { EmbeddedBench } from './support/embedded-bench.ts';

const shop = '/namespaces//shop';
const till = '/configmaps/shop/till';
const role = 'rbac.authorization.k8s.io/clusterroles//all';
const placement = 'center.retail/p';
const clusterRole: KubeObject = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'all' },
};
const inShop: Acceptance = [{ source: 'center.*', namespaces: ['shop'], clusterScoped: [] }];
const elsewhere: Acceptance = [
  { source: 'eu.*', namespaces: ['*'], clusterScoped: [] },
  { source: 'center.retail', namespaces: ['retail-*'], clusterScoped: [] },
];

async function delivered(accept: Acceptance | undefined): Promise<AgentBench> {
  const bench = new AgentBench();
  bench.accept = accept;
  await bench.restart();
  await bench.receive(
    bench.object(shop, namespace('shop'), ['p']),
    bench.object(till, configMap('till'), ['p']),
    bench.object(role, clusterRole, ['p']),
    bench.target(placement),
  );
  await bench.advance(1_000);
  return bench;
}

const on = (bench: AgentBench) => [shop, till, role].filter((key) => bench.cluster.objects.has(key));

describe('an agent with accept', () => {
  it('accepts everything without it', async () => {
    const bench = await delivered(undefined);
    expect(on(bench)).toEqual([shop, till, role]);
    expect(bench.reported(`node/${path}`)!.attributes).not.toHaveProperty('notAccepted');
  });

  it('applies what a rule for the source allows, and nothing else', async () => {
    const bench = await delivered(inShop);
    expect(on(bench)).toEqual([shop, till]);
    expect(bench.cluster.log.filter((line) => line.includes(role))).toEqual([]);
    expect(bench.counts(placement)).toMatchObject({ failed: 1 });
    expect(bench.reported(`state/center.retail/${till}`)!.attributes).toMatchObject({ applied: true });
  });

  it('reports a refusal in words that name the site and the rules for this source alone', async () => {
    const bench = await delivered(elsewhere);
    expect(on(bench)).toEqual([]);
    expect(bench.reported(`state/center.retail/${till}`)!.attributes).toMatchObject({
      applied: false,
      available: false,
      failed: true,
      reason: 'NotAccepted',
      message: `the site ${path} does not accept this object in namespace shop from center.retail: accept[1] allows all kinds in namespaces retail-*, and of cluster-scoped kinds none. Those who run the site can allow it there (accept of its agent)`,
    });
    expect(bench.counts(placement)).toMatchObject({ failed: 1 });
    expect(JSON.stringify(bench.reported(`partial/${placement}`))).toContain('NotAccepted');
    expect(bench.reported(`node/${path}`)!.attributes.notAccepted).toMatchObject({
      message: expect.stringMatching(/^the site does not accept 3 objects, such as .*center\.retail/),
    });
  });

  it('removes what it accepts no longer, applies it when it does again, and reports both', async () => {
    const bench = await delivered(undefined);
    bench.accept = [];
    await bench.restart();
    // The namespace is removed 15 s after its objects (removal-order.ts).
    for (let second = 0; second < 20; second++) await bench.advance(1_000);
    expect(on(bench)).toEqual([]);
    expect(bench.counts(placement)).toMatchObject({ failed: 1 });
    bench.accept = undefined;
    await bench.restart();
    await bench.advance(1_000);
    expect(on(bench)).toEqual([shop, till, role]);
    expect(bench.counts(placement)).toMatchObject({ available: 1 });
  });

  it('lets a source that it accepts have an object of which it refuses another source', async () => {
    const bench = await delivered([{ source: 'eu.ops', namespaces: ['shop'], clusterScoped: [] }]);
    await bench.receive(
      bench.object(shop, namespace('shop'), ['q'], 'eu.ops'),
      bench.object(till, configMap('till', { by: 'ops' }), ['q'], 'eu.ops'),
      bench.target('eu.ops/q'),
    );
    expect(bench.cluster.objects.get(till)!.data).toEqual({ by: 'ops' });
    await bench.advance(1_000);
    expect(bench.counts('eu.ops/q')).toMatchObject({ available: 1 });
    expect(bench.reported(`state/center.retail/${till}`)!.attributes).toMatchObject({ reason: 'NotAccepted' });
    expect(bench.reported(`node/${path}`)!.attributes).not.toHaveProperty('sourceConflict');
  });

  it('forgets a refusal when the object is no longer sent', async () => {
    const bench = await delivered([]);
    await bench.receive(...[shop, till, role].map((key) => bench.gone(`o/center.retail/${key}`)));
    await bench.advance(1_000);
    expect(bench.reportedKeys('state/')).toEqual([]);
    expect(bench.counts(placement)).toMatchObject({ available: 1 });
    expect(bench.reported(`node/${path}`)!.attributes).not.toHaveProperty('notAccepted');
  });

  it('reads nothing back for a source from where it accepts nothing', async () => {
    const maps = { apiGroup: '', resources: ['configmaps'] };
    for (const [accept, keys] of [
      [undefined, [`up/center.retail/${path}/${till}`]],
      [inShop, [`up/center.retail/${path}/${till}`]],
      [elsewhere, []],
    ] as const) {
      const bench = new AgentBench();
      bench.accept = accept;
      await bench.restart();
      bench.cluster.write(till, (object) => {
        Object.assign(object, configMap('till', { of: 'the site' }), {
          metadata: { ...object.metadata, name: 'till', namespace: 'shop', uid: 'own' },
        });
      });
      await bench.receive(bench.rules(placement, { upsync: [maps] }), bench.target(placement));
      await bench.advance(1_000);
      expect(bench.reportedKeys('up/')).toEqual(keys);
    }
  });

  it('says that a rule of upsync takes nothing because the site rules it out, and says so no longer when it does not', async () => {
    const upsync = [
      { apiGroup: '', resources: ['configmaps'], namespaces: ['shop', 'office'] },
      { apiGroup: 'rbac.authorization.k8s.io', resources: ['clusterroles'] },
    ];
    const bench = await delivered(inShop);
    await bench.receive(bench.rules(placement, { upsync }), bench.target(placement));
    await bench.advance(1_000);
    const failures = () => bench.failures(placement).filter(({ object }) => object === 'spec.upsync');
    expect(failures()).toEqual([
      {
        path,
        object: 'spec.upsync',
        reason: 'NotAccepted',
        message: `the site ${path} does not accept that rules of upsync take configmaps in namespace office, clusterroles.rbac.authorization.k8s.io for center.retail: accept[0] allows all kinds in namespaces shop, and of cluster-scoped kinds none. Those who run the site can allow it there (accept of its agent)`,
      },
    ]);
    const trouble = () => bench.reported(`node/${path}`)!.attributes.notAccepted;
    expect(trouble()).toMatchObject({
      message: expect.stringContaining(
        `what the rules of upsync of a placement ask for, such as configmaps in namespace office for ${placement}`,
      ),
    });
    await bench.receive(
      bench.gone(`o/center.retail/${role}`),
      bench.rules(placement, { upsync: [{ ...upsync[0]!, namespaces: ['shop'] }] }),
    );
    await bench.advance(1_000);
    expect([failures(), trouble()]).toEqual([[], undefined]);
  });
});

describe('an object of the site that the agent has taken over', () => {
  it('is given back, and not deleted, when the site no longer accepts the source', async () => {
    const of = (data: Record<string, string>): KubeObject => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'tariff', namespace: 'site-apps' },
      data,
    });
    const apps: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'site-apps' } };
    const bench = await new EmbeddedBench().start();
    for (const object of [apps, of({ rate: '17' })])
      bench.space.create(structuredClone(object), { fieldManager: 'kubectl-create' });
    await bench.pass(500);
    const { uid } = bench.live(of({}))!.metadata;
    await bench.place([of({ rate: '17', added: 'by the hub' })]);
    await bench.pass(2_000);
    expect(bench.live(of({}))!.data).toEqual({ rate: '17', added: 'by the hub' });
    bench.accept = [];
    await bench.restart();
    await bench.pass(5_000);
    expect(bench.live(of({}))).toMatchObject({ metadata: { uid }, data: { rate: '17' } });
    expect(bench.live(of({}))!.data).toEqual({ rate: '17' });
    expect(bench.reported(of({}))).toMatch(/^NotAccepted: the site eu:store-1 does not accept/);
    expect(bench.counts()).toMatchObject({ failed: 1 });
  });
});
