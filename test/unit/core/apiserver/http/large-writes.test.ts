import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { BodyThread } from '../../../../../core/apiserver/http/body-thread.ts';
import type { WriteThread } from '../../../../../core/apiserver/http/requests.ts';
import type { SpaceType } from '../../../../../core/apiserver/space.ts';
import { systemClock } from '../../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { HandlerBench, type Sent } from './handler-bench.ts';

const bodies = new BodyThread(systemClock);
afterAll(() => bodies.end());

const configMaps = '/api/v1/namespaces/shop/configmaps';
const deployments = '/apis/apps/v1/namespaces/shop/deployments';
const widgets = '/apis/example.com/v1/namespaces/shop/widgets';
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const placements = '/apis/edge.banyan.io/v1alpha1/edgeplacements';
const filler = 'x'.repeat(70_000);
const apply = { 'content-type': 'application/apply-patch+yaml' };

const configMap = (name: string, data: object = { filler }, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...more },
  data,
});

const deployment = (container: object, name = 'till') => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: 'till' } },
    template: {
      metadata: { labels: { app: 'till' }, annotations: { filler } },
      spec: { containers: [{ name: 'till', image: 'till', ...container }] },
    },
  },
});

const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'till', annotations: { filler } },
  spec: { containers: [{ name: 'till', image: 'till' }] },
};

const service = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, annotations: { filler } },
  spec: { type: 'NodePort', selector: { app: 'till' }, ports: [{ port: 80 }] },
});

const job = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'count', annotations: { filler } },
  spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'count', image: 'count' }] } } },
};

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  text: { type: 'string' },
                  size: { type: 'integer', maximum: 9 },
                  color: { type: 'string', default: 'red' },
                },
              },
            },
          },
        },
      },
    ],
  },
};

const longDefinition = {
  ...definition,
  metadata: { name: 'gadgets.example.com', annotations: { filler } },
  spec: { ...definition.spec, names: { plural: 'gadgets', kind: 'Gadget' } },
};

const [version] = definition.spec.versions;
const severalVersions = {
  ...definition,
  metadata: { name: 'gauges.example.com' },
  spec: {
    ...definition.spec,
    names: { plural: 'gauges', kind: 'Gauge' },
    versions: [version, { ...version, name: 'v2', storage: false }],
  },
};

const gauge = (apiVersion: string, spec: object) => ({ apiVersion, kind: 'Gauge', metadata: { name: 'g' }, spec });

const placement = (resources: readonly string[]) => ({
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'EdgePlacement',
  metadata: { name: 'tills', annotations: { filler } },
  spec: { locationSelectors: [{ matchLabels: { env: 'prod' } }], downsync: [{ apiGroup: '*', resources }] },
});

const event = {
  apiVersion: 'events.k8s.io/v1',
  kind: 'Event',
  metadata: { name: 'e', annotations: { filler } },
  eventTime: '2026-01-01T00:00:00.000000Z',
  reportingController: 'example.com/till',
  reportingInstance: 'till-1',
  action: 'Counted',
  reason: 'Counted',
  type: 'Normal',
};

const widget = (spec: object) => ({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w' }, spec });

/** A space with objects of every kind of write. `thread`: where its long bodies go. */
async function bench(type: SpaceType = 'Workload'): Promise<HandlerBench> {
  const made = new HandlerBench({ type });
  await made.call('POST', definitions, { body: definition });
  made.settle();
  await made.call('POST', configMaps, { body: configMap('old', { key: 'value' }) });
  await made.call('POST', configMaps, { body: configMap('long') });
  await made.call('POST', configMaps, { body: configMap('ending', { filler }, { finalizers: ['example.com/wait'] }) });
  await made.call('DELETE', `${configMaps}/ending`);
  await made.call('POST', deployments, { body: deployment({}, 'long') });
  await made.call('POST', definitions, { body: severalVersions });
  made.settle();
  await made.call('PATCH', `${configMaps}/applied?fieldManager=one`, {
    body: configMap('applied', { key: 'one' }),
    headers: apply,
  });
  return made;
}

/** Counts the writes that the other thread did to the end, or refused. */
function counting(keepsBody = false): WriteThread & { count: number; before?(): void } {
  return {
    count: 0,
    async write(question, bytes) {
      this.count++;
      const written = await bodies.write({ flow: 'a', bytes }, question, () => false);
      if (written === 'elsewhere') this.count--;
      this.before?.();
      return written;
    },
    keepsBody: () => keepsBody,
    encode: () => expect.unreachable(),
  };
}

/** Status, headers, and the body without times and ids; or the error. */
async function outcome(made: HandlerBench, method: string, url: string, sent: Sent): Promise<unknown> {
  try {
    const received = await made.call(method, url, sent);
    return [received.status, received.headers, plain(received.json<object>())];
  } catch (error) {
    if (!(error instanceof BanyanError)) throw error;
    return [error.code, error.message, error.details];
  }
}

function plain(value: object): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, field) => (['uid', 'time', 'creationTimestamp'].includes(key) ? '' : field)),
  );
}

type Row = readonly [title: string, method: string, url: string, sent: Sent];

const made: readonly Row[] = [
  ['a new object', 'POST', configMaps, { body: configMap('new') }],
  ['an unknown field', 'POST', configMaps, { body: { ...configMap('new'), wrong: 1 } }],
  ['a name that exists', 'POST', configMaps, { body: configMap('old') }],
  ['a namespace that does not exist', 'POST', configMaps.replace('shop', 'none'), { body: configMap('new') }],
  ['a dry run of a new object', 'POST', `${configMaps}?dryRun=All`, { body: configMap('new') }],
  ['a new state', 'PUT', `${configMaps}/old`, { body: configMap('old') }],
  ['a dry run of a new state', 'PUT', `${configMaps}/old?dryRun=All`, { body: configMap('old') }],
  [
    'an old resourceVersion',
    'PUT',
    `${configMaps}/old`,
    { body: configMap('old', { filler }, { resourceVersion: '1' }) },
  ],
  ['an object that does not exist', 'PUT', `${configMaps}/none`, { body: configMap('none') }],
  [
    'a merge patch',
    'PATCH',
    `${configMaps}/old`,
    { body: { data: { filler } }, headers: { 'content-type': 'application/merge-patch+json' } },
  ],
  [
    'a JSON patch that copies',
    'PATCH',
    `${configMaps}/old`,
    {
      body: Buffer.from(JSON.stringify([{ op: 'copy', from: '/data/key', path: '/data/other' }])),
      headers: { 'content-type': 'application/json-patch+json' },
    },
  ],
  [
    'server-side apply of a new object',
    'PATCH',
    `${configMaps}/new?fieldManager=two`,
    { body: configMap('new'), headers: apply },
  ],
  [
    'server-side apply with a conflict',
    'PATCH',
    `${configMaps}/applied?fieldManager=two`,
    { body: configMap('applied', { key: 'two', filler }), headers: apply },
  ],
  [
    'server-side apply in YAML',
    'PATCH',
    `${configMaps}/applied?fieldManager=two&force=true`,
    {
      body: Buffer.from(
        `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied}\ndata: {key: two, filler: ${filler}}\n`,
      ),
      headers: apply,
    },
  ],
  ['a custom object', 'POST', widgets, { body: widget({ text: filler }) }],
  ['a custom object with a wrong value', 'POST', widgets, { body: widget({ text: filler, size: 10 }) }],
  ['a Deployment, with the fields that the space fills in', 'POST', deployments, { body: deployment({}) }],
  ['a body that is no JSON', 'POST', configMaps, { body: Buffer.from(`{"data":{"a":"${filler}"`) }],
  ['a body of another kind', 'POST', configMaps, { body: { ...configMap('new'), kind: 'Secret' } }],
  ['a definition', 'POST', definitions, { body: longDefinition }],
  [
    'a definition with a mistake',
    'POST',
    definitions,
    { body: { ...longDefinition, spec: { ...longDefinition.spec, scope: 'Wrong' } } },
  ],
  ['a placement', 'POST', placements, { body: placement(['configmaps', 'widgets']) }],
  ['a placement of a resource that does not exist', 'POST', placements, { body: placement(['wigdets']) }],
  [
    'a custom object in a version in which it is not stored',
    'POST',
    '/apis/example.com/v2/namespaces/shop/gauges',
    { body: gauge('example.com/v2', { text: filler }) },
  ],
  [
    'an object that is stored in another form',
    'POST',
    '/apis/events.k8s.io/v1/namespaces/shop/events',
    { body: event },
  ],
  [
    'a short patch of a long object',
    'PATCH',
    `${configMaps}/long`,
    { body: { data: { key: 'value' } }, headers: { 'content-type': 'application/merge-patch+json' } },
  ],
  [
    'the end of a deleted object',
    'PATCH',
    `${configMaps}/ending`,
    { body: { metadata: { finalizers: null } }, headers: { 'content-type': 'application/merge-patch+json' } },
  ],
  [
    'a dry run of the end of a deleted object',
    'PATCH',
    `${configMaps}/ending?dryRun=All`,
    { body: { metadata: { finalizers: null } }, headers: { 'content-type': 'application/merge-patch+json' } },
  ],
  [
    'the scale of a long object',
    'PATCH',
    `${deployments}/long/scale`,
    { body: { spec: { replicas: 3 } }, headers: { 'content-type': 'application/merge-patch+json' } },
  ],
  [
    'the status of a long object',
    'PATCH',
    `${deployments}/long/status`,
    { body: { status: { replicas: 3 } }, headers: { 'content-type': 'application/merge-patch+json' } },
  ],
  ['an unknown field, strict', 'POST', `${deployments}?fieldValidation=Strict`, { body: deployment({ wrong: 1 }) }],
];

describe('a write with a long body', () => {
  let here: HandlerBench;
  let there: HandlerBench;
  beforeEach(async () => {
    [here, there] = [await bench(), await bench()];
  });

  it.each(made)('has the same outcome in the other thread: %s', async (_title, method, url, sent) => {
    const thread = counting();
    const expected = await outcome(here, method, url, sent);
    expect(await outcome(there, method, url, { ...sent, thread })).toEqual(expected);
    expect(thread.count).toBe(1);
    const state = async (of: HandlerBench) => plain(await of.get<object>(`${configMaps}`));
    expect(await state(there)).toEqual(await state(here));
  });

  it.each(['Cluster', 'System'] as const)(
    'has the same outcome in the other thread where a space fills in other fields, or none: %s',
    async (type) => {
      const [space, other] = [await bench(type), await bench(type)];
      const thread = counting();
      for (const [url, body] of [
        [deployments, deployment({})],
        ['/api/v1/namespaces/shop/pods', pod],
        ['/apis/batch/v1/namespaces/shop/jobs', job],
        ['/api/v1/namespaces/shop/services', service('a')],
        ['/api/v1/namespaces/shop/services', service('b')],
      ] as const)
        expect(await outcome(other, 'POST', url, { body, thread })).toEqual(
          await outcome(space, 'POST', url, { body }),
        );
      expect(thread.count).toBe(5);
    },
  );

  it('is done by the other thread although the audit log records the body', async () => {
    const thread = counting(true);
    const parsed: unknown[] = [];
    const body = configMap('new');
    await there.call('POST', configMaps, { body, thread, parsed: (value) => parsed.push(value) });
    expect([thread.count, parsed]).toEqual([1, [body]]);
  });

  it('is done to the end by the other thread if no check of the space may change the object', async () => {
    const thread = counting();
    await there.call('POST', configMaps, { body: configMap('new'), thread });
    await there.call('POST', widgets, { body: widget({ text: filler }), thread });
    await there.call('POST', deployments, { body: deployment({}), thread });
    await there.call('POST', configMaps, { body: configMap('short', {}), thread });
    await there.call('POST', definitions, { body: longDefinition, thread });
    await there.call('POST', placements, { body: placement(['widgets']), thread });
    expect(thread.count).toBe(5);
  });

  it('is done again when somebody else changes the object meanwhile, and keeps both changes', async () => {
    const thread = counting();
    let changes = 0;
    thread.before = () => {
      if (changes++ > 0) return;
      there.space.patch(
        { group: '', resource: 'configmaps', namespace: 'shop', name: 'old' },
        { type: 'merge', patch: { data: { meanwhile: 'changed' } } },
      );
    };
    const headers = { 'content-type': 'application/merge-patch+json' };
    await there.call('PATCH', `${configMaps}/old`, { body: { data: { filler } }, headers, thread });
    const { data } = await there.get<{ data: object }>(`${configMaps}/old`);
    expect([changes, Object.keys(data)]).toEqual([2, ['filler', 'key', 'meanwhile']]);
  });

  it('happens in this thread after five changes by others, so that it ends', async () => {
    const thread = counting();
    let changes = 0;
    thread.before = () => {
      const patch = { data: { meanwhile: String(changes++) } };
      there.space.patch(
        { group: '', resource: 'configmaps', namespace: 'shop', name: 'old' },
        { type: 'merge', patch },
      );
    };
    const headers = { 'content-type': 'application/merge-patch+json' };
    await there.call('PATCH', `${configMaps}/old`, { body: { data: { filler } }, headers, thread });
    const { data } = await there.get<{ data: object }>(`${configMaps}/old`);
    expect([changes, Object.keys(data)]).toEqual([5, ['filler', 'key', 'meanwhile']]);
  });
});
