/** Objects that can refuse others: webhook configurations, bindings of policies, APIServices. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../core/object/meta.ts';
import { BanyanError } from '../../../core/runtime/errors.ts';
import { AgentBench, configMap, definition, deployment, namespace } from './support/agent-bench.ts';
import { FakeCluster } from './support/fake-cluster.ts';

const id = 'center.retail/guard';
const shop = '/namespaces//shop';
const till = '/configmaps/shop/till';
const service = '/services/shop/guard';
const workload = 'apps/deployments/shop/guard';
const webhooks = 'admissionregistration.k8s.io/validatingwebhookconfigurations//guard';
const binding = 'admissionregistration.k8s.io/validatingadmissionpolicybindings//guard';
const apiService = 'apiregistration.k8s.io/apiservices//v1.tills.example.com';
const waitMs = 120_000;

const labels = { app: 'guard' };
const objects: Record<string, KubeObject> = {
  [shop]: namespace('shop'),
  [till]: configMap('till'),
  [service]: {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'guard', namespace: 'shop' },
    spec: { selector: labels },
    status: { loadBalancer: {} },
  },
  [workload]: { ...deployment('guard'), spec: { replicas: 2, template: { metadata: { labels } } } },
  [webhooks]: configuration({ service: { name: 'guard', namespace: 'shop' } }),
  [binding]: {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: 'guard' },
    spec: { policyName: 'guard' },
  },
  [apiService]: {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: 'v1.tills.example.com' },
    spec: { group: 'tills.example.com', version: 'v1', service: { name: 'guard', namespace: 'shop' } },
  },
};

function configuration(clientConfig: object, more: object = { failurePolicy: 'Fail' }): KubeObject {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'guard' },
    webhooks: [{ name: 'all.example.com', clientConfig, ...more }],
  };
}

let bench: AgentBench;
const put = (...keys: string[]) => keys.map((key) => bench.object(key, objects[key]!, ['guard']));
const receive = (...keys: string[]) => bench.receive(...put(...keys), bench.target(id));
const applied = () => bench.cluster.log.filter((line) => line.startsWith('apply')).map((line) => line.slice(6));
const state = (key: string) => bench.reported(`state/center.retail/${key}`)!.attributes;
const policy = () => (bench.cluster.objects.get(webhooks)!.webhooks as { failurePolicy: string }[])[0]!.failurePolicy;
const works = () => bench.cluster.settle(workload, 2);

beforeEach(async () => {
  bench = await new AgentBench().start();
});

describe('a webhook configuration', () => {
  it('is applied after all other objects of its placement, and when the workload behind its Service is available', async () => {
    await receive(webhooks, workload, service, till, shop);
    await bench.advance(1_000);
    expect(applied().sort()).toEqual([till, workload, service, shop].sort());
    expect(state(webhooks)).toMatchObject({ applied: false, reason: 'WaitingForWorkload' });
    expect(state(webhooks).message).toContain('Service shop/guard, deployments.apps shop/guard is not available');
    works();
    await bench.settle();
    expect([applied().at(-1), policy()]).toEqual([webhooks, 'Fail']);
    await bench.advance(1_000);
    expect(state(webhooks)).toMatchObject({ applied: true });
  });

  it('waits for objects that arrive in later batches, however long they take', async () => {
    await bench.receive(...put(webhooks));
    expect(state(webhooks).reason).toBe('WaitingForObjects');
    await bench.receive(...put(shop, service, workload));
    works();
    await bench.settle();
    expect(applied()).not.toContain(webhooks);
    await receive(till);
    expect(applied().slice(-2)).toEqual([till, webhooks]);
  });

  it('waits for an object that the cluster refuses, and is applied as soon as it is accepted', async () => {
    bench.cluster.refuse.set(till, 'not like this');
    await receive(shop, till, service, workload, webhooks);
    works();
    await bench.settle();
    await bench.advance(1_000);
    expect(state(webhooks)).toMatchObject({ reason: 'WaitingForObjects' });
    expect(state(webhooks).message).toContain('configmaps shop/till');
    bench.cluster.refuse.clear();
    await bench.receive(bench.object(till, configMap('till', { a: '2' }), ['guard']));
    expect(applied().at(-1)).toBe(webhooks);
  });

  it('does not wait for an object that is withdrawn meanwhile', async () => {
    bench.cluster.refuse.set(till, 'not like this');
    await receive(shop, till, service, workload, webhooks);
    works();
    await bench.settle();
    await bench.receive(bench.gone(`o/center.retail/${till}`));
    expect(applied().at(-1)).toBe(webhooks);
  });

  it('holds up nothing of other placements', async () => {
    await receive(shop, service, workload, webhooks);
    await bench.receive(bench.object(till, configMap('till'), ['other']), bench.target('center.retail/other'));
    expect(applied().at(-1)).toBe(till);
  });

  it('is lenient after the bound until its workload is available, so that it refuses nothing', async () => {
    await receive(shop, service, workload, webhooks);
    await bench.advance(waitMs - 1_000);
    expect(applied()).not.toContain(webhooks);
    await bench.advance(2_000);
    expect(policy()).toBe('Ignore');
    await bench.advance(1_000);
    expect(state(webhooks)).toMatchObject({ applied: false, reason: 'WebhookUnavailable' });
    expect(state(webhooks).message).toMatch(/^failurePolicy is Ignore instead of Fail for all.example.com .*repair/);
    const { failures } = bench.reported(`partial/${id}`)!.body as { failures: { object: string; reason: string }[] };
    expect(failures).toContainEqual(expect.objectContaining({ reason: 'WebhookUnavailable' }));
    // Nobody has to look, and nothing is written meanwhile.
    const writes = applied().length;
    await bench.advance(600_000);
    expect(applied().length).toBe(writes);
    works();
    await bench.settle();
    expect(policy()).toBe('Fail');
    await bench.advance(1_000);
    expect(state(webhooks)).toMatchObject({ applied: true });
  });

  it('is lenient after a restart, too, and becomes strict with its workload', async () => {
    await receive(shop, service, workload, webhooks);
    await bench.advance(waitMs + 1_000);
    await bench.restart();
    await bench.advance(1_000);
    expect([policy(), state(webhooks).reason]).toEqual(['Ignore', 'WebhookUnavailable']);
    works();
    await bench.settle();
    expect(policy()).toBe('Fail');
  });

  it('becomes strict although the rules let the agent write it only once', async () => {
    await bench.receive(
      ...put(shop, service, workload),
      bench.object(webhooks, objects[webhooks]!, ['guard'], 'center.retail', { createOnly: ['guard'] }),
      bench.target(id),
    );
    await bench.advance(waitMs + 1_000);
    expect(policy()).toBe('Ignore');
    works();
    await bench.settle();
    expect(policy()).toBe('Fail');
  });

  it('stays as it is while its workload fails later, and its updates do not wait', async () => {
    await receive(shop, service, workload, webhooks);
    works();
    await bench.settle();
    bench.cluster.settle(workload, 0);
    const changed = configuration(
      { service: { name: 'guard', namespace: 'shop' } },
      { failurePolicy: 'Fail', timeoutSeconds: 3 },
    );
    await bench.receive(bench.object(webhooks, changed, ['guard']));
    expect(bench.cluster.objects.get(webhooks)).toMatchObject({
      webhooks: [{ failurePolicy: 'Fail', timeoutSeconds: 3 }],
    });
    expect(bench.cluster.log.some((line) => line.startsWith('remove'))).toBe(false);
  });

  it('waits again after somebody has deleted it, because its workload may be the reason', async () => {
    await receive(shop, service, workload, webhooks);
    works();
    await bench.settle();
    bench.cluster.settle(workload, 0);
    bench.cluster.erase(webhooks);
    await bench.advance(5_000);
    expect(bench.cluster.objects.has(webhooks)).toBe(false);
    works();
    await bench.settle();
    expect(policy()).toBe('Fail');
  });

  it('with the failurePolicy Ignore is applied as it is after the bound', async () => {
    const ignored = configuration({ service: { name: 'guard', namespace: 'shop' } }, { failurePolicy: 'Ignore' });
    await bench.receive(...put(shop, service, workload), bench.object(webhooks, ignored, ['guard']), bench.target(id));
    await bench.advance(waitMs - 1_000);
    expect(applied()).not.toContain(webhooks);
    await bench.advance(2_000);
    await bench.advance(1_000);
    expect(state(webhooks)).toMatchObject({ applied: true });
  });

  it('with a URL waits for the other objects only', async () => {
    const url = configuration({ url: 'https://example.com' });
    await bench.receive(bench.object(webhooks, url, ['guard']), ...put(shop, workload), bench.target(id));
    expect(applied()).toEqual([shop, workload, webhooks]);
  });

  it('is told of a Service that nobody brings, and is served by one that somebody else makes', async () => {
    await receive(shop, webhooks);
    await bench.advance(1_000);
    expect(state(webhooks).message).toContain('services shop/guard does not exist on the cluster');
    bench.cluster.write(service, (object) => Object.assign(object, objects[service]));
    await bench.advance(60_000);
    expect([applied().at(-1), policy()]).toEqual([webhooks, 'Fail']);
  });

  it('asks the workload of the placement that brings its Service', async () => {
    await bench.receive(
      ...put(shop),
      ...[service, workload].map((key) => bench.object(key, objects[key]!, ['engine'])),
      bench.target('center.retail/engine'),
      bench.object(webhooks, objects[webhooks]!, ['guard']),
      bench.target(id),
    );
    expect(state(webhooks).reason).toBe('WaitingForWorkload');
    works();
    await bench.settle();
    expect(applied().at(-1)).toBe(webhooks);
  });

  it('goes before everything else', async () => {
    await receive(shop, till, service, workload, webhooks, binding);
    works();
    await bench.settle();
    bench.cluster.log.length = 0;
    await bench.receive(
      ...[shop, till, service, workload, webhooks, binding].map((key) => bench.gone(`o/center.retail/${key}`)),
      bench.gone(`t/${id}`),
    );
    expect(bench.cluster.log.slice(0, 2).sort()).toEqual([`remove ${binding}`, `remove ${webhooks}`]);
    expect(bench.cluster.log).toHaveLength(6);
  });
});

it('the binding of a policy is applied after the other objects, although no workload serves it', async () => {
  bench.cluster.refuse.set(till, 'not like this');
  await receive(binding, till, shop);
  expect(applied()).not.toContain(binding);
  await bench.advance(waitMs + 1_000);
  expect(applied()).toContain(binding);
});

describe('an APIService', () => {
  const sale = 'tills.example.com/sales/shop/one';

  it('is applied when its workload is available, and before the objects that only it serves', async () => {
    const object = { apiVersion: 'tills.example.com/v1', kind: 'Sale', metadata: { name: 'one', namespace: 'shop' } };
    await bench.receive(
      ...put(shop, service, workload, apiService),
      bench.object(sale, object, ['guard']),
      bench.target(id),
    );
    expect(state(apiService).reason).toBe('WaitingForWorkload');
    works();
    await bench.settle();
    expect(applied().at(-1)).toBe(apiService);
  });

  it('is applied as it is after the bound', async () => {
    await receive(shop, service, workload, apiService);
    await bench.advance(waitMs + 1_000);
    await bench.advance(1_000);
    expect(state(apiService)).toMatchObject({ applied: true });
  });
});

/** Like a real cluster: the conversion webhook of the definition refuses objects until its workload answers. */
class Converting extends FakeCluster {
  override async apply(object: KubeObject, options?: { dryRun?: boolean }): Promise<KubeObject> {
    const { readyReplicas = 0 } = (this.objects.get(workload)?.status ?? {}) as { readyReplicas?: number };
    if (object.kind === 'Board' && readyReplicas === 0)
      throw new BanyanError('Internal', 'conversion webhook for shop.example.com/v1 failed: connection refused');
    return super.apply(object, options);
  }
}

it('a custom object that needs a conversion webhook waits for the workload behind it, and has not failed', async () => {
  bench = await new AgentBench(new Converting()).start();
  const boards = 'apiextensions.k8s.io/customresourcedefinitions//boards.shop.example.com';
  const board = 'shop.example.com/boards/shop/one';
  const made = definition();
  const webhook = { clientConfig: { service: { name: 'guard', namespace: 'shop' } } };
  Object.assign(made.spec as object, { conversion: { strategy: 'Webhook', webhook } });
  const object = { apiVersion: 'shop.example.com/v1', kind: 'Board', metadata: { name: 'one', namespace: 'shop' } };
  await bench.receive(
    bench.object(board, object, ['guard']),
    bench.object(boards, made, ['guard']),
    ...put(shop, service, workload),
    bench.target(id),
  );
  await bench.advance(1_000);
  expect(state(board)).toMatchObject({ reason: 'WaitingForWorkload' });
  expect(state(board)).not.toHaveProperty('failed');
  works();
  await bench.settle();
  expect(bench.cluster.objects.has(board)).toBe(true);
});
