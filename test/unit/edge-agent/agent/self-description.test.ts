import { expect, test } from 'vitest';
import { servedMax } from '../../../../core/entries/served-resources.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SelfDescription, servedResourceNames } from '../../../../edge-agent/agent/self-description.ts';
import type { ClusterDescription, ServedResource } from '../../../../edge-agent/cluster/cluster.ts';

const resource = (group: string, name: string, ...versions: string[]): ServedResource => ({
  group,
  resource: name,
  kind: name,
  versions: versions.length > 0 ? versions : ['v1'],
  namespaced: true,
});

class Bench {
  readonly clock = new VirtualClock();
  asked = 0;
  changes = 0;
  addedKinds = 0;
  served: ServedResource[] = [resource('apps', 'deployments')];
  described: ClusterDescription = { kubernetesVersion: 'v1.34.1', nodes: 3, nodesReady: 2 };
  away: BanyanError | undefined;
  listener: () => void = () => {};
  readonly description: SelfDescription;

  constructor() {
    this.description = new SelfDescription({
      clock: this.clock,
      logger: silentLogger,
      changed: () => this.changes++,
      kindsAdded: () => this.addedKinds++,
      cluster: {
        describe: async () => {
          this.asked++;
          if (this.away) throw this.away;
          return this.described;
        },
        served: async () => this.served,
        onDescription: (listener) => {
          this.listener = listener;
          return () => {
            this.listener = () => {};
          };
        },
      },
    });
    this.description.start();
  }

  async advance(ms: number): Promise<void> {
    await this.settle();
    this.clock.advance(ms);
    await this.settle();
  }

  async settle(): Promise<void> {
    for (let i = 0; i < 10; i++) await Promise.resolve();
  }
}

test('a cluster is described by its version, its nodes and its served kinds', async () => {
  const bench = new Bench();
  await bench.settle();
  expect(bench.description.reported).toEqual({
    kubernetesVersion: 'v1.34.1',
    nodes: 3,
    nodesReady: 2,
    served: ['apps/deployments:v1'],
    servedCount: 1,
  });
});

test('many changes are reported together, at most every five seconds', async () => {
  const bench = new Bench();
  await bench.advance(60_000);
  const before = bench.asked;
  for (let i = 0; i < 100; i++) bench.description.changed();
  bench.served = [resource('shop.example.com', 'signs', 'v2', 'v1'), ...bench.served];
  await bench.advance(4_999);
  expect(bench.asked).toBe(before);
  await bench.advance(1);
  expect(bench.asked).toBe(before + 1);
  expect(bench.description.reported.served).toEqual(['apps/deployments:v1', 'shop.example.com/signs:v2,v1']);
  for (let i = 0; i < 20; i++) {
    bench.listener();
    await bench.advance(1_000);
  }
  expect(bench.asked).toBe(before + 1 + 4);
});

test('a change during a query of the cluster is not missed', async () => {
  const bench = new Bench();
  bench.description.changed();
  await bench.settle();
  expect(bench.asked).toBe(1);
  await bench.advance(5_000);
  expect(bench.asked).toBe(2);
});

test('kinds that have come since the last query are reported, but not those that are away', async () => {
  const bench = new Bench();
  const [deployments] = bench.served;
  await bench.advance(60_000);
  expect(bench.addedKinds).toBe(0);
  bench.served = [deployments!, resource('reports.example', 'reports')];
  await bench.advance(60_000);
  expect(bench.addedKinds).toBe(1);
  bench.served = [deployments!];
  await bench.advance(60_000);
  expect(bench.addedKinds).toBe(1);
  bench.served = [deployments!, resource('reports.example', 'reports')];
  await bench.advance(60_000);
  expect(bench.addedKinds).toBe(2);
});

test('an absent cluster is reported with its last known description', async () => {
  const bench = new Bench();
  await bench.settle();
  bench.away = new BanyanError('Unavailable', 'nobody answers');
  await bench.advance(60_000);
  const trouble = { reason: 'Unavailable', message: 'nobody answers' };
  expect(bench.description.reported).toMatchObject({ nodes: 3, trouble });
  bench.away = undefined;
  await bench.advance(10_000);
  expect(bench.description.reported).not.toHaveProperty('trouble');
});

test('a cluster that may be away is asked at once, and every ten seconds while it is away', async () => {
  const bench = new Bench();
  await bench.advance(20_000);
  bench.away = new BanyanError('Unavailable', 'nobody answers');
  bench.listener();
  await bench.advance(1_000);
  expect(bench.description.reported.trouble).toEqual({ reason: 'Unavailable', message: 'nobody answers' });
  const before = bench.asked;
  for (let i = 0; i < 20; i++) {
    bench.listener();
    await bench.advance(1_000);
  }
  expect(bench.asked).toBe(before + 2);
});

test('an ended description neither asks nor reports', async () => {
  const bench = new Bench();
  await bench.settle();
  bench.description.stop();
  const { asked, changes } = bench;
  bench.description.changed();
  bench.listener();
  await bench.advance(120_000);
  expect([bench.asked, bench.changes]).toEqual([asked, changes]);
});

test('if more is served than the report can hold, Kubernetes’ own kinds are reported', () => {
  const many = Array.from({ length: servedMax }, (_, i) => resource('acme.example', `things${i}`));
  const { served, servedCount } = servedResourceNames([...many, resource('apps', 'deployments'), resource('', 'pods')]);
  expect(servedCount).toBe(servedMax + 2);
  expect(served).toHaveLength(servedMax);
  expect(served?.slice(0, 2)).toEqual(['/pods:v1', 'apps/deployments:v1']);
});
