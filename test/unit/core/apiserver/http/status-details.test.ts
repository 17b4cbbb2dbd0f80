/** The `details` of failures, each as kube-apiserver 1.34 gives them for the same request. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiBench, type Sent, type Status } from './api-bench.ts';

const configMaps = '/api/v1/namespaces/shop/configmaps';
const deployments = '/apis/apps/v1/namespaces/shop/deployments';
const configMap = (more: object = {}) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', ...more } });

let api: ApiBench;
beforeAll(async () => {
  api = await ApiBench.start();
  api.space.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } });
  const data = { k: '1' };
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'shop' }, data };
  api.space.apply(object, { fieldManager: 'one' });
});
afterAll(() => api[Symbol.asyncDispose]());

interface Failure {
  readonly what: string;
  readonly request: readonly [method: string, path: string, sent?: Sent];
  readonly reason: string;
  readonly details: object;
}

const merge = 'application/merge-patch+json';
const nope = { name: 'nope', group: 'apps', kind: 'deployments' };
const a = { name: 'a', kind: 'configmaps' };

const failures: Failure[] = [
  { what: 'an object that is not there', request: ['GET', `${deployments}/nope`], reason: 'NotFound', details: nope },
  { what: 'its scale', request: ['GET', `${deployments}/nope/scale`], reason: 'NotFound', details: nope },
  { what: 'its deletion', request: ['DELETE', `${deployments}/nope`], reason: 'NotFound', details: nope },
  {
    what: 'its patch',
    request: ['PATCH', `${deployments}/nope`, { body: {}, type: merge }],
    reason: 'NotFound',
    details: nope,
  },
  // From the missing name, kubectl debug concludes that the server has no such subresource.
  {
    what: 'a subresource that there is not',
    request: ['PATCH', '/api/v1/namespaces/shop/pods/x/nothing', { body: {}, type: merge }],
    reason: 'NotFound',
    details: {},
  },
  // kube-apiserver answers these two without a Status. The details are those that client-go makes of its answer.
  {
    what: 'a resource that there is not',
    request: ['GET', '/api/v1/nothings'],
    reason: 'NotFound',
    details: { kind: 'nothings' },
  },
  {
    what: 'a version that there is not',
    request: ['GET', '/apis/apps/v7/deployments'],
    reason: 'NotFound',
    details: { group: 'apps', kind: 'deployments' },
  },
  { what: 'a path that is nothing', request: ['POST', '/nowhere', { body: {} }], reason: 'NotFound', details: {} },
  {
    what: 'a namespace that is not there',
    request: ['POST', '/api/v1/namespaces/nonexist/configmaps', { body: configMap() }],
    reason: 'NotFound',
    details: { name: 'nonexist', kind: 'namespaces' },
  },
  {
    what: 'a name that is taken',
    request: ['POST', configMaps, { body: configMap() }],
    reason: 'AlreadyExists',
    details: a,
  },
  {
    what: 'an update of an older version',
    request: ['PUT', `${configMaps}/a`, { body: configMap({ resourceVersion: '1' }) }],
    reason: 'Conflict',
    details: a,
  },
  {
    what: 'an apply of what somebody else owns',
    request: [
      'PATCH',
      `${configMaps}/a?fieldManager=two`,
      { body: { ...configMap(), data: { k: '2' } }, type: 'application/apply-patch+yaml' },
    ],
    reason: 'Conflict',
    details: { causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.data.k' }] },
  },
  {
    what: 'no name',
    request: ['POST', configMaps, { body: { metadata: {} } }],
    reason: 'Invalid',
    details: {
      kind: 'ConfigMap',
      causes: [
        {
          reason: 'FieldValueRequired',
          message: 'Required value: name or generateName is required',
          field: 'metadata.name',
        },
      ],
    },
  },
  {
    what: 'the deletion of a namespace that stays',
    request: ['DELETE', '/api/v1/namespaces/default'],
    reason: 'Forbidden',
    details: { name: 'default', kind: 'namespaces' },
  },
  {
    what: 'a method that the resource does not have',
    request: ['PUT', configMaps, { body: {} }],
    reason: 'MethodNotAllowed',
    details: {},
  },
  {
    what: 'a revision that nobody has seen yet',
    request: ['GET', `${configMaps}?resourceVersion=99999999999`],
    reason: 'Timeout',
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  },
  {
    what: 'a parameter of a list',
    request: ['GET', `${configMaps}?sendInitialEvents=true`],
    reason: 'Invalid',
    details: {
      group: 'meta.k8s.io',
      kind: 'ListOptions',
      causes: [
        {
          reason: 'FieldValueForbidden',
          message: 'Forbidden: sendInitialEvents is forbidden for list',
          field: 'sendInitialEvents',
        },
      ],
    },
  },
  ...(
    [
      ['POST', 'CreateOptions', configMaps],
      ['PUT', 'UpdateOptions', `${configMaps}/a`],
      ['PATCH', 'PatchOptions', `${configMaps}/a`],
      ['DELETE', 'DeleteOptions', `${configMaps}/a`],
    ] as const
  ).map(([method, kind, path]) => ({
    what: `a parameter of a ${method}`,
    request: [method, `${path}?dryRun=Foo`, { body: {}, ...(method === 'PATCH' ? { type: merge } : {}) }] as const,
    reason: 'Invalid',
    details: {
      group: 'meta.k8s.io',
      kind,
      causes: [
        {
          reason: 'FieldValueNotSupported',
          message: 'Unsupported value: "Foo": supported values: "All"',
          field: 'dryRun',
        },
      ],
    },
  })),
  {
    what: 'an apply by nobody',
    request: ['PATCH', `${configMaps}/a`, { body: configMap(), type: 'application/apply-patch+yaml' }],
    reason: 'Invalid',
    details: {
      group: 'meta.k8s.io',
      kind: 'PatchOptions',
      causes: [
        {
          reason: 'FieldValueRequired',
          message: 'Required value: is required for apply patch',
          field: 'fieldManager',
        },
      ],
    },
  },
  {
    what: 'a test of a JSON patch that fails',
    request: [
      'PATCH',
      `${configMaps}/a`,
      { body: [{ op: 'test', path: '/data/x', value: '1' }], type: 'application/json-patch+json' },
    ],
    reason: 'Invalid',
    details: {},
  },
  { what: 'a body that is none', request: ['POST', configMaps, { body: '{' }], reason: 'BadRequest', details: {} },
  {
    what: 'a body that is too large',
    request: ['POST', configMaps, { body: `{"data":{"a":"${'x'.repeat(2_000_000)}"}}` }],
    reason: 'RequestEntityTooLarge',
    details: {},
  },
];

describe('the details of a failure are those of kube-apiserver', () => {
  it.each(failures.map((one) => [one.what, one] as const))('%s', async (_, { request, reason, details }) => {
    const status = (await api.call(...request)).json<Status>();
    expect(status).toMatchObject({ kind: 'Status', reason });
    expect(status.details).toEqual(details);
  });
});

it('an unknown user gets no details', async () => {
  await using anonymous = await ApiBench.start({ certificate: false });
  const status = (await anonymous.call('GET', configMaps)).json<Status>();
  expect([status.reason, status.details]).toEqual(['Unauthorized', {}]);
});
