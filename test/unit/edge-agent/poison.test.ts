import fc from 'fast-check';
import { expect, it } from 'vitest';
import { hash128 } from '../../../core/object/hash.ts';
import { AgentBench, configMap, deployment, namespace, path } from './support/agent-bench.ts';

const shop = 'center.retail/shop';
const [good, bad] = ['/configmaps/shop/good', '/configmaps/shop/bad'];

/** Any value under any key, as a parent may send it. */
function raw(key: string, attributes: Uint8Array | object, body: Uint8Array | string) {
  return (revision: number) => ({
    keyHash: hash128(key),
    revision,
    originRevision: revision,
    content: {
      key,
      attributes: attributes instanceof Uint8Array ? attributes : Buffer.from(JSON.stringify(attributes)),
      body: typeof body === 'string' ? Buffer.from(body) : body,
    },
  });
}

const started = async () => {
  const bench = await new AgentBench().start();
  await bench.receive(bench.object('/namespaces//shop', namespace('shop'), ['shop']));
  return bench;
};

const attributes = { uid: 'u', created: 'c', generation: 1, refs: ['shop'] };

it('an object whose body is damaged is reported, and the others are applied', async () => {
  const bench = await started();
  const torn = raw(`o/center.retail/${bad}`, attributes, '{"metadata":');
  await bench.receive(torn, bench.object(good, configMap('good'), ['shop']), bench.target(shop));
  expect(bench.reported(`state/center.retail/${good}`)?.attributes).toMatchObject({ applied: true });
  expect(bench.reported(`state/center.retail/${bad}`)?.attributes).toMatchObject({
    applied: false,
    reason: 'Poisoned',
  });
  expect(bench.counts(shop)).toEqual({ expected: 1, quarantined: 1, synced: 1 });
  expect(bench.reported(`partial/${shop}`)?.body.failures).toMatchObject([{ path, object: bad, reason: 'Poisoned' }]);
  expect(bench.reported(`node/${path}`)?.attributes.quarantined).toMatchObject({ count: 1 });
});

it('a poisoned object keeps its former form, also over a restart, until there is a valid one', async () => {
  const bench = await started();
  await bench.receive(bench.object(bad, configMap('bad', { a: 'first' }), ['shop']), bench.target(shop));
  await bench.receive(raw(`o/center.retail/${bad}`, Buffer.from([0xff, 0]), 'x'));
  await bench.restart();
  expect(bench.agent.counts().desired).toBe(2);
  expect(bench.counts(shop)).toMatchObject({ quarantined: 1 });
  await bench.receive(bench.object(bad, configMap('bad', { a: 'second' }), ['shop']));
  await bench.advance(1_000);
  expect(bench.counts(shop)).toEqual({ expected: 1, fresh: 1, synced: 1, applied: 1, available: 1 });
  expect(bench.reported(`state/center.retail/${bad}`)?.attributes).toMatchObject({ applied: true, available: true });
  expect(bench.reported(`node/${path}`)?.attributes.quarantined).toBeUndefined();
});

it('whatever a parent sends under whatever key, the agent continues, at the next start too', async () => {
  const start = fc.constantFrom(
    '',
    'tree',
    't/center.retail/',
    'o/center.retail//configmaps/shop/',
    'u/center.retail/',
    'w/',
    'k/',
  );
  const bytes = fc.oneof(
    fc.uint8Array(),
    fc.json().map((json) => Buffer.from(json)),
  );
  const entries = fc.array(fc.tuple(start, fc.string(), bytes, bytes), { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(entries, async (sent) => {
      const bench = await started();
      await bench.receive(...sent.map(([prefix, rest, named, body]) => raw(prefix + rest, named, body)));
      await bench.receive(bench.object(good, configMap('good'), ['shop']), bench.target(shop));
      expect(bench.reported(`state/center.retail/${good}`)?.attributes).toMatchObject({ applied: true });
      await bench.restart();
      expect(bench.agent.counts().desired).toBeGreaterThan(0);
      await bench.agent.stop();
    }),
    { numRuns: 40 },
  );
});

it('an object that ends the agent is left alone after two ends, while the others are applied, until its content changes', async () => {
  const bench = await started();
  await bench.receive(bench.object(good, configMap('good'), ['shop']), bench.target(shop));
  bench.cluster.hangs = '/configmaps/shop/bad';
  bench.receiveWhileStopped(bench.object(bad, configMap('bad', { a: 'first' }), ['shop']));
  for (let crash = 0; crash < 2; crash++) await bench.crash();
  await bench.crash();
  await bench.advance(1_000);
  expect(bench.reported(`state/center.retail/${good}`)?.attributes).toMatchObject({ applied: true });
  expect(bench.reported(`state/center.retail/${bad}`)?.attributes).toMatchObject({
    applied: false,
    reason: 'Poisoned',
  });
  expect(bench.counts(shop)).toMatchObject({ expected: 1, quarantined: 1 });
  expect(bench.reported(`node/${path}`)?.attributes.quarantined).toMatchObject({ count: 1 });
  bench.cluster.hangs = undefined;
  await bench.receive(bench.object(bad, configMap('bad', { a: 'second' }), ['shop']));
  await bench.advance(1_000);
  expect(bench.reported(`state/center.retail/${bad}`)?.attributes).toMatchObject({ applied: true });
  expect(bench.reported(`node/${path}`)?.attributes.quarantined).toBeUndefined();
});

it.each([
  ['the only one of its kind', []],
  ['one of several', ['other']],
])(
  'an object that is applied alone after an end is reported as the cluster has made it meanwhile: %s',
  async (_, others) => {
    const bench = await started();
    const web = 'apps/deployments/shop/web';
    const placed = (name: string, replicas = 2) =>
      bench.object(`apps/deployments/shop/${name}`, deployment(name, replicas), ['shop']);
    await bench.receive(...[...others, 'web'].map((name) => placed(name)), bench.target(shop));
    bench.cluster.hangs = web;
    bench.receiveWhileStopped(placed('web', 3));
    await bench.crash();
    bench.cluster.hangs = undefined;
    bench.cluster.onApplied = (key) => bench.cluster.settle(key, 3);
    await bench.crash();
    await bench.advance(1_000);
    expect(bench.reported(`state/center.retail/${web}`)?.attributes).toMatchObject({ applied: true, available: true });
  },
);
