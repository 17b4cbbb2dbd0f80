/** Workloads whose number of replicas an autoscaler of the cluster changes, and other fields that programs of the cluster fill in. */
import { describe, expect, it } from 'vitest';
import type { SparseApplyRules } from '../../../core/entries/apply-rules.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import { AgentBench, deployment } from './support/agent-bench.ts';
import { EmbeddedBench } from './support/embedded-bench.ts';

const namespace: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'hpa' } };
const workload = (kind: string, image = 'c:1', replicas = 1): KubeObject => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name: 'fixed', namespace: 'hpa' },
  spec: {
    replicas,
    ...(kind === 'StatefulSet' ? { serviceName: 'fixed' } : {}),
    selector: { matchLabels: { app: 'fixed' } },
    template: { metadata: { labels: { app: 'fixed' } }, spec: { containers: [{ name: 'c', image }] } },
  },
});
const autoscaler = (kind: string): KubeObject => ({
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'fixed', namespace: 'hpa' },
  spec: { minReplicas: 3, maxReplicas: 5, scaleTargetRef: { apiVersion: 'apps/v1', kind, name: 'fixed' } },
});
const allGood = { expected: 1, fresh: 1, synced: 1, applied: 1, available: 1 };

const replicas = (bench: EmbeddedBench, kind: string) =>
  (bench.live(workload(kind))!.spec as { replicas: number }).replicas;
const revision = (bench: EmbeddedBench) => bench.space.storage.revision();

/** As an autoscaler or a person does it. */
function scale(bench: EmbeddedBench, kind: string, to: number, fieldManager = 'autoscaler'): void {
  const key = bench.space.keyOf(workload(kind));
  bench.space.updateScale(key, { ...bench.space.getScale(key)!, spec: { replicas: to } }, { fieldManager });
}

async function placed(rules: SparseApplyRules, ...objects: KubeObject[]): Promise<EmbeddedBench> {
  const bench = await new EmbeddedBench(rules).start();
  await bench.place([namespace, ...objects]);
  await bench.pass(10_000);
  return bench;
}

describe('the number of replicas of a workload', () => {
  it.each(['Deployment', 'StatefulSet'])('of kind %s belongs to an autoscaler that is placed with it', async (kind) => {
    const bench = await placed({}, workload(kind), autoscaler(kind));
    expect(replicas(bench, kind)).toBe(3);
    scale(bench, kind, 4);
    await bench.pass(5_000);
    expect(replicas(bench, kind)).toBe(4);
    expect(bench.counts()).toEqual(allGood);
    expect(bench.failures()).toEqual([]);
    const before = revision(bench);
    await bench.pass(60_000);
    await bench.restart();
    await bench.pass(60_000);
    expect(revision(bench)).toBe(before);
    // A change of something else keeps the number.
    await bench.place([workload(kind, 'c:2')]);
    await bench.pass(10_000);
    expect(replicas(bench, kind)).toBe(4);
    expect(JSON.stringify(bench.live(workload(kind)))).toContain('"c:2"');
  });

  it.each(['Correct', 'Report', 'Ignore'] as const)(
    'belongs to an autoscaler of the site, with drift %s',
    async (drift) => {
      const bench = await placed({ drift }, workload('Deployment'));
      expect(replicas(bench, 'Deployment')).toBe(1);
      bench.space.create(autoscaler('Deployment'), { fieldManager: 'kubectl-create' });
      await bench.pass(10_000);
      expect(replicas(bench, 'Deployment')).toBe(3);
      expect(bench.counts()).toEqual(allGood);
      expect(bench.failures()).toEqual([]);
    },
  );

  it('is corrected again when the autoscaler goes, or scales another workload', async () => {
    const bench = await placed({}, workload('Deployment'), autoscaler('Deployment'));
    await bench.remove([autoscaler('Deployment')]);
    await bench.pass(10_000);
    expect(replicas(bench, 'Deployment')).toBe(1);
    await bench.place([autoscaler('Deployment')]);
    await bench.pass(10_000);
    expect(replicas(bench, 'Deployment')).toBe(3);
    await bench.place([autoscaler('StatefulSet')]);
    await bench.pass(10_000);
    expect(replicas(bench, 'Deployment')).toBe(1);
    expect(bench.counts()).toEqual(allGood);
  });

  it('belongs to nobody else: an autoscaler of another kind, name or namespace changes nothing', async () => {
    const bench = await placed({}, workload('Deployment'));
    bench.space.create(autoscaler('StatefulSet'), { fieldManager: 'kubectl-create' });
    scale(bench, 'Deployment', 4, 'kubectl-scale');
    await bench.pass(5_000);
    expect(replicas(bench, 'Deployment')).toBe(1);
  });

  it('belongs to KEDA if a ScaledObject is placed with it, also without kind and version', async () => {
    const definition: KubeObject = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'scaledobjects.keda.sh' },
      spec: {
        group: 'keda.sh',
        scope: 'Namespaced',
        names: {
          plural: 'scaledobjects',
          singular: 'scaledobject',
          kind: 'ScaledObject',
          listKind: 'ScaledObjectList',
        },
        versions: [
          {
            name: 'v1alpha1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        ],
      },
    };
    const scaled: KubeObject = {
      apiVersion: 'keda.sh/v1alpha1',
      kind: 'ScaledObject',
      metadata: { name: 'fixed', namespace: 'hpa' },
      spec: { scaleTargetRef: { name: 'fixed' } },
    };
    const bench = await placed({}, definition);
    await bench.place([workload('Deployment'), scaled]);
    await bench.pass(5_000);
    scale(bench, 'Deployment', 0, 'keda-operator');
    await bench.pass(10_000);
    expect(replicas(bench, 'Deployment')).toBe(0);
    expect(bench.failures()).toEqual([]);
  });
});

describe('an agent that does not know yet what scales a workload', () => {
  const web = 'apps/deployments/shop/web';
  const scalers = 'autoscaling/horizontalpodautoscalers';
  const started = async () => {
    const bench = await new AgentBench().start();
    await bench.receive(
      bench.object('/namespaces//shop', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }, ['shop']),
      bench.object(web, deployment('web'), ['shop']),
      bench.target('center.retail/shop'),
    );
    await bench.advance(5_000);
    bench.cluster.settle(web, 2);
    await bench.advance(5_000);
    return bench;
  };
  const scaledMeanwhile = (bench: AgentBench) =>
    bench.cluster.write(web, (object) => {
      object.spec = { replicas: 5 };
    });
  const replicasOf = (bench: AgentBench) => (bench.cluster.objects.get(web)!.spec as { replicas: number }).replicas;

  it('creates it, but leaves an existing one alone until the cluster answers, at most a minute', async () => {
    const bench = await started();
    const counts = bench.counts('center.retail/shop');
    bench.cluster.silent.add(scalers);
    await bench.agent.stop();
    scaledMeanwhile(bench);
    await bench.restart();
    await bench.advance(9_000);
    expect(replicasOf(bench)).toBe(5);
    expect(bench.counts('center.retail/shop')).toEqual(counts);
    await bench.receive(bench.object('apps/deployments/shop/new', deployment('new'), ['shop']));
    expect(bench.cluster.objects.has('apps/deployments/shop/new')).toBe(true);
    await bench.advance(60_000);
    expect(replicasOf(bench)).toBe(2);
  });

  it('corrects it if the cluster refuses to list autoscalers', async () => {
    const bench = await started();
    bench.cluster.unlisted.set(scalers, 'Forbidden');
    await bench.agent.stop();
    scaledMeanwhile(bench);
    await bench.restart();
    await bench.advance(5_000);
    expect(replicasOf(bench)).toBe(2);
  });
});

describe('a bundle of certificates that a program of the cluster injects', () => {
  const bundle = 'aW5qZWN0ZWQ=';
  const webhook = (clientConfig: object, annotations?: Record<string, string>): KubeObject => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'gate', ...(annotations ? { annotations } : {}) },
    webhooks: ['a.example.org', 'b.example.org'].map((name) => ({
      name,
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      failurePolicy: 'Ignore',
      clientConfig: { url: 'https://gate.hpa.svc/check', ...clientConfig },
    })),
  });
  const bundles = (bench: EmbeddedBench, object: KubeObject) =>
    (bench.live(object)!.webhooks as { clientConfig: { caBundle?: string } }[]).map(
      ({ clientConfig }) => clientConfig.caBundle,
    );

  it.each([
    ['is left if the placed object has none', {}, undefined],
    [
      'replaces a placeholder for good if an annotation asks for it',
      { caBundle: 'Cg==' },
      { 'cert-manager.io/inject-ca-from': 'hpa/gate' },
    ],
  ])('%s', async (_, clientConfig, annotations) => {
    const object = webhook(clientConfig, annotations);
    const bench = await placed({}, object);
    const live = structuredClone(bench.live(object)!);
    for (const { clientConfig: config } of live.webhooks as { clientConfig: { caBundle?: string } }[])
      config.caBundle = bundle;
    bench.space.update(live, { fieldManager: 'cainjector' });
    const before = revision(bench);
    await bench.pass(60_000);
    expect(revision(bench)).toBe(before);
    expect(bundles(bench, object)).toEqual([bundle, bundle]);
    expect(bench.failures()).toEqual([]);
  });

  it('is corrected if the placed object has its own and asks nobody', async () => {
    const object = webhook({ caBundle: 'b3Vycw==' });
    const bench = await placed({}, object);
    const live = structuredClone(bench.live(object)!);
    for (const { clientConfig: config } of live.webhooks as { clientConfig: { caBundle?: string } }[])
      config.caBundle = bundle;
    bench.space.update(live, { fieldManager: 'somebody' });
    await bench.pass(5_000);
    expect(bundles(bench, object)).toEqual(['b3Vycw==', 'b3Vycw==']);
  });
});
