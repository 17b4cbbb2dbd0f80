import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../core/object/meta.ts';
import { AgentBench, configMap, namespace } from './support/agent-bench.ts';
import { CreatingCluster } from './support/creating-cluster.ts';

const placement = 'center.retail/shop';
const shop = '/namespaces//shop';
const till = '/configmaps/shop/till';
const state = `state/center.retail/${till}`;
const keyOf = (name: string) => `/configmaps/shop/${name}`;
const names = (count: number, prefix = 'c') => Array.from({ length: count }, (_, i) => `${prefix}${i}`);

type Creating = AgentBench<CreatingCluster>;

async function started(): Promise<Creating> {
  const bench = await new AgentBench(new CreatingCluster()).start();
  await bench.receive(bench.object(shop, namespace('shop'), ['shop']), bench.target(placement));
  await bench.advance(10_000);
  bench.cluster.looked.length = bench.cluster.tried.length = 0;
  return bench;
}

/** An object that somebody keeps by server-side apply. */
function foreign(bench: Creating, name: string, manager = 'helm'): KubeObject {
  bench.cluster.write(keyOf(name), (object) => {
    object.kind = 'ConfigMap';
    object.metadata = {
      ...object.metadata,
      name,
      namespace: 'shop',
      managedFields: [{ manager, operation: 'Apply' }],
    };
    object.data = { a: 'theirs' };
  });
  return bench.cluster.objects.get(keyOf(name))!;
}

/** … that another agent, of another tree, keeps. */
function ofAnotherAgent(bench: Creating, name: string): KubeObject {
  foreign(bench, name, 'banyan');
  bench.cluster.write(keyOf(name), ({ metadata }) => {
    metadata.labels = { 'banyan.io/managed': 'true' };
    metadata.annotations = { 'banyan.io/agent': 'other:tree', 'banyan.io/source': 'center.theirs' };
  });
  return bench.cluster.objects.get(keyOf(name))!;
}

const receive = (bench: Creating, of: readonly string[], more: object = {}) =>
  bench.receive(...of.map((name) => bench.object(keyOf(name), configMap(name), ['shop'], 'center.retail', more)));

describe('objects without a record', () => {
  it('are created without a read, except objects that hold others', async () => {
    const bench = await new AgentBench(new CreatingCluster()).start();
    await bench.receive(bench.object(shop, namespace('shop'), ['shop']), bench.target(placement));
    await receive(bench, names(30));
    await bench.advance(10_000);
    expect(bench.cluster.looked).toEqual([shop]);
    expect(bench.cluster.tried.sort()).toEqual([...names(30), 'shop'].sort());
    expect(bench.counts(placement)).toMatchObject({ applied: 1 });
    await receive(bench, ['c3'], { generation: 2 });
    expect(bench.cluster.objects.get(keyOf('c3'))!.metadata.annotations).toMatchObject({
      'banyan.io/agent': 'eu:paris:store-17',
    });
  });

  it('are refused if somebody has one of that name, who keeps it unchanged when the placement goes', async () => {
    const bench = await started();
    const theirs = foreign(bench, 'till');
    await receive(bench, ['till', 'a', 'b']);
    expect(bench.reported(state)!.attributes).toMatchObject({ applied: false, reason: 'NotOwned' });
    expect(bench.cluster.objects.get(till)).toEqual(theirs);
    expect(bench.agent.counts().applied).toBe(3);
    await bench.advance(60_000);
    // The object is known now: the agent reads it, and does not try to create it again.
    expect(bench.cluster.tried.filter((name) => name === 'till')).toHaveLength(1);
    expect(bench.cluster.looked.filter((key) => key === till).length).toBeGreaterThan(1);
    await bench.receive(...['till', 'a', 'b'].map((name) => bench.gone(`o/center.retail/${keyOf(name)}`)));
    await bench.advance(60_000);
    expect(bench.cluster.objects.get(till)).toEqual(theirs);
    expect(bench.cluster.objects.has(keyOf('a'))).toBe(false);
    expect(bench.agent.counts().applied).toBe(1);
  });

  it('are taken over if the rule says so', async () => {
    const bench = await started();
    const { uid } = foreign(bench, 'till').metadata;
    await bench.receive(bench.target(placement, 1, { apply: { adopt: 'Always' } }));
    await receive(bench, ['till']);
    expect(bench.cluster.objects.get(till)).toMatchObject({ data: { a: '1' }, metadata: { uid } });
  });

  it('are left unchanged if they are only to be created', async () => {
    const bench = await started();
    const theirs = foreign(bench, 'till');
    await receive(bench, ['till'], { createOnly: ['shop'] });
    expect(bench.reported(state)!.attributes).toMatchObject({ applied: true });
    expect(bench.cluster.objects.get(till)).toEqual(theirs);
  });

  it('are applied in the ordinary way if they are refused, and the refusal is reported', async () => {
    const bench = await started();
    bench.cluster.refuse.set(till, 'data.a: must be a number');
    await receive(bench, ['till']);
    expect(bench.reported(state)!.attributes).toMatchObject({ applied: false, reason: 'Invalid' });
    expect(bench.reported(state)!.attributes.message).toContain('must be a number');
    bench.cluster.refuse.clear();
    await bench.advance(60_000);
    expect(bench.reported(state)!.attributes).toMatchObject({ applied: true });
  });

  it('belong to the agent if they were created and the answer was lost, and go with the placement', async () => {
    const bench = await started();
    bench.cluster.mute.add(till);
    await receive(bench, ['till']);
    await bench.advance(60_000);
    expect(bench.reported(state)!.attributes).toMatchObject({ applied: true });
    await bench.receive(bench.gone(`o/center.retail/${till}`));
    expect(bench.cluster.objects.has(till)).toBe(false);
  });

  it('are read first while most of them turn out to exist', async () => {
    const bench = await started();
    for (const name of names(100)) ofAnotherAgent(bench, name);
    await receive(bench, names(100));
    // Eight at once, and those that had started before four of them were found.
    expect(bench.cluster.tried.length).toBeLessThanOrEqual(16);
    expect(bench.cluster.looked).toHaveLength(100);
    bench.cluster.tried.length = 0;
    await receive(bench, names(100, 'new'));
    expect(bench.cluster.tried.length).toBeGreaterThanOrEqual(80);
  });
});

describe('a namespace', () => {
  const created = ({ cluster }: Creating) => cluster.objects.get(shop)?.metadata.annotations?.['banyan.io/created'];
  const theirs = ({ cluster }: Creating) =>
    cluster.write(shop, (object) => {
      object.kind = 'Namespace';
      object.metadata = { ...object.metadata, name: 'shop' };
    });
  const begun = () => new AgentBench(new CreatingCluster()).start();
  const wanted = (bench: Creating) =>
    [bench.object(shop, namespace('shop'), ['shop']), bench.target(placement)] as const;
  const goneWithIt = async (bench: Creating) => {
    await bench.receive(bench.gone(`o/center.retail/${shop}`), bench.gone(`t/${placement}`));
    await bench.advance(60_000);
    return !bench.cluster.objects.has(shop);
  };

  it('that somebody makes between the read and the apply is theirs even if it has the same values', async () => {
    const bench = await begun();
    const create = bench.cluster.create.bind(bench.cluster);
    bench.cluster.create = (object) => {
      theirs(bench);
      bench.cluster.create = create;
      return create(object);
    };
    await bench.receive(...wanted(bench));
    await bench.advance(60_000);
    expect(bench.counts(placement)).toMatchObject({ applied: 1 });
    expect(created(bench)).toBeUndefined();
    expect(await goneWithIt(bench)).toBe(false);
  });

  it('that was created without an answer came with the agent, and goes with it', async () => {
    const bench = await begun();
    bench.cluster.mute.add(shop);
    await bench.receive(...wanted(bench));
    await bench.advance(60_000);
    expect(created(bench)).toBe('true');
    expect(await goneWithIt(bench)).toBe(true);
  });

  it('of somebody else stays theirs when the process ends during its creation, and again while it is taken over', async () => {
    const bench = await begun();
    bench.cluster.hangsAt = 'shop';
    bench.receiveWhileStopped(...wanted(bench));
    await bench.crash();
    theirs(bench);
    const apply = bench.cluster.apply.bind(bench.cluster);
    bench.cluster.apply = async (object) => {
      await apply(object);
      return new Promise(() => {});
    };
    await bench.crash();
    expect(bench.cluster.objects.get(shop)!.metadata.labels).toMatchObject({ 'banyan.io/managed': 'true' });
    bench.cluster.apply = apply;
    await bench.crash();
    expect(created(bench)).toBeUndefined();
    expect(await goneWithIt(bench)).toBe(false);
  });

  it('that is refused reports the cluster’s reason', async () => {
    const bench = await begun();
    bench.cluster.refuse.set(shop, 'metadata.name: is reserved');
    await bench.receive(...wanted(bench));
    await bench.advance(10_000);
    expect(bench.reported(`state/center.retail/${shop}`)!.attributes.message).toContain('is reserved');
  });
});

describe('a process that ends before the cluster has answered', () => {
  const endInTheMiddle = async (bench: Creating) => {
    bench.cluster.hangsAt = 'till';
    bench.receiveWhileStopped(bench.object(till, configMap('till'), ['shop']));
    await bench.crash();
    expect(bench.cluster.tried).toEqual(['till']);
    bench.cluster.hangsAt = undefined;
  };

  it('leaves an object of another agent that was first, when the object is no longer wanted', async () => {
    const bench = await started();
    await endInTheMiddle(bench);
    const theirs = ofAnotherAgent(bench, 'till');
    bench.receiveWhileStopped(bench.gone(`o/center.retail/${till}`));
    await bench.crash();
    expect(bench.cluster.objects.get(till)).toEqual(theirs);
    expect(bench.agent.counts().applied).toBe(1);
  });

  it('removes the object that it made, when that is no longer wanted', async () => {
    const bench = await started();
    await endInTheMiddle(bench);
    foreign(bench, 'till', 'banyan');
    bench.cluster.write(till, ({ metadata }) => {
      metadata.labels = { 'banyan.io/managed': 'true' };
      metadata.annotations = { 'banyan.io/agent': 'eu:paris:store-17', 'banyan.io/source': 'center.retail' };
    });
    bench.receiveWhileStopped(bench.gone(`o/center.retail/${till}`));
    await bench.crash();
    expect(bench.cluster.objects.has(till)).toBe(false);
  });
});
