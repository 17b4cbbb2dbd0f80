import { beforeEach, describe, expect, it } from 'vitest';
import { AgentBench, configMap, namespace, path } from '../support/agent-bench.ts';
import { entry } from '../support/feed-entries.ts';

const id = 'center.retail/shop-prod';
const shop = '/namespaces//shop';
const till = '/configmaps/shop/till';
const rows = [shop, till].map((key) => `o/center.retail/${key}`);
const asks = (asked: number) => (revision: number) => entry(`w/${id}`, { asked }, undefined, revision);

describe('an agent from which a placement is taken', () => {
  let bench: AgentBench;
  const answer = () => bench.reported(`gone/${id}`)?.attributes;
  const take = (asked: number) => bench.receive(...[...rows, `t/${id}`].map((key) => bench.gone(key)), asks(asked));

  beforeEach(async () => {
    bench = await new AgentBench().start();
    await bench.receive(
      bench.object(shop, namespace('shop'), ['shop-prod']),
      bench.object(till, configMap('till'), ['shop-prod']),
      bench.target(id),
    );
  });

  it('answers with the number of the question when the last of its objects is gone from the cluster', async () => {
    bench.cluster.finalized.add(till);
    await take(7);
    await bench.advance(1_000);
    expect(answer()).toBeUndefined();
    bench.cluster.erase(till);
    await bench.settle();
    await bench.advance(1_000);
    expect(bench.cluster.objects.size).toBe(0);
    expect(answer()).toEqual({ asked: 7 });
    expect(bench.reported(`partial/${id}`)).toBeUndefined();
  });

  it('answers even if the process ended in between', async () => {
    bench.cluster.finalized.add(till);
    await take(7);
    await bench.restart();
    await bench.advance(1_000);
    expect(answer()).toBeUndefined();
    bench.cluster.erase(till);
    await bench.settle();
    await bench.advance(1_000);
    expect(answer()).toEqual({ asked: 7 });
  });

  it('answers a later question with its number, and withdraws the answer when the question is withdrawn', async () => {
    await take(7);
    await bench.advance(1_000);
    await bench.receive(asks(9));
    await bench.advance(1_000);
    expect(answer()).toEqual({ asked: 9 });
    await bench.receive(bench.gone(`w/${id}`));
    await bench.advance(1_000);
    expect(answer()).toBeUndefined();
  });

  it('withdraws its answer when it gets the placement again', async () => {
    await take(7);
    await bench.advance(1_000);
    expect(answer()).toEqual({ asked: 7 });
    await bench.receive(bench.object(shop, namespace('shop'), ['shop-prod']), bench.target(id));
    await bench.advance(1_000);
    expect(answer()).toBeUndefined();
  });

  it('answers for none of several sources that withdraw an object at once before the object is gone', async () => {
    const other = 'center.ops/a';
    await bench.receive(bench.object(till, configMap('till'), ['a'], 'center.ops'), bench.target(other));
    bench.cluster.finalized.add(till);
    await bench.receive(
      ...[`o/center.ops/${till}`, `t/${other}`, ...rows, `t/${id}`].map((key) => bench.gone(key)),
      (revision) => entry(`w/${other}`, { asked: 8 }, undefined, revision),
      asks(7),
    );
    await bench.advance(1_000);
    const answers = () => [other, id].map((one) => bench.reported(`gone/${one}`)?.attributes);
    expect(answers()).toEqual([undefined, undefined]);
    bench.cluster.erase(till);
    await bench.settle();
    await bench.advance(1_000);
    expect(answers()).toEqual([{ asked: 8 }, { asked: 7 }]);
  });

  it('answers at once if another placement keeps the objects, and only for itself', async () => {
    await bench.receive(
      ...[shop, till].map((key, i) => bench.object(key, i ? configMap('till') : namespace('shop'), ['other'])),
    );
    await bench.receive(bench.gone(`t/${id}`), asks(7));
    await bench.advance(1_000);
    expect(answer()).toEqual({ asked: 7 });
    expect(bench.cluster.objects.has(till)).toBe(true);
  });
});

describe('an object that cannot be removed', () => {
  const refusal = 'cannot delete resource "configmaps" in API group "" in the namespace "shop"';
  let bench: AgentBench;
  const partial = () => {
    const { counts, failures } = bench.reported(`partial/${id}`)!.body as { counts: object; failures: object[] };
    return { counts, failures };
  };
  const trouble = () => bench.reported(`node/${path}`)!.attributes.trouble;
  const letGo = () => bench.receive(bench.gone(rows[1]!), bench.target(id, 2));

  beforeEach(async () => {
    bench = await new AgentBench().start();
    await bench.receive(
      bench.object(shop, namespace('shop'), ['shop-prod']),
      bench.object(till, configMap('till'), ['shop-prod']),
      bench.target(id),
    );
  });

  it('is a failure of the placement that it leaves, in the words of the cluster, until it can be removed', async () => {
    bench.cluster.irremovable.set(till, refusal);
    await letGo();
    await bench.advance(1_000);
    expect(partial()).toMatchObject({
      counts: { applied: 0, available: 0, failed: 1 },
      failures: [
        { path, object: 'configmaps shop/till', reason: 'Forbidden', message: expect.stringContaining(refusal) },
      ],
    });
    await bench.advance(400_000);
    expect(partial().failures).toHaveLength(1);
    bench.cluster.irremovable.clear();
    await bench.advance(400_000);
    expect(partial()).toMatchObject({ counts: { applied: 1, failed: 0 }, failures: [] });
    expect(trouble()).toBeUndefined();
  });

  it('is reported after a restart too, and no more when it is wanted again', async () => {
    bench.cluster.irremovable.set(till, refusal);
    await letGo();
    await bench.restart();
    await bench.advance(1_000);
    expect(partial().failures).toMatchObject([{ reason: 'Forbidden' }]);
    await bench.receive(bench.object(till, configMap('till'), ['shop-prod']), bench.target(id, 3));
    await bench.advance(1_000);
    expect(partial()).toMatchObject({ counts: { applied: 1, failed: 0 }, failures: [] });
  });

  it('is a note and no failure while something else keeps it, once it has been read again', async () => {
    bench.cluster.finalized.add(till);
    await letGo();
    await bench.advance(500);
    expect(partial().failures).toEqual([]);
    bench.cluster.write(till, ({ metadata }) => {
      metadata.finalizers = ['shop.example.com/never'];
    });
    await bench.advance(10_000);
    await bench.advance(1_000);
    expect(partial()).toMatchObject({ counts: { applied: 0, failed: 0 }, failures: [{ reason: 'Terminating' }] });
    expect(JSON.stringify(partial().failures)).toContain('it waits for shop.example.com/never');
    bench.cluster.erase(till);
    await bench.settle();
    await bench.advance(1_000);
    expect(partial()).toMatchObject({ counts: { applied: 1 }, failures: [] });
  });

  it('is no field conflict if it is wanted again each time before it is gone', async () => {
    bench.cluster.finalized.add(till);
    for (let round = 2; round < 20; round += 2) {
      await bench.receive(bench.gone(rows[1]!), bench.target(id, round));
      await bench.receive(bench.object(till, configMap('till'), ['shop-prod']), bench.target(id, round + 1));
      bench.cluster.erase(till);
      await bench.advance(3_000);
      expect(bench.cluster.objects.has(till)).toBe(true);
    }
    await bench.advance(2_000);
    expect(partial()).toMatchObject({ counts: { applied: 1 }, failures: [] });
  });

  it('is reported by the node after a minute, whenever its removal is tried again', async () => {
    // The agent reports about itself from time to time anyway.
    await bench.advance(20_000);
    bench.cluster.irremovable.set(till, refusal);
    const sinceMs = bench.clock.monotonicMs();
    await bench.receive(...[shop, till].map((key) => bench.gone(`o/center.retail/${key}`)), bench.gone(`t/${id}`));
    while (!trouble() && bench.clock.monotonicMs() - sinceMs < 90_000) await bench.advance(500);
    expect(bench.clock.monotonicMs() - sinceMs).toBeGreaterThanOrEqual(60_000);
    expect(bench.clock.monotonicMs() - sinceMs).toBeLessThan(62_000);
  });

  it('is reported by the node if no placement is left for long, and a few of many by name', async () => {
    const all = [till, ...['a', 'b', 'c', 'd'].map((name) => `/configmaps/shop/${name}`)];
    await bench.receive(...all.map((key) => bench.object(key, configMap(key.split('/')[3]!), ['shop-prod'])));
    for (const key of all) bench.cluster.irremovable.set(key, refusal);
    await bench.receive(...[shop, ...all].map((key) => bench.gone(`o/center.retail/${key}`)), bench.gone(`t/${id}`));
    await bench.advance(30_000);
    expect(trouble()).toBeUndefined();
    await bench.advance(400_000);
    await bench.advance(1_000);
    expect(trouble()).toMatchObject({
      reason: 'RemovalStuck',
      message: expect.stringMatching(/^objects that nobody wants any more.*configmaps shop\/.*Forbidden.*and 2 more$/),
    });
    bench.cluster.irremovable.clear();
    await bench.advance(400_000);
    await bench.advance(1_000);
    expect(trouble()).toBeUndefined();
    expect(bench.cluster.objects.size).toBe(0);
  });
});
