/** Objects that were deleted and made anew in their space while the agent was away. */
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { EmbeddedBench } from '../support/embedded-bench.ts';

const namespace: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
const inShop = (apiVersion: string, kind: string, more: object): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name: 'a', namespace: 'shop' },
  ...more,
});
const template = {
  metadata: { labels: { app: 'a' } },
  spec: { restartPolicy: 'Never', containers: [{ name: 'app', image: 'app:1' }] },
};
const job = inShop('batch/v1', 'Job', { spec: { template } });
const map = inShop('v1', 'ConfigMap', { data: { a: '1' }, immutable: true });
const claim = inShop('v1', 'PersistentVolumeClaim', {
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
});
const deployment = inShop('apps/v1', 'Deployment', {
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'a' } },
    template: { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'app', image: 'app:1' }] } },
  },
});
const first = { uid: 'aaaaaaaa-1' };
const second = { uid: 'bbbbbbbb-2', former: ['aaaaaaaa'] };
const third = { uid: 'cccccccc-3', former: ['aaaaaaaa', 'bbbbbbbb'] };

async function placed(object: KubeObject) {
  const bench = await new EmbeddedBench().start();
  await bench.place([namespace, object], first);
  await bench.pass(5_000);
  return { bench, uid: () => bench.live(object)?.metadata.uid };
}

describe('an object that was made anew', () => {
  it.each([job, map, claim, deployment])('is replaced with the same content: $kind', async (object) => {
    const { bench, uid } = await placed(object);
    const before = uid();
    expect(before).toBeDefined();
    await bench.place([object], second);
    await bench.pass(10_000);
    expect(uid()).toBeDefined();
    expect(uid()).not.toBe(before);
    const replaced = uid();
    const revision = bench.space.storage.revision();
    await bench.place([object], second);
    await bench.pass(60_000);
    expect(uid()).toBe(replaced);
    expect(bench.space.storage.revision()).toBe(revision);
    expect(bench.failures()).toEqual([]);
  });

  it('is replaced once, however often it was made anew meanwhile', async () => {
    const { bench, uid } = await placed(job);
    const before = uid();
    await bench.place([job], third);
    await bench.pass(10_000);
    expect(uid()).not.toBe(before);
    expect(bench.counts()).toMatchObject({ available: 1 });
  });

  it('may have values that the former object could not be changed to', async () => {
    const { bench, uid } = await placed(map);
    const before = uid();
    const next = { ...map, data: { a: '2' } };
    await bench.place([next], second);
    await bench.pass(10_000);
    expect(bench.live(map)?.data).toEqual({ a: '2' });
    expect(uid()).not.toBe(before);
  });

  it('stays if the space does not know the former object: the space may have lost its store', async () => {
    const { bench, uid } = await placed(claim);
    const before = uid();
    await bench.place([claim], { uid: 'dddddddd-4' });
    await bench.pass(10_000);
    expect(uid()).toBe(before);
    // From now on, the agent has the object of this uid.
    await bench.place([claim], { uid: 'eeeeeeee-5', former: ['dddddddd'] });
    await bench.pass(10_000);
    expect(uid()).not.toBe(before);
  });

  it('stays if it is a Namespace: others may have objects in it', async () => {
    const { bench } = await placed(map);
    const before = bench.live(namespace)?.metadata.uid;
    const foreign = inShop('v1', 'Secret', { data: {} });
    bench.space.create(foreign);
    await bench.place([namespace], second);
    await bench.pass(10_000);
    expect(bench.live(namespace)?.metadata.uid).toBe(before);
    expect(bench.live(foreign)).toBeDefined();
  });
});
