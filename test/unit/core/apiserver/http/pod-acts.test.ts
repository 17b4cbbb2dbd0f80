import { beforeEach, describe, expect, it } from 'vitest';
import { parseBody } from '../../../../../core/object/canonical.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { payloadOf } from '../../../../../relay/spaces/payload.ts';
import { HandlerBench } from './handler-bench.ts';
import { refusalOf } from './handler-errors.ts';

const pods = '/api/v1/namespaces/shop/pods';
const budgets = '/apis/policy/v1/namespaces/shop/poddisruptionbudgets';
const merge = { 'content-type': 'application/merge-patch+json' };
const strategic = { 'content-type': 'application/strategic-merge-patch+json' };
const key = { group: '', resource: 'pods', namespace: 'shop', name: 'till' };

const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'till', labels: { app: 'till' } },
  spec: {
    containers: [{ name: 'main', image: 'till:1', resources: { requests: { cpu: '10m' }, limits: { cpu: '1' } } }],
  },
};

let api: HandlerBench;
beforeEach(async () => {
  api = new HandlerBench({ type: 'Workload' });
  await api.call('POST', pods, { body: pod });
});

const live = () =>
  api.space.get(key) as KubeObject & { spec: Record<string, unknown>; status: Record<string, unknown> };
const binding = (target: object, name = 'till') => ({ apiVersion: 'v1', kind: 'Binding', metadata: { name }, target });

describe('a binding', () => {
  it('gives the pod its node once, and is no content of the pod', async () => {
    const body = { ...binding({ kind: 'Node', name: 'n1' }), metadata: { name: 'till', annotations: { by: 'us' } } };
    const { status, json } = await api.call('POST', `${pods}/till/binding`, { body });
    expect([status, json()]).toEqual([
      201,
      { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 },
    ]);
    expect(live()).toMatchObject({
      metadata: { generation: 1, annotations: { by: 'us' } },
      spec: { nodeName: 'n1' },
      status: { conditions: [{ type: 'PodScheduled', status: 'True' }] },
    });
    const again = await refusalOf(api.call('POST', `${pods}/till/binding`, { body }));
    expect([again.code, again.message]).toEqual([
      'Conflict',
      'Operation cannot be fulfilled on pods/binding "till": pod till is already assigned to node "n1"',
    ]);
  });

  it('may name its pod in the body alone', async () => {
    await api.call('POST', '/api/v1/namespaces/shop/bindings', { body: binding({ name: 'n1' }) });
    expect(live().spec.nodeName).toBe('n1');
  });

  it('does not travel, and neither does an ephemeral container', async () => {
    await api.call('POST', `${pods}/till/binding`, { body: binding({ name: 'n1' }) });
    for (const name of ['one', 'two']) {
      const body = { spec: { ephemeralContainers: [{ name, image: 'shell:1' }] } };
      await api.call('PATCH', `${pods}/till/ephemeralcontainers`, { body, headers: strategic });
    }
    expect(live().spec.ephemeralContainers).toMatchObject([{ name: 'two' }, { name: 'one' }]);
    const { spec } = pod;
    expect(parseBody(payloadOf(live()))).toMatchObject({ spec });
    expect(Object.keys(parseBody(payloadOf(live())).spec as object)).toEqual(['containers']);
  });

  it.each([
    [
      'another name',
      `${pods}/till/binding`,
      binding({ name: 'n1' }, 'x'),
      'BadRequest',
      'name in URL does not match name in Binding object',
    ],
    ['no target', `${pods}/till/binding`, binding({}), 'Internal', 'target.name: Required value'],
    [
      'no node',
      `${pods}/till/binding`,
      binding({ kind: 'Rack', name: 'n' }),
      'Internal',
      'target.kind: Unsupported value: "Rack"',
    ],
    ['an absent pod', `${pods}/gone/binding`, binding({ name: 'n1' }, 'gone'), 'NotFound', 'pods "gone" not found'],
    [
      'a number for a name',
      '/api/v1/namespaces/shop/bindings',
      { metadata: { name: 5 }, target: { name: 'n1' } },
      'BadRequest',
      'Binding in version "v1" cannot be handled as a Binding: json: cannot unmarshal number',
    ],
    [
      'an integer beyond 2^53 for a kind',
      `${pods}/till/binding`,
      Buffer.from('{"metadata":{"name":"till"},"target":{"kind":9007199254740993,"name":"n1"}}'),
      'BadRequest',
      'cannot unmarshal number into Go struct field',
    ],
    [
      'an integer beyond 2^53 for a version',
      `${pods}/till/binding`,
      Buffer.from('{"apiVersion":9007199254740993,"kind":"Pod","metadata":{"name":"till"}}'),
      'BadRequest',
      'Pod in version 9007199254740993 cannot be handled as a Binding',
    ],
    ['no binding', `${pods}/till/binding`, pod, 'BadRequest', 'Pod in version "v1" cannot be handled as a Binding'],
  ])('with %s is refused and changes nothing', async (_, url, body, code, message) => {
    const before = api.space.storage.revision();
    const refusal = await refusalOf(api.call('POST', url, { body }));
    expect(refusal.code).toBe(code);
    expect(refusal.message).toContain(message);
    expect(api.space.storage.revision()).toBe(before);
  });

  it('is the only way to a node: an update may not name one', async () => {
    const body = { spec: { nodeName: 'n1' } };
    const refusal = await refusalOf(api.call('PATCH', `${pods}/till`, { body, headers: merge }));
    expect(refusal.message).toContain('spec: Forbidden: pod updates may not change fields other than');
  });

  it.each(['binding', 'eviction'])('and %s take a POST only', async (name) => {
    const refusal = await refusalOf(api.get(`${pods}/till/${name}`));
    expect([refusal.code, refusal.message]).toEqual([
      'MethodNotAllowed',
      'the server does not allow this method on the requested resource',
    ]);
  });
});

describe('an eviction', () => {
  const evict = (query = '', more: object = {}) => {
    const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'till' }, ...more };
    return api.call('POST', `${pods}/till/eviction${query}`, { body });
  };
  const status = (url: string, of: object) =>
    api.call('PATCH', `${url}/status`, { body: { status: of }, headers: merge });
  const running = () => status(`${pods}/till`, { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] });
  const budget = async (of: object, spec: object = {}, name = 'keep') => {
    const selector = { matchLabels: { app: 'till' } };
    const body = {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name },
      spec: { minAvailable: 1, selector, ...spec },
    };
    await api.call('POST', budgets, { body });
    await status(`${budgets}/${name}`, of);
  };

  it('deletes the pod, and nothing if it is a dry run', async () => {
    await evict('?dryRun=All');
    await evict('', { deleteOptions: { dryRun: ['All'] } });
    expect(live()).toBeDefined();
    expect((await evict()).status).toBe(201);
    expect(live()).toBeUndefined();
  });

  it('keeps to the preconditions of its options', async () => {
    const refusal = await refusalOf(evict('', { deleteOptions: { preconditions: { uid: 'other' } } }));
    expect(refusal.code).toBe('Conflict');
    expect(live()).toBeDefined();
  });

  it('is refused while the budget needs the pod, and spends the budget otherwise', async () => {
    await running();
    await budget({
      observedGeneration: 1,
      disruptionsAllowed: 0,
      currentHealthy: 1,
      desiredHealthy: 1,
      expectedPods: 1,
    });
    const refusal = await refusalOf(evict());
    expect(refusal).toMatchObject({
      code: 'TooManyRequests',
      message: "Cannot evict pod as it would violate the pod's disruption budget.",
      details: {
        causes: [
          {
            reason: 'DisruptionBudget',
            message: 'The disruption budget keep needs 1 healthy pods and has 1 currently',
          },
        ],
      },
    });
    expect(live()).toBeDefined();
    await status(`${budgets}/keep`, { disruptionsAllowed: 1, currentHealthy: 2 });
    await evict('?dryRun=All');
    expect(await api.get(`${budgets}/keep`)).toMatchObject({ status: { disruptionsAllowed: 1 } });
    await evict();
    expect(await api.get(`${budgets}/keep`)).toMatchObject({
      status: { disruptionsAllowed: 0, disruptedPods: { till: expect.any(String) } },
    });
    expect(live()).toBeUndefined();
  });

  it('waits until somebody has counted the pods of the budget', async () => {
    await running();
    await budget({ disruptionsAllowed: 5 });
    const refusal = await refusalOf(evict());
    expect(refusal.details).toMatchObject({
      retryAfterSeconds: 10,
      causes: [{ message: 'The disruption budget keep is still being processed by the server.' }],
    });
  });

  it('asks no budget about a pod that does not run', async () => {
    await budget({
      observedGeneration: 1,
      disruptionsAllowed: 0,
      currentHealthy: 0,
      desiredHealthy: 1,
      expectedPods: 1,
    });
    expect((await evict()).status).toBe(201);
  });

  it('asks no budget about an unready pod if the budget says so', async () => {
    await status(`${pods}/till`, { phase: 'Running' });
    const of = { observedGeneration: 1, disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 1, expectedPods: 1 };
    await budget(of, { unhealthyPodEvictionPolicy: 'AlwaysAllow' });
    expect((await evict()).status).toBe(201);
  });

  it('is refused if two budgets are about the pod', async () => {
    await running();
    for (const name of ['one', 'two']) await budget({ observedGeneration: 1, disruptionsAllowed: 1 }, {}, name);
    expect((await refusalOf(evict())).message).toContain('This pod has more than one PodDisruptionBudget');
  });
});

describe('a resize', () => {
  const resize = (resources: object, more: object = {}) => {
    const body = {
      metadata: { labels: { other: 'x' } },
      spec: { containers: [{ name: 'main', image: 'other', resources, ...more }] },
    };
    return api.call('PATCH', `${pods}/till/resize`, { body, headers: strategic });
  };

  it('changes resources alone', async () => {
    await resize({ requests: { cpu: '20m' } });
    const [container] = live().spec.containers as object[];
    expect(container).toMatchObject({ image: 'till:1', resources: { requests: { cpu: '20m' }, limits: { cpu: '1' } } });
    expect(live().metadata).toMatchObject({ generation: 2, labels: { app: 'till' } });
  });

  it.each([
    [{ requests: { 'ephemeral-storage': '1Gi' } }, 'spec: Forbidden: only cpu and memory resources are mutable'],
    [{ limits: null }, 'spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed'],
    [{ requests: { cpu: '2' } }, 'must be less than or equal to cpu limit of 1'],
    [
      { requests: { cpu: '1' }, limits: { cpu: '1', memory: '1Gi' } },
      'spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing',
    ],
  ])('to %j is refused as by Kubernetes', async (resources, message) => {
    expect((await refusalOf(resize(resources))).message).toContain(message);
  });

  it('compares amounts, and not their texts', async () => {
    const resized = (cpu: string) => {
      const amounts = { cpu, memory: '1Gi' };
      const body = { spec: { containers: [{ name: 'main', resources: { requests: amounts, limits: amounts } }] } };
      return api.call('PATCH', `${pods}/guaranteed/resize`, { body, headers: strategic });
    };
    const [limits, requests] = [
      { cpu: '1', memory: '1Gi' },
      { cpu: '1000m', memory: '1024Mi' },
    ];
    const containers = [{ ...pod.spec.containers[0], resources: { limits, requests } }];
    await api.call('POST', pods, { body: { ...pod, metadata: { name: 'guaranteed' }, spec: { containers } } });
    expect((await resized('2')).status).toBe(200);
    expect((await refusalOf(resized('0'))).message).toContain('Pod QOS Class may not change');
  });

  it('adds no container', async () => {
    const refusal = await refusalOf(resize({}, { name: 'second' }));
    expect(refusal.message).toContain('spec.containers: Forbidden: containers may not be added or removed on resize');
  });
});

describe('ephemeral containers', () => {
  it('come by their subresource, and stay as they are', async () => {
    const patch = (image: unknown, type = strategic, url = `${pods}/till/ephemeralcontainers`) =>
      api.call('PATCH', url, {
        body: { spec: { ephemeralContainers: image && [{ name: 'shell', image }] } },
        headers: type,
      });
    await patch('shell:1');
    expect((await refusalOf(patch('shell:2'))).message).toContain(
      'existing ephemeral containers "shell" may not be changed',
    );
    expect((await refusalOf(patch(null, merge))).message).toContain(
      'existing ephemeral containers "shell" may not be removed',
    );
    expect((await refusalOf(patch('shell:2', strategic, `${pods}/till`))).code).toBe('Invalid');
  });
});

it.each(['log', 'exec', 'attach', 'portforward', 'proxy'])(
  'pods/%s of an absent pod says that the pod is absent',
  async (name) => {
    expect((await refusalOf(api.get(`${pods}/gone/${name}`))).message).toBe('pods "gone" not found');
    expect((await refusalOf(api.get(`${pods}/till/${name}`))).message).toContain(`pods have no subresource "${name}"`);
  },
);
