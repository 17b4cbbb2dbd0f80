import { describe, expect, it } from 'vitest';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { OwnerRecords } from '../../../../edge-agent/apply/owner-records.ts';
import { AgentBench, board, configMap, definition, deployment, namespace, path } from '../support/agent-bench.ts';
import type { FakeCluster } from '../support/fake-cluster.ts';

const placement = 'center.retail/shop-prod';
const shop = '/namespaces//shop';
const till = '/configmaps/shop/till';
const web = 'apps/deployments/shop/web';

async function withShop() {
  const bench = await new AgentBench().start();
  await bench.receive(
    bench.object(web, deployment('web'), ['shop-prod']),
    bench.object(till, configMap('till'), ['shop-prod']),
    bench.object(shop, namespace('shop'), ['shop-prod']),
    bench.target(placement),
  );
  return bench;
}

describe('applying', () => {
  it('applies the namespace before the objects in it, in whatever order they arrived', async () => {
    const { cluster } = await withShop();
    expect(cluster.log[0]).toBe(`apply ${shop}`);
    expect([...cluster.objects.keys()].sort()).toEqual([shop, till, web].sort());
  });

  it('marks the objects that it applies, and keeps the labels that came with them', async () => {
    const bench = await withShop();
    const labelled = configMap('till');
    labelled.metadata.labels = { app: 'till' };
    await bench.receive(bench.object(till, labelled, ['shop-prod']));
    const { labels, annotations } = bench.cluster.objects.get(till)!.metadata;
    expect(labels).toEqual({ app: 'till', 'banyan.io/managed': 'true' });
    expect(annotations).toEqual({
      'banyan.io/agent': 'eu:paris:store-17',
      'banyan.io/source': 'center.retail',
      'banyan.io/created': 'true',
      'banyan.io/content': expect.stringMatching(/^[0-9a-f]{32}$/),
    });
  });

  it('applies an object again when its content changes, and does nothing when only its placements do', async () => {
    const bench = await withShop();
    bench.cluster.log.length = 0;
    await bench.receive(bench.object(till, configMap('till'), ['other', 'shop-prod']));
    expect(bench.cluster.log).toEqual([]);
    await bench.receive(bench.object(till, configMap('till', { a: '2' }), ['shop-prod']));
    expect(bench.cluster.log).toEqual([`apply ${till}`]);
    expect(bench.cluster.objects.get(till)!.data).toEqual({ a: '2' });
  });

  it('applies the definition first and the custom resource when the kind is served', async () => {
    const bench = await withShop();
    const key = 'shop.example.com/boards/shop/front';
    const crd = 'apiextensions.k8s.io/customresourcedefinitions//boards.shop.example.com';
    bench.cluster.log.length = 0;
    await bench.receive(
      bench.object(key, board('front'), ['shop-prod']),
      bench.object(crd, definition(), ['shop-prod']),
    );
    expect(bench.cluster.log).toEqual([`apply ${crd}`, `apply ${key}`]);
  });

  it('reports an unknown kind, and applies the object when somebody installs the kind', async () => {
    const bench = await withShop();
    const key = 'shop.example.com/boards/shop/front';
    await bench.receive(bench.object(key, board('front'), ['shop-prod']));
    const state = bench.reported(`state/center.retail/${key}`)!.attributes;
    expect(state).toMatchObject({ applied: false, available: false, reason: 'UnknownKind' });
    expect(state.message).toContain('install its CustomResourceDefinition');
    await bench.cluster.apply(definition());
    await bench.settle();
    expect(bench.cluster.objects.has(key)).toBe(true);
  });

  it('reports a kind as unknown only if the cluster has reported the kinds that it serves', async () => {
    const bench = await withShop();
    bench.cluster.unknown.set('shop.example.com', 'its server does not answer');
    await bench.receive(bench.object('shop.example.com/boards/shop/front', board('front'), ['shop-prod']));
    const { attributes } = bench.reported('state/center.retail/shop.example.com/boards/shop/front')!;
    expect(attributes).toMatchObject({ reason: 'Unavailable', message: 'its server does not answer' });
  });

  it('sends an object in an equivalent version that the cluster serves, and does not treat it as drifted', async () => {
    const bench = await withShop();
    const key = 'apps/deployments/shop/old';
    const old = { ...deployment('old'), apiVersion: 'apps/v1beta2' };
    bench.cluster.log.length = 0;
    await bench.receive(bench.object(key, old, ['shop-prod']));
    expect(bench.cluster.objects.get(key)?.apiVersion).toBe('apps/v1');
    await bench.advance(60_000);
    expect(bench.cluster.log).toEqual([`apply ${key}`]);
    const odd = { ...deployment('odd'), apiVersion: 'apps/v1beta1' };
    await bench.receive(bench.object('apps/deployments/shop/odd', odd, ['shop-prod']));
    expect(bench.reported('state/center.retail/apps/deployments/shop/odd')!.attributes).toMatchObject({
      reason: 'UnknownKind',
      message: expect.stringContaining('write the object as apps/v1'),
    });
  });

  it('continues with everything else when the cluster refuses one object, and retries that one', async () => {
    const bench = new AgentBench();
    bench.cluster.refuse.set(till, 'data: too odd');
    await bench.start();
    await bench.receive(
      bench.object(shop, namespace('shop'), ['shop-prod']),
      bench.object(till, configMap('till'), ['shop-prod']),
      bench.object('/configmaps/shop/b', configMap('b'), ['shop-prod']),
      bench.target(placement),
    );
    expect(bench.cluster.objects.has('/configmaps/shop/b')).toBe(true);
    expect(bench.reported(`state/center.retail/${till}`)!.attributes).toMatchObject({
      applied: false,
      reason: 'Invalid',
      message: 'data: too odd',
    });
    expect(bench.counts(placement)).toEqual({ expected: 1, fresh: 1, synced: 1, failed: 1 });
    bench.cluster.refuse.clear();
    await bench.advance(300_000);
    expect(bench.cluster.objects.has(till)).toBe(true);
    expect(bench.counts(placement)).toMatchObject({ applied: 1, available: 1 });
  });

  it('creates a create-only object and then leaves it to the cluster', async () => {
    const bench = await withShop();
    await bench.receive(
      bench.object(till, configMap('till'), ['shop-prod'], 'center.retail', { createOnly: ['shop-prod'] }),
    );
    bench.cluster.write(till, (object) => {
      object.data = { a: 'mine' };
    });
    await bench.settle();
    expect(bench.cluster.objects.get(till)!.data).toEqual({ a: 'mine' });
  });
});

describe('an object that the agent does not own', () => {
  it('is not taken over if somebody else keeps it by server-side apply', async () => {
    const bench = await new AgentBench().start();
    bench.cluster.write(till, (object) => {
      object.metadata.managedFields = [{ manager: 'argocd', operation: 'Apply' }];
    });
    await bench.receive(bench.object(till, configMap('till'), ['shop-prod']), bench.target(placement));
    expect(bench.cluster.log).toEqual([]);
    expect(bench.reported(`state/center.retail/${till}`)!.attributes).toMatchObject({ reason: 'NotOwned' });
    expect(bench.counts(placement)).toMatchObject({ failed: 1 });
    await bench.receive(bench.gone(`o/center.retail/${till}`));
    expect(bench.cluster.objects.has(till)).toBe(true);
  });

  it('is neither taken over nor removed if the agent of another tree, which is named, has applied it', async () => {
    const bench = await new AgentBench().start();
    bench.cluster.write(till, ({ metadata }) => {
      metadata.labels = { 'banyan.io/managed': 'true' };
      metadata.annotations = { 'banyan.io/agent': 'us:rivoli', 'banyan.io/source': 'center.theirs' };
      metadata.managedFields = [{ manager: 'banyan', operation: 'Apply' }];
    });
    await bench.receive(bench.object(till, configMap('till'), ['shop-prod']), bench.target(placement));
    expect(bench.reported(`state/center.retail/${till}`)!.attributes).toMatchObject({
      reason: 'NotOwned',
      message: expect.stringContaining('the agent us:rivoli has applied it'),
    });
    await bench.receive(bench.gone(`o/center.retail/${till}`));
    await bench.advance(60_000);
    expect(bench.cluster.log).toEqual([]);
  });

  it('is left to the agent that has taken it over since', async () => {
    const bench = await withShop();
    bench.cluster.write(till, ({ metadata }) => {
      metadata.annotations = { 'banyan.io/agent': 'us:rivoli', 'banyan.io/source': 'center.theirs' };
    });
    await bench.settle();
    expect(bench.reported(`state/center.retail/${till}`)!.attributes).toMatchObject({ reason: 'NotOwned' });
    await bench.receive(bench.gone(`o/center.retail/${till}`));
    expect(bench.cluster.objects.has(till)).toBe(true);
  });

  it('is taken over if nobody manages it', async () => {
    const bench = await new AgentBench().start();
    bench.cluster.write(shop, (object) => {
      object.metadata.managedFields = [{ manager: 'kubectl', operation: 'Update' }];
    });
    await bench.receive(bench.object(shop, namespace('shop'), ['shop-prod']));
    expect(bench.cluster.objects.get(shop)!.metadata.labels).toMatchObject({ 'banyan.io/managed': 'true' });
  });
});

describe('pruning', () => {
  const withdraw = (bench: AgentBench) => {
    const rows = [...[shop, till, web].map((key) => `o/center.retail/${key}`), `t/${placement}`];
    return bench.receive(...rows.map((key) => bench.gone(key)));
  };

  it('removes objects that are no longer wanted, the namespace last', async () => {
    const bench = await withShop();
    bench.cluster.log.length = 0;
    await withdraw(bench);
    expect(bench.cluster.log.sort()).toEqual([`remove ${shop}`, `remove ${till}`, `remove ${web}`].sort());
    expect(bench.cluster.objects.size).toBe(0);
  });

  it('keeps the namespace until the last of its objects is really gone', async () => {
    const bench = await withShop();
    bench.cluster.finalized.add(till);
    await withdraw(bench);
    expect([...bench.cluster.objects.keys()].sort()).toEqual([till, shop].sort());
    bench.cluster.erase(till);
    await bench.settle();
    expect(bench.cluster.objects.size).toBe(0);
  });

  it('keeps a definition while somebody else wants an object of its kind, and no longer', async () => {
    const crd = 'apiextensions.k8s.io/customresourcedefinitions//boards.shop.example.com';
    const board1 = 'shop.example.com/boards/shop/one';
    const bench = await withShop();
    await bench.receive(
      bench.object(crd, definition(), ['shop-prod']),
      bench.object(board1, board('one'), ['a'], 'center.ops'),
      bench.target('center.ops/a'),
    );
    await bench.advance(5_000);
    expect(bench.cluster.objects.has(board1)).toBe(true);
    bench.cluster.log.length = 0;
    await bench.receive(bench.gone(`o/center.retail/${crd}`));
    expect(bench.cluster.log).toEqual([]);
    await bench.receive(bench.gone(`o/center.ops/${board1}`));
    expect(bench.cluster.log).toEqual([`remove ${board1}`, `remove ${crd}`]);
  });

  it('leaves an object whose mark somebody has removed', async () => {
    const bench = await withShop();
    await bench.agent.stop();
    bench.cluster.write(till, (object) => {
      delete object.metadata.labels;
    });
    bench.receiveWhileStopped(bench.gone(`o/center.retail/${till}`));
    await bench.restart();
    expect(bench.cluster.objects.has(till)).toBe(true);
  });

  it('leaves an object of the same name that it has no record of, with or without a mark', async () => {
    const bench = await new AgentBench().start();
    bench.cluster.write(till, (object) => {
      object.metadata.labels = { 'banyan.io/managed': 'true' };
    });
    await bench.receive(bench.gone(`o/center.retail/${till}`));
    expect(bench.cluster.objects.has(till)).toBe(true);
  });

  it('releases a namespace that was there before, without its own labels on it', async () => {
    const bench = await new AgentBench().start();
    bench.cluster.write(shop, (object) => {
      object.kind = 'Namespace';
      object.metadata.name = 'shop';
    });
    await bench.receive(bench.object(shop, namespace('shop'), ['shop-prod']));
    await bench.receive(bench.gone(`o/center.retail/${shop}`));
    expect(bench.cluster.log).toEqual([`apply ${shop}`, `patch ${shop}`]);
    expect(bench.cluster.objects.get(shop)!.metadata.labels).toBeUndefined();
  });

  it.each([
    ['after the agent was refused', ({ refuse }: FakeCluster) => void refuse.set(shop, 'no')],
    ['after the one of the agent had gone', () => {}],
  ])('releases a namespace that somebody has made %s', async (_, prepare) => {
    const bench = await new AgentBench().start();
    prepare(bench.cluster);
    await bench.receive(bench.object(shop, namespace('shop'), ['shop-prod']), bench.target(placement));
    await bench.agent.stop();
    bench.cluster.refuse.clear();
    bench.cluster.objects.delete(shop);
    bench.cluster.write(shop, (object) =>
      Object.assign(object, namespace('shop'), { metadata: { name: 'shop', uid: 'theirs' } }),
    );
    await bench.restart();
    expect(bench.cluster.objects.get(shop)!.metadata.labels).toEqual({ 'banyan.io/managed': 'true' });
    await bench.receive(bench.gone(`o/center.retail/${shop}`), bench.gone(`t/${placement}`));
    expect(bench.cluster.objects.get(shop)).toMatchObject({ metadata: { uid: 'theirs' } });
  });

  it('removes after a restart objects that were withdrawn while the process was down', async () => {
    const bench = await withShop();
    await bench.agent.stop();
    bench.receiveWhileStopped(bench.gone(`o/center.retail/${till}`));
    await bench.restart();
    expect(bench.cluster.objects.has(till)).toBe(false);
    expect(bench.reported(`state/center.retail/${till}`)).toBeUndefined();
  });
});

describe('two sources with one object', () => {
  const other = 'eu.paris.ops';

  it('follow the source nearer the center, whichever came first, and the other placement reports a conflict', async () => {
    const bench = await new AgentBench().start();
    await bench.receive(
      bench.object(shop, namespace('shop'), ['local'], other),
      bench.object(till, configMap('till', { from: 'paris' }), ['local'], other),
      bench.target(`${other}/local`),
    );
    expect(bench.cluster.objects.get(till)!.data).toEqual({ from: 'paris' });
    await bench.receive(
      bench.object(till, configMap('till', { from: 'center' }), ['shop-prod']),
      bench.target(placement),
    );
    expect(bench.cluster.objects.get(till)!.data).toEqual({ from: 'center' });
    expect(bench.counts(`${other}/local`)).toMatchObject({ conflicted: 1, expected: 1 });
    expect(bench.counts(`${other}/local`)).not.toHaveProperty('available');
    expect(bench.counts(placement)).toMatchObject({ available: 1 });
    expect(bench.reported(`state/${other}/${till}`)!.attributes).toMatchObject({ reason: 'Conflicted' });
  });

  it('give the object to the next source when the winner withdraws, without removing it between', async () => {
    const bench = await withShop();
    await bench.receive(
      bench.object(till, configMap('till', { from: 'paris' }), ['local'], other),
      bench.target(`${other}/local`),
    );
    const { uid } = bench.cluster.objects.get(till)!.metadata;
    bench.cluster.log.length = 0;
    await bench.receive(bench.gone(`o/center.retail/${till}`));
    expect(bench.cluster.log).toEqual([`apply ${till}`]);
    expect(bench.cluster.objects.get(till)).toMatchObject({ data: { from: 'paris' }, metadata: { uid } });
    expect(bench.counts(`${other}/local`)).toMatchObject({ available: 1 });
  });
});

describe('drift', () => {
  it('is corrected at once, a changed field as well as a deleted object', async () => {
    const bench = await withShop();
    bench.cluster.write(till, (object) => {
      object.data = { a: 'hacked' };
    });
    await bench.settle();
    expect(bench.cluster.objects.get(till)!.data).toEqual({ a: '1' });
    bench.cluster.erase(till);
    await bench.settle();
    expect(bench.cluster.objects.has(till)).toBe(true);
  });

  it('does not include fields that others add, or a status', async () => {
    const bench = await withShop();
    bench.cluster.log.length = 0;
    bench.cluster.write(web, (object) => {
      object.metadata.annotations = { ...object.metadata.annotations, revision: '1' };
      (object.spec as Record<string, unknown>).paused = false;
    });
    bench.cluster.settle(web, 2);
    await bench.settle();
    expect(bench.cluster.log).toEqual([]);
  });

  it('by a writer who never gives up is corrected at a bounded rate', async () => {
    const bench = await withShop();
    bench.cluster.log.length = 0;
    const fight = async () => {
      bench.cluster.write(till, (object) => {
        object.data = { a: 'hacked' };
      });
      await bench.settle();
    };
    for (let i = 0; i < 50; i++) await fight();
    expect(bench.cluster.log).toHaveLength(5);
    await bench.advance(10_000);
    expect(bench.cluster.log).toHaveLength(6);
  });

  it('by a writer who never gives up is reported from the second round on, and the object is not available, until it ends', async () => {
    const bench = await withShop();
    const state = () => bench.reported(`state/center.retail/${web}`)!.attributes;
    const fight = async (replicas: number) => {
      bench.cluster.write(web, (object) => {
        object.spec = { replicas };
        object.metadata.managedFields!.push({ manager: 'kube-controller-manager', operation: 'Update' });
      });
      await bench.settle();
      bench.cluster.settle(web, 2);
      await bench.advance(15_000);
    };
    await fight(5);
    expect(state()).toMatchObject({ available: true });
    expect(state()).not.toHaveProperty('reason');
    await fight(5);
    expect(state()).toMatchObject({ applied: true, available: false, reason: 'Drifted' });
    expect(state()).not.toHaveProperty('failed');
    expect(state().message).toMatch(/spec.replicas is 5 and was applied as 2, last written by kube-controller-manager/);
    expect(bench.counts(placement)).toMatchObject({ applied: 1 });
    expect(bench.counts(placement)).not.toHaveProperty('available');
    expect(bench.reported(`partial/${placement}`)!.body.failures).toMatchObject([{ reason: 'Drifted' }]);
    await bench.advance(120_000);
    await bench.advance(1_000);
    expect(state()).toMatchObject({ available: true });
    expect(state()).not.toHaveProperty('reason');
    expect(bench.reported(`partial/${placement}`)!.body.failures).toEqual([]);
  });

  it('at a restarted agent without a parent is corrected from the agent’s own store', async () => {
    const bench = await withShop();
    await bench.agent.stop();
    bench.cluster.erase(till);
    bench.cluster.write(web, (object) => {
      object.spec = { replicas: 7 };
    });
    await bench.restart();
    expect(bench.cluster.objects.has(till)).toBe(true);
    expect(bench.cluster.objects.get(web)!.spec).toEqual({ replicas: 2 });
  });
});

describe('reports', () => {
  it('count a placement as applied first, and as available only when the cluster says so', async () => {
    const bench = await withShop();
    expect(bench.counts(placement)).toEqual({ expected: 1, fresh: 1, synced: 1, applied: 1 });
    bench.cluster.settle(web, 2);
    await bench.settle();
    expect(bench.counts(placement)).toEqual({ expected: 1, fresh: 1, synced: 1, applied: 1, available: 1 });
    expect(bench.reported(`state/center.retail/${web}`)).toMatchObject({
      attributes: { applied: true, available: true },
      body: { readyReplicas: 2 },
    });
  });

  it('withdraw availability at the moment that new content arrives, until the cluster has completed it', async () => {
    const bench = await withShop();
    bench.cluster.settle(web, 2);
    await bench.settle();
    bench.cluster.refuse.set(web, 'not now');
    await bench.receive(bench.object(web, deployment('web', 3), ['shop-prod']), bench.target(placement, 2));
    expect(bench.reported(`partial/${placement}`)!.body).toMatchObject({
      target: 2,
      counts: { applied: 0, available: 0, failed: 1 },
    });
    bench.cluster.refuse.clear();
    await bench.advance(300_000);
    // Applied, but the status on the cluster is of the former generation.
    expect(bench.counts(placement)).toMatchObject({ applied: 1 });
    expect(bench.counts(placement)).not.toHaveProperty('available');
    bench.cluster.settle(web, 3);
    await bench.advance(1_000);
    expect(bench.counts(placement)).toMatchObject({ applied: 1, available: 1 });
  });

  it('never claim availability for a target in any write before the cluster shows it', async () => {
    const bench = await withShop();
    bench.cluster.settle(web, 2);
    await bench.settle();
    const states: unknown[] = [];
    const put = bench.producer.put.bind(bench.producer);
    bench.producer.put = (t, content, revision) => {
      if (content.key === `partial/${placement}`) states.push(JSON.parse(Buffer.from(content.body).toString()));
      return put(t, content, revision);
    };
    await bench.receive(bench.object(web, deployment('web', 5), ['shop-prod']), bench.target(placement, 2));
    await bench.advance(5_000);
    expect(states.length).toBeGreaterThan(0);
    for (const state of states) expect(state).toMatchObject({ target: 2, counts: { available: 0 } });
  });

  it('name what fails, with the path of this agent', async () => {
    const bench = await withShop();
    bench.cluster.write(web, (object) => {
      object.status = {
        observedGeneration: 1,
        conditions: [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message: 'stuck' }],
      };
    });
    await bench.settle();
    expect(bench.counts(placement)).toMatchObject({ applied: 1, failed: 1 });
    expect(bench.reported(`partial/${placement}`)!.body.failures).toEqual([
      { path, object: 'deployments.apps shop/web', reason: 'ProgressDeadlineExceeded', message: 'stuck' },
    ]);
  });

  it('are not repeated for changes without effect, and come at most once a second per key after a burst', async () => {
    const bench = await withShop();
    bench.cluster.settle(web, 2);
    await bench.settle();
    await bench.advance(60_000);
    const before = bench.reports();
    bench.cluster.write(web, (object) => {
      (object.status as Record<string, unknown>).conditions = [
        { type: 'Available', status: 'True', lastUpdateTime: 'later' },
      ];
    });
    await bench.settle();
    expect(bench.reports() - before).toBe(0);
    for (let i = 0; i < 40; i++) {
      bench.cluster.write(web, (object) => {
        (object.status as Record<string, unknown>).collisionCount = i;
      });
      await bench.settle();
    }
    expect(bench.reports() - before).toBe(4);
    await bench.advance(1_000);
    expect(bench.reports() - before).toBe(5);
    expect(bench.reported(`state/center.retail/${web}`)!.body.collisionCount).toBe(39);
  });

  it('end with their subject', async () => {
    const bench = await withShop();
    await bench.receive(bench.gone(`o/center.retail/${till}`));
    expect(bench.reported(`state/center.retail/${till}`)).toBeUndefined();
    expect(bench.counts(placement)).toBeDefined();
    await bench.receive(bench.gone(`t/${placement}`));
    expect(bench.counts(placement)).toBeUndefined();
  });

  it('answer that a placement is gone, also while a row that stays for another placement still names it', async () => {
    const bench = await new AgentBench().start();
    await bench.receive(
      bench.object(shop, namespace('shop'), ['other', 'shop-prod'], 'center.retail', {
        implied: ['other', 'shop-prod'],
      }),
      bench.object(till, configMap('till'), ['shop-prod']),
      bench.object(web, deployment('web'), ['other']),
      bench.target(placement),
      bench.target('center.retail/other'),
    );
    bench.cluster.finalized.add(till);
    await bench.receive(
      bench.gone(`o/center.retail/${till}`),
      bench.gone(`t/${placement}`),
      bench.withdrawn(placement, 7),
    );
    expect(bench.reported(`gone/${placement}`)).toBeUndefined();
    bench.cluster.erase(till);
    await bench.settle();
    expect(bench.reported(`gone/${placement}`)?.attributes).toEqual({ asked: 7 });
  });

  it('wait after a restart until the cluster was asked, so that no known report is withdrawn', async () => {
    const bench = await withShop();
    bench.cluster.settle(web, 2);
    await bench.settle();
    const before = bench.reports();
    await bench.restart();
    expect(bench.reports() - before).toBe(0);
  });

  it('wait while the cluster does not answer after a restart, but for a bounded time', async () => {
    const bench = await withShop();
    bench.cluster.settle(web, 2);
    await bench.settle();
    const before = bench.reports();
    const release = await bench.restartHanging();
    expect(bench.reports() - before).toBe(0);
    bench.clock.advance(10_000);
    expect(bench.counts(placement)).toEqual({ expected: 1, fresh: 1, synced: 1 });
    release();
    await bench.settle();
    await bench.advance(1_000);
    expect(bench.counts(placement)).toMatchObject({ available: 1 });
  });

  it('describe the node once the cluster has described itself', async () => {
    const bench = await withShop();
    expect(bench.reported(`node/${path}`)!.attributes).toMatchObject({
      role: 'agent',
      kubernetesVersion: 'v1.34.0',
      nodes: 1,
    });
  });
});

describe('watching', () => {
  it('covers the resources with applied objects, ends with the last of them, and covers what may scale a workload', async () => {
    const bench = await withShop();
    const always = 'apiextensions.k8s.io/customresourcedefinitions';
    const scalers = 'autoscaling/horizontalpodautoscalers';
    expect(bench.cluster.watched()).toEqual(['/configmaps', '/namespaces', always, 'apps/deployments', scalers]);
    await bench.receive(bench.gone(`o/center.retail/${till}`));
    expect(bench.cluster.watched()).toEqual(['/namespaces', always, 'apps/deployments', scalers]);
  });
});

describe('a target that removes an object', () => {
  it('is not complete before the cluster has removed it too', async () => {
    const bench = await withShop();
    bench.cluster.settle(web, 2);
    await bench.settle();
    bench.cluster.finalized.add(till);
    await bench.receive(bench.gone(`o/center.retail/${till}`), bench.target(placement, 2));
    expect(bench.reported(`partial/${placement}`)!.body).toMatchObject({
      target: 2,
      counts: { applied: 0, available: 0 },
    });
    bench.cluster.erase(till);
    await bench.settle();
    await bench.advance(1_000);
    expect(bench.counts(placement)).toMatchObject({ applied: 1, available: 1 });
  });
});

describe('a full disk', () => {
  it('delays reports and loses none', async () => {
    const bench = await withShop();
    const write = bench.store.write.bind(bench.store);
    let full = true;
    bench.store.write = (fn) => {
      if (full) throw new BanyanError('StoreFull', 'no space left');
      return write(fn);
    };
    bench.cluster.settle(web, 2);
    await bench.settle();
    expect(bench.counts(placement)).not.toHaveProperty('available');
    full = false;
    await bench.advance(5_000);
    expect(bench.counts(placement)).toMatchObject({ available: 1 });
  });

  it('that accepted the desired state, and nothing after it, ends no process', async () => {
    const bench = await withShop();
    const recorded = () => new OwnerRecords(bench.store).get(till)?.placements;
    await bench.receive(bench.object(till, configMap('till'), ['shop-prod']));
    const write = bench.store.write.bind(bench.store);
    let room = 1;
    bench.store.write = (fn) => {
      if (room-- <= 0) throw new BanyanError('StoreFull', 'no space left');
      return write(fn);
    };
    await bench.receive(bench.object(till, configMap('till'), ['shop-prod', 'b']));
    expect(recorded()).toEqual(['center.retail/shop-prod']);
    room = Number.POSITIVE_INFINITY;
    await bench.advance(10_000);
    expect(recorded()).toEqual(['center.retail/shop-prod', 'center.retail/b']);
  });
});

describe('an object that several sources deliver', () => {
  const [ops, retail] = ['center.ops/a', 'center.retail/b'];

  async function contested() {
    const bench = await withShop();
    await bench.receive(
      bench.object(till, configMap('till', { by: 'retail' }), ['b'], 'center.retail'),
      bench.target(retail, 1, { created: '2026-01-02', uid: '2', deletion: 'Orphan' }),
      bench.object(till, configMap('till', { by: 'ops' }), ['a'], 'center.ops'),
      bench.target(ops, 1, { created: '2026-01-01', uid: '1' }),
    );
    const by = () => bench.cluster.objects.get(till)!.data;
    return { bench, by };
  }

  it('goes to the placement with the higher priority, and back, and is never made anew', async () => {
    const { bench, by } = await contested();
    const { uid } = bench.cluster.objects.get(till)!.metadata;
    expect(by()).toEqual({ by: 'ops' });
    expect(bench.counts(retail)).toMatchObject({ conflicted: 1 });
    await bench.receive(bench.target(retail, 2, { created: '2026-01-02', uid: '2', priority: 5 }));
    await bench.advance(1_000);
    expect(by()).toEqual({ by: 'retail' });
    expect(bench.counts(ops)).toMatchObject({ conflicted: 1 });
    expect(bench.counts(retail)).toMatchObject({ available: 1 });
    expect(bench.reported(`state/center.ops/${till}`)!.attributes).toMatchObject({
      reason: 'Conflicted',
      message: expect.stringMatching(
        /^another source delivers the same object and has precedence: its placement has a higher priority/,
      ),
    });
    const own = () => bench.reported(`node/${path}`)!.attributes;
    expect(JSON.stringify(bench.reported(`state/center.ops/${till}`))).not.toContain('retail');
    expect(JSON.stringify(bench.reported(`partial/${ops}`))).not.toContain('retail');
    expect(own().sourceConflict).toMatchObject({
      message: expect.stringContaining('EdgePlacement b of center.retail delivers it, and not EdgePlacement'),
    });
    await bench.receive(bench.gone(`o/center.retail/${till}`), bench.gone(`t/${retail}`));
    await bench.advance(1_000);
    expect(by()).toEqual({ by: 'ops' });
    expect(bench.cluster.objects.get(till)!.metadata.uid).toBe(uid);
    expect(bench.cluster.log).not.toContain(`remove ${till}`);
  });

  it('is no conflict for a placement that only needs it', async () => {
    const bench = await withShop();
    await bench.receive(
      bench.object(shop, namespace('shop'), ['a'], 'eu.ops', { implied: ['a'] }),
      bench.target('eu.ops/a'),
    );
    expect(bench.counts('eu.ops/a')).toMatchObject({ applied: 1, available: 1 });
    expect(bench.reported(`state/eu.ops/${shop}`)!.attributes).toMatchObject({ applied: true, available: true });
    await bench.receive(bench.object(shop, namespace('shop'), ['a', 'b'], 'eu.ops', { implied: ['a'] }));
    await bench.receive(bench.target('eu.ops/b'));
    expect(bench.counts('eu.ops/a')).toMatchObject({ available: 1 });
    expect(bench.counts('eu.ops/b')).toMatchObject({ conflicted: 1 });
  });

  it('has the same winner after a restart, whatever came first', async () => {
    const { bench, by } = await contested();
    bench.receiveWhileStopped(bench.object(till, configMap('till', { by: 'retail again' }), ['b'], 'center.retail'));
    await bench.restart();
    expect(by()).toEqual({ by: 'ops' });
  });

  it('is removed as its last placement specified, though no placement is left', async () => {
    const { bench } = await contested();
    await bench.receive(bench.gone(`o/center.ops/${till}`), bench.gone(`t/${ops}`));
    bench.cluster.log.length = 0;
    bench.receiveWhileStopped(bench.gone(`o/center.retail/${till}`), bench.gone(`t/${retail}`));
    await bench.restart();
    expect(bench.cluster.log).toEqual([`remove ${till} Orphan`]);
  });
});

describe('removal by policy', () => {
  it('follows the placement that was deleted before the object, even if the object was applied meanwhile', async () => {
    const bench = await withShop();
    await bench.receive(bench.target(placement, 2, { deletion: 'Orphan', apply: { ignored: ['.spec.replicas'] } }));
    await bench.receive(bench.gone(`t/${placement}`));
    bench.cluster.log.length = 0;
    bench.cluster.write(web, (object) => Object.assign(object, { spec: { replicas: 7 } }));
    await bench.settle();
    await bench.receive(bench.gone(`o/center.retail/${web}`));
    expect(bench.cluster.log).toEqual([`apply ${web}`, `remove ${web} Orphan`]);
  });

  it('follows a placement that came and went while the cluster was away', async () => {
    const bench = await withShop();
    const get = bench.cluster.get.bind(bench.cluster);
    bench.cluster.get = () => Promise.reject(new BanyanError('Unavailable', 'away'));
    await bench.receive(bench.target('center.retail/keep', 1, { deletion: 'Orphan' }));
    await bench.receive(bench.object(web, deployment('web'), ['keep', 'shop-prod']));
    await bench.receive(bench.gone(`o/center.retail/${web}`), bench.gone('t/center.retail/keep'));
    bench.cluster.get = get;
    bench.cluster.log.length = 0;
    for (let i = 0; i < 5; i++) await bench.advance(60_000);
    expect(bench.cluster.log).toEqual([`remove ${web} Orphan`]);
  });

  it('leaves a namespace if its contents are to stay', async () => {
    const bench = await withShop();
    await bench.receive(bench.target(placement, 2, { deletion: 'Orphan' }));
    bench.cluster.log.length = 0;
    await bench.receive(bench.gone(`o/center.retail/${web}`), bench.gone(`o/center.retail/${till}`));
    await bench.receive(bench.gone(`o/center.retail/${shop}`), bench.gone(`t/${placement}`));
    expect(bench.cluster.log).toEqual([`remove ${web} Orphan`, `remove ${till} Orphan`, `apply ${shop}`]);
    expect(bench.cluster.objects.has(shop)).toBe(true);
  });
});

describe('the status of an object that changes all the time', () => {
  const following = async (options: { reportedState?: 'Exact' }) => {
    const bench = await withShop();
    await bench.receive(bench.target(placement, 2, options));
    await bench.advance(60_000);
    const before = bench.reports();
    for (let replicas = 1; replicas <= 100; replicas++) {
      bench.cluster.write(web, (object) => {
        object.status = { replicas };
      });
      await bench.settle();
    }
    return bench.reports() - before;
  };

  it('is reported once a second after a burst, and many times a second if its placement wants exact status', async () => {
    expect(await following({})).toBeLessThanOrEqual(4 + 2 + 2);
    expect(await following({ reportedState: 'Exact' })).toBeGreaterThanOrEqual(4 + 30);
  });
});

describe('an unusable cluster', () => {
  it('is reported by the node until it is usable', async () => {
    const bench = new AgentBench();
    bench.cluster.away = new BanyanError('Unavailable', 'nobody answers');
    await bench.start();
    const trouble = () => bench.reported(`node/${path}`)?.attributes.trouble;
    await bench.advance(20);
    expect(trouble()).toEqual({ reason: 'Unavailable', message: 'nobody answers' });
    bench.cluster.away = undefined;
    await bench.advance(10_000);
    await bench.advance(1_000);
    expect(trouble()).toBeUndefined();
    expect(bench.reported(`node/${path}`)?.attributes.kubernetesVersion).toBe('v1.34.0');
  });
});

describe('an object that is being deleted while it is wanted', () => {
  it('is reported with what it waits for, and is no failure', async () => {
    const bench = await withShop();
    bench.cluster.write(till, (object) => {
      object.metadata.deletionTimestamp = '2026-01-02T03:04:05Z';
      object.metadata.finalizers = ['shop.example.com/book'];
    });
    await bench.advance(10_000);
    const reported = bench.reported(`partial/${placement}`)?.body as {
      failures: { reason: string; message: string }[];
    };
    expect(reported.failures).toMatchObject([
      { reason: 'Terminating', message: expect.stringContaining('shop.example.com/book') },
    ]);
    expect(bench.counts(placement)).toEqual({ expected: 1, fresh: 1, synced: 1, applied: 1 });
  });
});

describe('an object that the cluster has not answered about yet', () => {
  it('is reported with the answer, or when the answer takes long', async () => {
    const bench = await withShop();
    await bench.advance(60_000);
    const state = () => bench.reported(`state/center.retail/${till}`)?.attributes;
    const before = state();
    let answer = () => {};
    bench.cluster.gate = new Promise((resolve) => {
      answer = resolve;
    });
    const changed = bench.receive(bench.object(till, configMap('till', { a: '2' }), ['shop-prod']));
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
    bench.clock.advance(100);
    expect(state()).toEqual(before);
    bench.clock.advance(200);
    expect(state()).toMatchObject({ applied: false, reason: 'Pending' });
    answer();
    await changed;
    await bench.advance(20);
    expect(state()).toMatchObject({ applied: true, available: true });
  });

  it('costs one entry for each change if the cluster answers quickly', async () => {
    const bench = await withShop();
    await bench.advance(60_000);
    const before = bench.reports();
    await bench.receive(bench.object(till, configMap('till', { a: '2' }), ['shop-prod']));
    await bench.advance(1_000);
    expect(bench.reports() - before).toBe(1);
  });
});
