/** Objects that end by themselves and are deleted afterwards, on a cluster whose controllers end them. */
import { describe, expect, it } from 'vitest';
import type { SparseApplyRules } from '../../../core/entries/apply-rules.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import { EmbeddedBench } from './support/embedded-bench.ts';

const namespace: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'jobs' } };
const containers = (image: string) => [{ name: 'c', image }];
const job = (spec: object, image = 'count:1'): KubeObject => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'count', namespace: 'jobs' },
  spec: { ...spec, template: { spec: { restartPolicy: 'Never', containers: containers(image) } } },
});
const pod: KubeObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'once', namespace: 'jobs' },
  spec: { restartPolicy: 'Never', containers: containers('count:1') },
};
const allGood = { expected: 1, fresh: 1, synced: 1, applied: 1, available: 1 };

async function placed(object: KubeObject, rules: SparseApplyRules = {}, more: object = {}): Promise<EmbeddedBench> {
  const bench = await new EmbeddedBench(rules).start();
  await bench.place([namespace, object], more);
  await bench.pass(1_000);
  expect(bench.live(object)).toBeDefined();
  return bench;
}

const conditions = (bench: EmbeddedBench, object: KubeObject) =>
  ((bench.live(object)?.status as { conditions?: { type: string; status: string }[] })?.conditions ?? [])
    .filter(({ status }) => status === 'True')
    .map(({ type }) => type);

describe('a Job with a time to live', () => {
  it.each([
    ['', {}, {}],
    ['with createOnly', {}, { createOnly: ['all'] }],
    ['with drift Report', { drift: 'Report' }, {}],
    ['with drift Ignore', { drift: 'Ignore' }, {}],
  ] as const)('%s is not made again after its end, and its last status stays', async (_, rules, more) => {
    const ttl = job({ ttlSecondsAfterFinished: 3 });
    const bench = await placed(ttl, rules, more);
    await bench.pass(60_000);
    expect(bench.live(ttl)).toBeUndefined();
    expect(bench.counts()).toEqual(allGood);
    expect(bench.failures()).toEqual([]);
    expect(bench.status(ttl)).toMatchObject({ succeeded: 1 });
    const reports = bench.reports();
    await bench.pass(60_000);
    expect(bench.reports()).toBe(reports);
    await bench.restart();
    await bench.pass(20_000);
    expect(bench.live(ttl)).toBeUndefined();
    expect(bench.counts()).toEqual(allGood);
    expect(bench.status(ttl)).toMatchObject({ succeeded: 1 });
  });

  it('is always available while it ends and goes', async () => {
    const ttl = job({ ttlSecondsAfterFinished: 3 });
    const bench = await placed(ttl);
    for (let passed = 0; passed < 20_000; passed += 50) {
      await bench.pass(50);
      expect(bench.counts()).toEqual(allGood);
    }
  });

  it('that failed keeps its destination failed, with its last message', async () => {
    const ttl = job({ ttlSecondsAfterFinished: 3, backoffLimit: 0 }, 'count:failing');
    const bench = await placed(ttl);
    await bench.pass(60_000);
    expect(bench.live(ttl)).toBeUndefined();
    expect(bench.counts()).toMatchObject({ applied: 1, failed: 1 });
    expect(bench.failures()).toMatchObject([
      { reason: 'JobFailed', message: expect.stringContaining('backoff limit') },
    ]);
  });

  it('is made again when its spec changes, or when the space has it made anew, but not for a label', async () => {
    const ttl = job({ ttlSecondsAfterFinished: 3 });
    const bench = await placed(ttl);
    await bench.pass(30_000);
    const labelled = { ...ttl, metadata: { ...ttl.metadata, labels: { chart: 'count-2' } } };
    await bench.place([labelled]);
    await bench.pass(500);
    expect(bench.live(ttl)).toBeUndefined();
    expect(bench.counts()).toEqual(allGood);
    await bench.place([job({ ttlSecondsAfterFinished: 3 }, 'count:2')]);
    await bench.pass(500);
    expect(bench.live(ttl)).toBeDefined();
    await bench.pass(30_000);
    expect(bench.live(ttl)).toBeUndefined();
    await bench.place([job({ ttlSecondsAfterFinished: 3 }, 'count:2')], { uid: 'another' });
    await bench.pass(500);
    expect(bench.live(ttl)).toBeDefined();
  });

  it('that ended and went while no agent ran counts as ended, with an unknown result', async () => {
    const ttl = job({ ttlSecondsAfterFinished: 3 });
    const bench = await new EmbeddedBench().start();
    await bench.place([namespace, ttl]);
    expect(conditions(bench, ttl)).toEqual([]);
    await bench.restart(async () => void bench.clock.advance(60_000));
    await bench.pass(30_000);
    expect(bench.live(ttl)).toBeUndefined();
    expect(bench.counts()).toEqual(allGood);
    expect(bench.failures()).toMatchObject([{ object: 'jobs.batch jobs/count', reason: 'ResultUnknown' }]);
  });

  it('that somebody deletes before its end is made again', async () => {
    const bench = await new EmbeddedBench().start();
    const ttl = job({ ttlSecondsAfterFinished: 3 });
    await bench.place([namespace, ttl]);
    const { uid } = bench.live(ttl)!.metadata;
    bench.space.delete(bench.space.keyOf(ttl));
    await bench.pass(500);
    expect(bench.live(ttl)!.metadata.uid).not.toBe(uid);
  });
});

describe('an object that has ended and that somebody deletes', () => {
  it.each([
    ['a Job', job({})],
    ['a Pod', pod],
  ])('%s is not made again, whether an agent runs or not', async (_, object) => {
    for (const isRunning of [true, false]) {
      const bench = await placed(object);
      await bench.pass(20_000);
      const remove = async () => void bench.space.delete(bench.space.keyOf(object));
      if (isRunning) await remove();
      else await bench.restart(remove);
      await bench.pass(20_000);
      expect(bench.live(object)).toBeUndefined();
      expect(bench.counts()).toEqual(allGood);
    }
  });

  it('a Job without a time to live that nobody saw end is made again', async () => {
    const bench = await new EmbeddedBench().start();
    await bench.place([namespace, job({})]);
    await bench.restart(async () => void bench.space.delete(bench.space.keyOf(job({}))));
    await bench.pass(500);
    expect(bench.live(job({}))).toBeDefined();
  });

  it('leaves nothing behind when it is not wanted any more, and is made again when it is wanted once more', async () => {
    const bench = await placed(job({}));
    await bench.pass(20_000);
    bench.space.delete(bench.space.keyOf(job({})));
    await bench.pass(1_000);
    await bench.remove([job({})]);
    await bench.pass(1_000);
    await bench.place([job({})]);
    await bench.pass(500);
    expect(bench.live(job({}))).toBeDefined();
  });
});
