/** Objects with a key twice in a list: the agent delivers an equal object, or reports once why there is none. */
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { EmbeddedBench } from '../support/embedded-bench.ts';

const namespace: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'dup' } };
const labels = { app: 'twice' };

function twice(fields: object): KubeObject {
  const containers = [{ name: 'app', image: 'registry.example.com/app:1', ...fields }];
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'twice', namespace: 'dup' },
    spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
  };
}

const env = [
  { name: 'MODE', value: 'a' },
  { name: 'LEVEL', value: '1' },
  { name: 'MODE', value: 'b' },
];

describe('an object with a key twice in a list', () => {
  it('is refused by an embedded cluster as by a real one', async () => {
    const bench = await new EmbeddedBench().start();
    await bench.cluster.apply(namespace);
    await expect(bench.cluster.apply(twice({ env }))).rejects.toThrow(
      'failed to create typed patch object (dup/twice; apps/v1, Kind=Deployment): .spec.template.spec.containers[name="app"].env: duplicate entries for key [name="MODE"]',
    );
  });

  it('is delivered with the last value, becomes available, and is written no more', async () => {
    const bench = await new EmbeddedBench().start();
    await bench.place([namespace, twice({ env })]);
    await bench.pass(8_000);
    expect(bench.counts()).toEqual({ expected: 1, fresh: 1, synced: 1, applied: 1, available: 1 });
    expect(JSON.stringify(bench.live(twice({}))?.spec)).toContain(
      '"env":[{"name":"LEVEL","value":"1"},{"name":"MODE","value":"b"}]',
    );
    const revision = bench.space.storage.revision();
    await bench.pass(60_000);
    expect(bench.space.storage.revision()).toBe(revision);
  });

  it('that has no equal object is reported as invalid, is sent to the cluster not once, and recovers', async () => {
    const bench = await new EmbeddedBench().start();
    const ports = [
      { name: 'http', containerPort: 80 },
      { name: 'metrics', containerPort: 80 },
    ];
    await bench.place([namespace, twice({ ports })]);
    await bench.pass(1_000);
    const revision = bench.space.storage.revision();
    const reports = bench.reports();
    await bench.pass(60_000);
    expect(bench.failures()).toMatchObject([{ object: 'deployments.apps dup/twice', reason: 'Invalid' }]);
    expect(bench.failures()[0]?.message).toContain('duplicate entries for key [containerPort=80,protocol="TCP"]');
    expect([bench.space.storage.revision(), bench.reports()]).toEqual([revision, reports]);
    await bench.place([twice({ ports: ports.slice(1) })]);
    await bench.pass(8_000);
    expect(bench.counts()).toMatchObject({ available: 1 });
  });
});
