import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
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
      path: 'shop',
      fromAbove: 'grants',
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

  test('a watch of metadata receives metadata only, and a full watch receives the whole object', async () => {
    const data = { a: '1' };
    await cluster.apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'bare', namespace: 'default' },
      data,
    });
    const received: (KubeObject | 'synced')[] = [];
    const stop = cluster.watch(
      { group: '', resource: 'configmaps' },
      {
        on: ({ key, object }) => void (key.name === 'bare' && received.push(object)),
        synced: () => void received.push('synced'),
      },
      { metadataOnly: true },
    );
    await until(() => received.includes('synced'));
    const metadata = { name: 'bare', namespace: 'default', labels: { of: 'somebody' } };
    await cluster.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { a: '2' } });
    await until(() => received.length === 3);
    stop();
    const named = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'bare' } };
    expect(received).toMatchObject([named, 'synced', { ...named, metadata }]);
    for (const one of received) expect(one).not.toHaveProperty('data');
  });

  test('creates a new object in one request that also checks for its existence, and leaves an existing object unchanged', async () => {
    const made = cluster as KubernetesCluster;
    const metadata = (name: string) => ({ name, namespace: 'default', labels: { of: 'us' } });
    const boards = { group: 'made.example.com', names: { kind: 'Board', plural: 'boards' } };
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    await cluster.apply({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'boards.made.example.com' },
      spec: { ...boards, scope: 'Namespaced', versions: [{ name: 'v1', served: true, storage: true, schema }] },
    });
    await until(async () => (await cluster.resourceOf('made.example.com/v1', 'Board')) !== undefined);
    const template = {
      metadata: { labels: { app: 'a' } },
      spec: { containers: [{ name: 'a', image: 'example.com/a' }] },
    };
    const deployed = { replicas: 0, selector: { matchLabels: { app: 'a' } }, template };
    const kinds = [
      { apiVersion: 'v1', kind: 'ConfigMap', resource: 'configmaps', data: { a: '1' } },
      { apiVersion: 'apps/v1', kind: 'Deployment', resource: 'deployments', spec: deployed },
      { apiVersion: 'made.example.com/v1', kind: 'Board', resource: 'boards', spec: { a: 1 } },
    ];
    for (const { resource, ...rest } of kinds) {
      const object = (name: string): KubeObject => ({ ...rest, metadata: metadata(name) });
      const [group = ''] = rest.apiVersion.split('/').toReversed().slice(1);
      // Without the status that its controller writes meanwhile.
      const live = async (name: string) => {
        const {
          status: _status,
          metadata,
          ...found
        } = (await cluster.get({ group, resource, namespace: 'default', name }))!;
        const { uid, generation, labels, managedFields } = metadata;
        const managers = managedFields?.filter(({ manager }) => manager !== 'kube-controller-manager');
        return { ...found, uid, generation, labels, managers };
      };
      // The agent finds this out by itself, once many objects are asked for.
      for (let i = 0; i < 20; i++) expect(made.mayCreate(object('new'))).toBe(false);
      const first = await cluster.apply(object('first'));
      expect(made.mayCreate(object('new'))).toBe(true);
      expect(await live('first')).toMatchObject({ uid: first.metadata.uid, managers: [{ manager: 'banyan' }] });

      const created = await made.create(object('new'));
      expect(created).toMatchObject({ ...rest, metadata: metadata('new') });
      expect(created?.metadata.managedFields).toMatchObject([{ manager: 'banyan', operation: 'Apply' }]);
      // One object of somebody else with the same content, where a merge would meet no conflict; one with another content, where it would; and one of this
      // manager.
      for (const [name, others] of [
        ['same', 'us'],
        ['other', 'them'],
      ] as const) {
        const theirs = { ...rest, metadata: { ...metadata(name), labels: { of: others } } };
        execFileSync(
          plane.kubectl,
          ['--kubeconfig', plane.kubeconfig, 'apply', '--server-side', '--field-manager=helm', '-f', '-'],
          { input: JSON.stringify(theirs) },
        );
      }
      for (const name of ['same', 'other', 'new']) {
        const before = await live(name);
        expect(await made.create(object(name))).toBeUndefined();
        expect(await live(name)).toEqual(before);
      }
      expect(made.mayCreate(object('next'))).toBe(true);
    }
    // Refused for any reason: nothing was created, and the ordinary way gives the reason.
    const bad: KubeObject = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: metadata('bad'),
      spec: { replicas: -1 },
    };
    expect(await made.create(bad)).toBeUndefined();
    await expect(cluster.apply(bad)).rejects.toMatchObject({ code: 'Invalid' });
    expect(
      await cluster.get({ group: 'apps', resource: 'deployments', namespace: 'default', name: 'bad' }),
    ).toBeUndefined();
  });

  test('sends an object in an equivalent version when the cluster does not serve its version, and otherwise names the served versions', async () => {
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
    // Somebody at the site changes the object: the agent notices and corrects it, although it sent another version.
    const cleared = { ...nightly, schedule: '0 4 * * *' };
    await cluster.apply({ apiVersion: 'batch/v1', kind: 'CronJob', metadata: metadata('nightly'), spec: cleared });
    await until(async () => (await live('batch', 'cronjobs', 'nightly'))?.metadata.labels !== undefined);
    expect(await live('batch', 'cronjobs', 'nightly')).toMatchObject({ spec: nightly });
  });

  test('applies an object in another version than the preferred one once, and corrects a change of it in that version', async () => {
    await using agent = new AgentOnCluster(cluster);
    const key = 'autoscaling/horizontalpodautoscalers/default/shelf';
    const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'shelf' };
    const apply = vi.spyOn(cluster, 'apply');
    agent.send(key, {
      apiVersion: 'autoscaling/v1',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'shelf', namespace: 'default' },
      spec: { scaleTargetRef, maxReplicas: 5, targetCPUUtilizationPercentage: 80 },
    });
    await until(() => agent.state(key).applied === true);
    const site = (...args: string[]) =>
      execFileSync(plane.kubectl, ['--kubeconfig', plane.kubeconfig, ...args], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
    const received: KubeObject[] = [];
    const stop = cluster.watch(
      { group: 'autoscaling', resource: 'horizontalpodautoscalers' },
      { on: ({ key: { name }, object }) => void (name === 'shelf' && received.push(object)), synced: () => {} },
    );
    const turns = (object: KubeObject | undefined) => object?.metadata.annotations?.turn;
    for (const turn of ['1', '2', '3']) {
      site('annotate', 'hpa', 'shelf', `turn=${turn}`, '--overwrite');
      await until(() => turns(received.at(-1)) === turn);
    }
    expect(received.at(-1)!.apiVersion).toBe('autoscaling/v2');
    // By then the agent would have corrected it.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(apply).toHaveBeenCalledTimes(1);
    const half = { type: 'Utilization', averageUtilization: 50 };
    const metrics = [{ type: 'Resource', resource: { name: 'cpu', target: half } }];
    site('patch', 'hpa.v2.autoscaling', 'shelf', '--type=merge', '-p', JSON.stringify({ spec: { metrics } }));
    const live = () =>
      cluster.get(
        { group: 'autoscaling', resource: 'horizontalpodautoscalers', namespace: 'default', name: 'shelf' },
        'v1',
      );
    await until(() => apply.mock.calls.length > 1);
    const isCorrected = { apiVersion: 'autoscaling/v1', spec: { targetCPUUtilizationPercentage: 80 } };
    await vi.waitFor(async () => expect(await live()).toMatchObject(isCorrected), 20_000);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(apply).toHaveBeenCalledTimes(2);
    stop();
    apply.mockRestore();
  });
});
