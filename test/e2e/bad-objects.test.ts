/** Invalid input at the API, over TLS and HTTP/2: the messages, and that nothing has changed. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../core/object/meta.ts';
import { boards } from '../unit/core/apiserver/crd/support.ts';
import { ApiBench, answerOf } from '../unit/core/apiserver/http/api-bench.ts';
import { everything, refused, refuses } from '../unit/core/apiserver/http/refusals.ts';

const configMaps = '/api/v1/namespaces/shop/configmaps';
const deployments = '/apis/apps/v1/namespaces/shop/deployments';
const boardsPath = '/apis/shop.example.com/v1/namespaces/shop/boards';
const placements = '/apis/edge.banyan.io/v1alpha1/edgeplacements';

const unhandled = (kind: string, version: string, expected: string) =>
  `${kind} in version "${version}" cannot be handled as a ${expected}: `;
const unregistered = (kind: string, version: string) =>
  `no kind "${kind}" is registered for version "${version}" in scheme "pkg/runtime/scheme.go:110"`;

let api: ApiBench;
beforeAll(async () => {
  api = await ApiBench.start();
  api.space.create(
    boards({ type: 'object', required: ['rows'], properties: { rows: { type: 'integer', maximum: 9 } } }),
  );
  api.settle();
  api.space.create(configMap('kept', { data: { text: 'as it was' } }));
  api.space.create(board({ rows: 3 }, 'kept'));
});
afterAll(() => api[Symbol.asyncDispose]());

function configMap(name: string, more: object = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'shop' }, ...more };
}

function board(spec: object, name = 'new'): KubeObject {
  return { apiVersion: 'shop.example.com/v1', kind: 'Board', metadata: { name, namespace: 'shop' }, spec };
}

function placement(spec: object): KubeObject {
  const locationSelectors = [{ matchLabels: { env: 'prod' } }];
  const metadata = { name: 'new' };
  return {
    apiVersion: 'edge.banyan.io/v1alpha1',
    kind: 'EdgePlacement',
    metadata,
    spec: { locationSelectors, ...spec },
  };
}

function deployment(spec: object): KubeObject {
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'new', namespace: 'shop' }, spec };
}

describe('an object that does not belong to its URL is refused', () => {
  const bad = { reason: 'BadRequest', code: 400 };
  refuses(
    () => api,
    [
      {
        what: 'of another kind',
        request: ['POST', configMaps, { body: { ...configMap('new'), kind: 'Secret' } }],
        ...bad,
        message: `${unhandled('Secret', 'v1', 'ConfigMap')}converting (v1.Secret) to (core.ConfigMap): unknown conversion`,
      },
      {
        what: 'of another API group',
        request: ['POST', deployments, { body: { ...deployment({}), apiVersion: 'extensions/v1' } }],
        ...bad,
        message: unhandled('Deployment', 'v1', 'Deployment') + unregistered('Deployment', 'extensions/v1'),
      },
      {
        what: 'of another version',
        request: ['PUT', `${configMaps}/kept`, { body: { ...configMap('kept'), apiVersion: 'v2' } }],
        ...bad,
        message: unhandled('ConfigMap', 'v2', 'ConfigMap') + unregistered('ConfigMap', 'v2'),
      },
      {
        what: 'of a version that is no text',
        request: ['POST', configMaps, { body: { ...configMap('new'), apiVersion: 7 } }],
        ...bad,
        message:
          "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .apiVersion of type string",
      },
      {
        what: 'with the name of another one, in an update',
        request: ['PUT', `${configMaps}/kept`, { body: configMap('other') }],
        ...bad,
        message: 'the name of the object (other) does not match the name on the URL (kept)',
      },
      {
        what: 'with the name of another one, in a server-side apply',
        request: [
          'PATCH',
          `${configMaps}/kept?fieldManager=jo`,
          { body: configMap('other'), type: 'application/apply-patch+yaml' },
        ],
        ...bad,
        message: 'the name of the object (other) does not match the name on the URL (kept)',
      },
      {
        what: 'of another namespace',
        request: ['POST', configMaps, { body: { ...configMap('new'), metadata: { name: 'new', namespace: 'bank' } } }],
        ...bad,
        message: 'the namespace of the provided object does not match the namespace sent on the request',
      },
      {
        what: 'as a list of objects',
        request: ['POST', configMaps, { body: [configMap('new')] }],
        ...bad,
        message: 'the body of the request must be one object with apiVersion and kind',
      },
      {
        what: 'of a cluster-scoped kind in a namespace',
        request: ['POST', '/apis/edge.banyan.io/v1alpha1/namespaces/shop/edgeplacements', { body: placement({}) }],
        reason: 'NotFound',
        code: 404,
        message:
          'the server could not find the requested resource: edgeplacements.edge.banyan.io are in no namespace, the URL says namespaces/shop: leave that out',
      },
      {
        what: 'of a namespaced kind in no namespace',
        request: ['POST', '/api/v1/configmaps', { body: configMap('new') }],
        reason: 'MethodNotAllowed',
        code: 405,
        message:
          'the server does not allow POST across namespaces: configmaps are in namespaces, the URL names none: use namespaces/NAMESPACE/configmaps',
      },
      {
        what: 'of a kind that there is not',
        request: ['POST', '/apis/apps/v1/namespaces/shop/deploymnets', { body: deployment({}) }],
        reason: 'NotFound',
        code: 404,
        message: 'the server could not find the requested resource (post deploymnets.apps)',
      },
      {
        what: 'for a subresource that there is not',
        request: ['PUT', `${configMaps}/kept/status`, { body: configMap('kept', { data: {} }) }],
        reason: 'NotFound',
        code: 404,
        message: 'the server could not find the requested resource: configmaps have no subresource "status"',
      },
    ],
  );
});

describe('a wrong field is named with its value', () => {
  const bad = { reason: 'BadRequest', code: 400 };
  const invalid = { reason: 'Invalid', code: 422 };
  refuses(
    () => api,
    [
      {
        what: 'a name with letters that a name can not have',
        request: ['POST', configMaps, { body: configMap('Not_Good') }],
        ...invalid,
        message:
          /^ConfigMap "Not_Good" is invalid: metadata\.name: Invalid value: "Not_Good": a lowercase RFC 1123 subdomain must consist of .* \(e\.g\. 'example\.com', regex/,
        fields: ['metadata.name'],
      },
      {
        what: 'no name',
        request: ['POST', configMaps, { body: { ...configMap(''), metadata: {} } }],
        ...invalid,
        message: 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
        fields: ['metadata.name'],
      },
      {
        what: 'a name that is a number',
        request: ['POST', configMaps, { body: { ...configMap(''), metadata: { name: 7 } } }],
        ...bad,
        message:
          'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string',
      },
      {
        what: 'metadata that are a list',
        request: ['POST', configMaps, { body: { ...configMap(''), metadata: [] } }],
        ...bad,
        message:
          'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal array into Go struct field ConfigMap.metadata of type v1.ObjectMeta',
      },
      {
        what: 'a text for a number',
        request: ['POST', deployments, { body: deployment({ replicas: 'three' }) }],
        ...bad,
        message:
          'Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32',
      },
      {
        what: 'a number for a text, deep in a list',
        request: [
          'POST',
          deployments,
          { body: deployment({ template: { spec: { containers: [{ name: 'a' }, { name: 'b', image: 5 }] } } }) },
        ],
        ...bad,
        message:
          'Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal number into Go struct field Container.spec.template.spec.containers.image of type string',
      },
      {
        what: 'the schema of a CustomResourceDefinition: a type',
        request: ['POST', boardsPath, { body: board({ rows: 'many' }) }],
        ...invalid,
        message:
          'Board.shop.example.com "new" is invalid: spec.rows: Invalid value: "string": spec.rows in body must be of type integer: "string"',
        fields: ['spec.rows'],
      },
      {
        what: 'the schema of a CustomResourceDefinition: a bound, in an update',
        request: [
          'PATCH',
          `${boardsPath}/kept`,
          { body: { spec: { rows: 12 } }, type: 'application/merge-patch+json' },
        ],
        ...invalid,
        message:
          'Board.shop.example.com "kept" is invalid: spec.rows: Invalid value: 12: spec.rows in body should be less than or equal to 9',
        fields: ['spec.rows'],
      },
      {
        what: 'the schema of a CustomResourceDefinition: a field that is missing',
        request: ['POST', boardsPath, { body: board({}) }],
        ...invalid,
        message: 'Board.shop.example.com "new" is invalid: spec.rows: Required value',
        fields: ['spec.rows'],
      },
      {
        what: 'an unknown field under strict validation',
        request: ['POST', `${deployments}?fieldValidation=Strict`, { body: deployment({ replica: 3 }) }],
        ...bad,
        message:
          'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: unknown field "spec.replica"',
      },
      {
        what: 'unknown fields of a custom resource under strict validation',
        request: [
          'POST',
          `${boardsPath}?fieldValidation=Strict`,
          { body: { ...board({ rows: 1, row: 1 }), spce: {} } },
        ],
        ...bad,
        message:
          'Board in version "v1" cannot be handled as a Board: strict decoding error: unknown field "spec.row", unknown field "spce"',
      },
      {
        what: 'an unknown kind of validation',
        request: ['POST', `${configMaps}?fieldValidation=Stric`, { body: configMap('new') }],
        ...invalid,
        message:
          'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Stric": supported values: "", "Ignore", "Strict", "Warn"',
        fields: ['fieldValidation'],
      },
      {
        what: 'an unknown kind of dry run',
        request: ['POST', `${configMaps}?dryRun=Some`, { body: configMap('new') }],
        ...invalid,
        message: 'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: "Some": supported values: "All"',
        fields: ['dryRun'],
      },
      {
        what: 'an unknown propagation policy',
        request: ['DELETE', `${configMaps}/kept`, { body: { kind: 'DeleteOptions', propagationPolicy: 'Later' } }],
        ...invalid,
        message:
          'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Later": supported values: "Foreground", "Background", "Orphan"',
        fields: ['propagationPolicy'],
      },
      {
        what: 'preconditions of a deletion that are no object',
        request: ['DELETE', `${configMaps}/kept`, { body: { preconditions: 'uid' } }],
        ...bad,
        message: 'preconditions: must be an object with the texts uid and resourceVersion, not "uid"',
      },
    ],
  );
});

describe('an EdgePlacement is refused', () => {
  const invalid = { reason: 'Invalid', code: 422 };
  const prefix = 'EdgePlacement.edge.banyan.io "new" is invalid: ';
  const post = (spec: object) => ['POST', placements, { body: placement(spec) }] as const;
  const unchecked =
    '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';
  refuses(
    () => api,
    [
      {
        what: 'with no location selector',
        request: post({ locationSelectors: [] }),
        ...invalid,
        message: `${prefix}spec.locationSelectors: Required value: at least one label selector is needed unless spec.locationExpression is given; matchLabels: {} selects every Location`,
        fields: ['spec.locationSelectors'],
      },
      {
        what: 'with an operator that no selector has',
        request: post({
          locationSelectors: [{ matchExpressions: [{ key: 'env', operator: 'Is', values: ['prod'] }] }],
        }),
        ...invalid,
        message: `${prefix}[spec.locationSelectors[0].matchExpressions[0].operator: Unsupported value: "Is": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", ${unchecked}]`,
        fields: ['spec.locationSelectors[0].matchExpressions[0].operator', '<nil>'],
      },
      {
        what: 'with a resource that the space has not',
        request: post({ downsync: [{ apiGroup: 'apps', resources: ['deploymnets'] }] }),
        ...invalid,
        message: `${prefix}spec.downsync[0].resources[0]: Invalid value: "deploymnets": this space has no resource of this plural name in API group "apps"; did you mean "deployments"? A kind of a CustomResourceDefinition is known once its definition has been applied: apply that first`,
        fields: ['spec.downsync[0].resources[0]'],
      },
      {
        what: 'with a limit below 1',
        request: post({ associated: [{ resources: ['pods'], limit: 0 }] }),
        ...invalid,
        message: `${prefix}spec.associated[0].limit: Invalid value: 0: spec.associated[0].limit in body should be greater than or equal to 1`,
        fields: ['spec.associated[0].limit'],
      },
      {
        what: 'with rules that are no list',
        request: post({ downsync: 'everything' }),
        ...invalid,
        message: `${prefix}[spec.downsync: Invalid value: "string": spec.downsync in body must be of type array: "string", ${unchecked}]`,
        fields: ['spec.downsync', '<nil>'],
      },
      {
        what: 'with labels that are no text',
        request: post({ locationSelectors: [{ matchLabels: { env: 7 } }] }),
        ...invalid,
        message: `${prefix}[spec.locationSelectors[0].matchLabels.env: Invalid value: "integer": spec.locationSelectors[0].matchLabels.env in body must be of type string: "integer", ${unchecked}]`,
        fields: ['spec.locationSelectors[0].matchLabels.env', '<nil>'],
      },
      {
        what: 'without a spec',
        request: ['POST', placements, { body: { ...placement({}), spec: undefined } }],
        ...invalid,
        message: `${prefix}[spec: Required value, ${unchecked}]`,
        fields: ['spec', '<nil>'],
      },
    ],
  );
});

describe('a write that was overtaken by another write', () => {
  it('is a conflict that says what to do, for an update', async () => {
    const old = api.space.storage.get(api.space.keyOf(configMap('kept')))!.revision - 1;
    const body = configMap('kept', { data: { text: 'mine' } });
    body.metadata.resourceVersion = String(old);
    expect(await refused(api, 'PUT', `${configMaps}/kept`, { body })).toMatchObject({
      reason: 'Conflict',
      code: 409,
      message:
        'Operation cannot be fulfilled on configmaps "kept": the object has been modified; please apply your changes to the latest version and try again',
      details: { name: 'kept', kind: 'configmaps' },
    });
  });

  it('is detected for a custom resource: an update must name its resourceVersion', async () => {
    expect(await refused(api, 'PUT', `${boardsPath}/kept`, { body: board({ rows: 1 }, 'kept') })).toMatchObject({
      reason: 'Invalid',
      code: 422,
      message:
        'boards.shop.example.com "kept" is invalid: metadata.resourceVersion: Invalid value: 0x0: must be specified for an update',
    });
  });

  it('is a conflict, for a deletion with a precondition', async () => {
    const body = { preconditions: { resourceVersion: '1' } };
    const { reason, code, message } = await refused(api, 'DELETE', `${configMaps}/kept`, { body });
    expect({ reason, code }).toEqual({ reason: 'Conflict', code: 409 });
    expect(message).toContain('ResourceVersion in precondition: 1, ResourceVersion in object meta: ');
  });

  it('is a conflict, for a new object', async () => {
    expect(await refused(api, 'POST', configMaps, { body: configMap('kept') })).toMatchObject({
      reason: 'AlreadyExists',
      code: 409,
      message: 'configmaps "kept" already exists',
    });
  });
});

describe('a body of more than 1.5 MiB', () => {
  it('is refused with its size, while another object on the same connection is accepted', async () => {
    const big = Buffer.from(JSON.stringify(configMap('big', { data: { text: 'x'.repeat(1_600_000) } })));
    const stream = api.open('POST', configMaps, { 'content-type': 'application/json' });
    const tooLarge = answerOf(stream);
    stream.write(big.subarray(0, 1_000_000));
    const small = await api.call('POST', configMaps, { body: configMap('small') });
    expect(small.status).toBe(201);
    const before = everything(api);
    stream.end(big.subarray(1_000_000));
    const answer = await tooLarge;
    expect(answer.json()).toMatchObject({
      kind: 'Status',
      status: 'Failure',
      reason: 'RequestEntityTooLarge',
      code: 413,
      message: `Request entity too large: limit is 1572864, got ${big.length} bytes: split the object into smaller ones`,
    });
    expect(answer.status).toBe(413);
    expect(everything(api)).toEqual(before);
  });

  it('is one byte larger than the limit', async () => {
    const sized = (length: number) => {
      const frame = JSON.stringify({ propagationPolicy: 'Later', pad: '' }).length;
      return JSON.stringify({ propagationPolicy: 'Later', pad: 'x'.repeat(length - frame) });
    };
    const path = `${configMaps}/kept`;
    expect(await refused(api, 'DELETE', path, { body: sized(1_572_864) })).toMatchObject({ code: 422 });
    expect(await refused(api, 'DELETE', path, { body: sized(1_572_865) })).toMatchObject({
      code: 413,
      message: expect.stringContaining('got 1572865 bytes'),
    });
  });

  it('cannot be reached by patches either: an object that grows beyond the limit is refused', async () => {
    const container = { name: 'c', image: 'c:1', args: ['x'.repeat(900_000)] };
    const labels = { app: 'growing' };
    const template = { metadata: { labels }, spec: { containers: [container] } };
    const spec = { selector: { matchLabels: labels }, template };
    const body = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'growing' }, spec };
    expect((await api.call('POST', deployments, { body })).status).toBe(201);
    const more = [{ op: 'add', path: '/spec/template/spec/containers/0/args/-', value: 'x'.repeat(900_000) }];
    const sent = { body: more, type: 'application/json-patch+json' };
    const { reason, code, message } = await refused(api, 'PATCH', `${deployments}/growing`, sent);
    expect({ reason, code }).toEqual({ reason: 'RequestEntityTooLarge', code: 413 });
    expect(message).toMatch(
      /^Request entity too large: deployments.apps "growing" has 18\d{5} bytes, the limit is 1572864 bytes \(1\.5 MiB\)$/,
    );
  });
});
