import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { EmbeddedBench } from '../support/embedded-bench.ts';
import { workload } from '../support/workload.ts';

const lamp = workload.find((object) => object.kind === 'Deployment')!;
const tides = workload.find((object) => object.kind === 'ConfigMap')!;
const namespace = workload.find((object) => object.kind === 'Namespace')!;
const allGood = { expected: 1, fresh: 1, synced: 1, applied: 1, available: 1 };

async function running() {
  const bench = await new EmbeddedBench().start();
  await bench.place(workload);
  await bench.pass(8_000);
  return bench;
}

function withImage(image: string): KubeObject {
  const changed = structuredClone(lamp);
  (changed.spec as { template: { spec: { containers: { image: string }[] } } }).template.spec.containers[0]!.image =
    image;
  return changed;
}

describe('an agent beside an embedded cluster', () => {
  it('makes a whole workload available: every object applied, every object current, the placement available', async () => {
    const bench = await running();
    expect(bench.unhealthy(workload)).toEqual([]);
    expect(bench.counts()).toEqual(allGood);
  });

  it('writes nothing once everything is in its desired state', async () => {
    const bench = await running();
    const revision = bench.space.storage.revision();
    const reports = bench.reports();
    await bench.pass(30_000);
    expect(bench.space.storage.revision()).toBe(revision);
    expect(bench.reports()).toBe(reports);
  });

  it('is available for a new image only when the rollout is complete', async () => {
    const bench = await running();
    await bench.place([withImage('lamp:2')]);
    await bench.pass(50);
    expect(bench.counts()).not.toHaveProperty('available');
    await bench.pass(200);
    expect(bench.counts()).toEqual({ expected: 1, fresh: 1, synced: 1, applied: 1 });
    await bench.pass(5_000);
    expect(bench.counts()).toEqual(allGood);
    const images = bench
      .pods('lamp')
      .map((pod) => (pod.spec as { containers: { image: string }[] }).containers[0]!.image);
    expect(images).toEqual(['lamp:2', 'lamp:2', 'lamp:2']);
  });

  it('fails with the reason when an image is broken, keeps the old pods, and recovers', async () => {
    const bench = await running();
    await bench.place([withImage('lamp:broken')]);
    await bench.pass(15_000);
    expect(bench.counts()).toEqual({ expected: 1, fresh: 1, synced: 1, applied: 1, failed: 1 });
    expect(bench.failures()).toMatchObject([
      { path: 'eu:store-1', object: 'deployments.apps harbour/lamp', reason: 'ProgressDeadlineExceeded' },
    ]);
    expect(bench.ready('lamp')).toBe(3);
    await bench.pass(60_000);
    expect(bench.failures()).toMatchObject([
      {
        reason: 'ImagePullBackOff',
        message: expect.stringMatching(
          /pods ready: container \w+ ImagePullBackOff: the image lamp:broken can't be pulled$/,
        ),
      },
    ]);
    await bench.place([lamp]);
    await bench.pass(5_000);
    expect(bench.counts()).toEqual(allGood);
    expect(bench.ready('lamp')).toBe(3);
  });

  it('restores objects that a user deletes or edits on the cluster, and keeps a user’s additions', async () => {
    const bench = await running();
    const key = bench.space.keyOf(lamp);
    const live = bench.space.get(key)!;
    const edited = withImage('lamp:9').spec as object;
    bench.space.update(
      { ...live, spec: { ...(live.spec as object), ...edited, minReadySeconds: 1 } },
      { fieldManager: 'kubectl-edit' },
    );
    bench.space.delete(bench.space.keyOf(tides));
    await bench.pass(10_000);
    expect(bench.space.get(key)!.spec).toMatchObject({
      template: { spec: { containers: [{ image: 'lamp:1' }] } },
      minReadySeconds: 1,
    });
    expect(bench.unhealthy(workload)).toEqual([]);
    expect(bench.counts()).toEqual(allGood);
  });

  it('makes the workload anew when a user deletes its namespace, except a Job that had ended', async () => {
    const bench = await running();
    const before = bench.live(namespace)!.metadata.uid;
    bench.space.delete(bench.space.keyOf(namespace));
    await bench.pass(20_000);
    expect(bench.live(namespace)!.metadata.uid).not.toBe(before);
    expect(bench.unhealthy(workload)).toEqual(['Job survey: missing']);
    expect(bench.counts()).toEqual(allGood);
  });

  it('leaves the cluster as it was when the workload is removed', async () => {
    const bench = await running();
    await bench.remove(workload);
    // The workload has a definition, so its controllers stay for some seconds, and the Namespace longer: removal-order.ts.
    await bench.pass(20_000);
    expect(workload.filter((object) => bench.live(object)).map((object) => object.kind)).toEqual([]);
    expect(bench.everything()).toEqual(await new EmbeddedBench().start().then((fresh) => fresh.everything()));
  });
});
