import { beforeEach, describe, expect, it } from 'vitest';
import { AgentBench, configMap, namespace } from '../support/agent-bench.ts';
import { entry } from '../support/feed-entries.ts';

const id = 'center.retail/shop-prod';
const shop = '/namespaces//shop';
const till = '/configmaps/shop/till';
const rows = [shop, till].map((key) => `o/center.retail/${key}`);
const asks = (asked: number) => (revision: number) => entry(`w/${id}`, { asked }, undefined, revision);

describe('an agent from which a placement is taken', () => {
  let bench: AgentBench;
  const answer = () => bench.said(`gone/${id}`)?.attributes;
  const take = (asked: number) => bench.receive(...[...rows, `t/${id}`].map((key) => bench.gone(key)), asks(asked));

  beforeEach(async () => {
    bench = await new AgentBench().start();
    await bench.receive(
      bench.object(shop, namespace('shop'), ['shop-prod']),
      bench.object(till, configMap('till'), ['shop-prod']),
      bench.target(id),
    );
  });

  it('answers with the number of the question when the last of its objects has gone from the cluster', async () => {
    bench.cluster.finalized.add(till);
    await take(7);
    await bench.advance(1_000);
    expect(answer()).toBeUndefined();
    bench.cluster.erase(till);
    await bench.settle();
    await bench.advance(1_000);
    expect(bench.cluster.objects.size).toBe(0);
    expect(answer()).toEqual({ asked: 7 });
    expect(bench.said(`partial/${id}`)).toBeUndefined();
  });

  it('does so also when the process ended between', async () => {
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

  it('answers a later question with its number, and nothing when it is asked no more', async () => {
    await take(7);
    await bench.advance(1_000);
    await bench.receive(asks(9));
    await bench.advance(1_000);
    expect(answer()).toEqual({ asked: 9 });
    await bench.receive(bench.gone(`w/${id}`));
    await bench.advance(1_000);
    expect(answer()).toBeUndefined();
  });

  it('takes its answer back when it has the placement again', async () => {
    await take(7);
    await bench.advance(1_000);
    expect(answer()).toEqual({ asked: 7 });
    await bench.receive(bench.object(shop, namespace('shop'), ['shop-prod']), bench.target(id));
    await bench.advance(1_000);
    expect(answer()).toBeUndefined();
  });

  it('answers at once when another placement keeps the objects, and for itself alone', async () => {
    await bench.receive(
      ...[shop, till].map((key, i) => bench.object(key, i ? configMap('till') : namespace('shop'), ['other'])),
    );
    await bench.receive(bench.gone(`t/${id}`), asks(7));
    await bench.advance(1_000);
    expect(answer()).toEqual({ asked: 7 });
    expect(bench.cluster.objects.has(till)).toBe(true);
  });
});
