import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../core/object/meta.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { silentLogger } from '../../core/runtime/logger.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { MemoryStore } from '../../core/store/memory/memory-store.ts';
import type { Cluster } from '../../edge-agent/cluster/cluster.ts';
import { type AssembledCluster, assembleCluster } from '../../edge-agent/cluster/embedded/assemble.ts';
import { accessOf } from '../../edge-agent/cluster/kubernetes/access.ts';
import { KubernetesCluster } from '../../edge-agent/cluster/kubernetes/kubernetes-cluster.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { furnish } from '../support/control-plane/furniture.ts';
import { AgentOnCluster } from './support/agent-on-cluster.ts';
import { clusterContract, until } from './support/cluster-contract.ts';

const ports = { clock: systemClock, random: systemRandom, logger: silentLogger };

describe('the embedded cluster', () => {
  let assembled: AssembledCluster;
  beforeAll(() => {
    assembled = assembleCluster({
      ...ports,
      store: new MemoryStore(),
      pace: { stepMinMs: 1, stepMaxMs: 2, progressDeadlineMaxMs: 10_000 },
      schedule: setImmediate,
    });
  });
  afterAll(() => assembled[Symbol.asyncDispose]());
  clusterContract(() => assembled.cluster);
});

const missing = withoutControlPlane();

describe.skipIf(missing)(`a real control plane${missing ? ` (${missing})` : ''}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-contract-'));
  let plane: ControlPlane;
  let cluster: Cluster;
  beforeAll(async () => {
    plane = await ControlPlane.start({ directory });
    cluster = new KubernetesCluster({
      ...ports,
      store: new MemoryStore(),
      access: await accessOf({ kubeconfig: plane.kubeconfig }, { host: undefined, port: undefined, directory }),
    });
    furnish(plane, { nodes: 1, volumes: 0 });
  }, 3_600_000);
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });
  clusterContract(() => cluster);

  test('a watch of metadata alone sends no more than that, and a whole one all', async () => {
    const data = { a: '1' };
    await cluster.apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'bare', namespace: 'default' },
      data,
    });
    const told: (KubeObject | 'synced')[] = [];
    const stop = cluster.watch(
      { group: '', resource: 'configmaps' },
      {
        on: ({ key, object }) => void (key.name === 'bare' && told.push(object)),
        synced: () => void told.push('synced'),
      },
      { metadataOnly: true },
    );
    await until(() => told.includes('synced'));
    const metadata = { name: 'bare', namespace: 'default', labels: { of: 'somebody' } };
    await cluster.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { a: '2' } });
    await until(() => told.length === 3);
    stop();
    const named = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'bare' } };
    expect(told).toMatchObject([named, 'synced', { ...named, metadata }]);
    for (const one of told) expect(one).not.toHaveProperty('data');
  });

  test('an object in a version that it does not serve is sent in one that is the same, and otherwise it is said what is served', async () => {
    await using agent = new AgentOnCluster(cluster);
    const metadata = (name: string) => ({ name, namespace: 'default' });
    const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'registry.example.com/a' }] } };
    const nightly = { schedule: '0 3 * * *', jobTemplate: { spec: { template } } };
    const cronJob = 'batch/cronjobs/default/nightly';
    agent.send(cronJob, { apiVersion: 'batch/v1beta1', kind: 'CronJob', metadata: metadata('nightly'), spec: nightly });
    const ingress = 'networking.k8s.io/ingresses/default/door';
    const backend = { backend: { serviceName: 'till', servicePort: 80 } };
    const old = { apiVersion: 'networking.k8s.io/v1beta1', kind: 'Ingress' };
    agent.send(ingress, { ...old, metadata: metadata('door'), spec: backend });
    const scaler = 'autoscaling/horizontalpodautoscalers/default/till';
    const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'till' };
    const target = { type: 'Utilization', averageUtilization: 60 };
    const metrics = [{ type: 'Resource', resource: { name: 'cpu', target } }];
    agent.send(scaler, {
      apiVersion: 'autoscaling/v2beta2',
      kind: 'HorizontalPodAutoscaler',
      metadata: metadata('till'),
      spec: { scaleTargetRef, minReplicas: 2, maxReplicas: 5, metrics },
    });
    await until(() => [cronJob, scaler].every((key) => agent.state(key).applied === true));
    const live = (group: string, resource: string, name: string) =>
      cluster.get({ group, resource, namespace: 'default', name });
    expect(await live('batch', 'cronjobs', 'nightly')).toMatchObject({ apiVersion: 'batch/v1', spec: nightly });
    expect(await live('autoscaling', 'horizontalpodautoscalers', 'till')).toMatchObject({ spec: { metrics } });
    await until(() => agent.state(ingress).reason === 'UnknownKind');
    expect(agent.state(ingress).message).toMatch(
      /does not serve Ingress of networking\.k8s\.io\/v1beta1.*it serves it as networking\.k8s\.io\/v1, .*write the object as networking\.k8s\.io\/v1$/,
    );
    // Somebody at the site changes it: it is seen and put back, although what was sent is of another version.
    const cleared = { ...nightly, schedule: '0 4 * * *' };
    await cluster.apply({ apiVersion: 'batch/v1', kind: 'CronJob', metadata: metadata('nightly'), spec: cleared });
    await until(async () => (await live('batch', 'cronjobs', 'nightly'))?.metadata.labels !== undefined);
    expect(await live('batch', 'cronjobs', 'nightly')).toMatchObject({ spec: nightly });
  });
});
