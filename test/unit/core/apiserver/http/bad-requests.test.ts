/** Requests that are invalid before the server reads an object. Tests of invalid objects are in test/e2e/bad-objects.test.ts. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { board, boards } from '../crd/support.ts';
import { ApiBench } from './api-bench.ts';
import { refused, refuses } from './refusals.ts';

const configMaps = '/api/v1/namespaces/shop/configmaps';
const deployments = '/apis/apps/v1/namespaces/shop/deployments';
const boardsPath = '/apis/shop.example.com/v1/namespaces/shop/boards';
const protobuf = 'application/vnd.kubernetes.protobuf';

let api: ApiBench;
beforeAll(async () => {
  api = await ApiBench.start();
  api.space.create(boards({ type: 'object', properties: { rows: { type: 'integer' } } }));
  api.settle();
  api.space.create(configMap('kept', { data: { text: 'as it was' } }));
  api.space.create(board({ rows: 3 }));
});
afterAll(() => api[Symbol.asyncDispose]());

function configMap(name: string, more: object = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'shop' }, ...more };
}

function wrongType(kind: string, given: string, field: string, type: string): string {
  const why = `json: cannot unmarshal ${given} into Go struct field ${field} of type ${type}`;
  return `${kind} in version "v1" cannot be handled as a ${kind}: ${why}`;
}

describe('a body that does not match its content type is refused', () => {
  const bad = { reason: 'BadRequest', code: 400 };
  const magic = Buffer.from('k8s\0');
  refuses(
    () => api,
    [
      {
        what: 'JSON that ends too early',
        request: ['POST', configMaps, { body: '{"kind": "ConfigMap",' }],
        ...bad,
        message: /^the object provided is unrecognized \(must be valid json\): .*position 21/,
      },
      {
        what: 'YAML with a sequence that does not end',
        request: ['POST', configMaps, { body: 'kind: ConfigMap\ndata: [b\n', type: 'application/yaml' }],
        ...bad,
        message: /^error converting YAML to JSON: .* must .* end with a \] at line /,
      },
      {
        what: 'YAML with a key twice',
        request: ['POST', configMaps, { body: 'kind: ConfigMap\nkind: Secret\n', type: 'application/yaml' }],
        ...bad,
        message:
          /^error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n {2}line 2: key "kind" already set in map$/,
      },
      {
        what: 'JSON with a field twice, when it is to be strict',
        request: [
          'POST',
          `${deployments}?fieldValidation=Strict`,
          { body: '{"metadata":{"name":"web"},"spec":{"template":{"spec":{"containers":[{"name":"a","name":"b"}]}}}}' },
        ],
        ...bad,
        message:
          'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: duplicate field "spec.template.spec.containers[0].name"',
      },
      {
        what: 'a name that is an integer beyond the integers of a double',
        request: ['POST', configMaps, { body: '{"metadata":{"name":9007199254740993}}' }],
        ...bad,
        message: /json: cannot unmarshal number into Go struct field ObjectMeta\.metadata\.name of type string$/,
      },
      {
        what: 'a label that is an integer beyond the integers of a double',
        request: ['POST', configMaps, { body: '{"metadata":{"name":"a","labels":{"n":-9223372036854775808}}}' }],
        ...bad,
        message: /json: cannot unmarshal number into Go struct field ObjectMeta\.metadata\.labels of type string$/,
      },
      {
        what: 'a patch with a field twice, when it is to be strict',
        request: [
          'PATCH',
          `${configMaps}/kept?fieldValidation=Strict`,
          { body: '{"data":{"text":"a","text":"b"}}', type: 'application/merge-patch+json' },
        ],
        reason: 'Invalid',
        code: 422,
        message: /^ "" is invalid: patch: Invalid value: ".*: strict decoding error: duplicate field "data.text"$/,
        fields: ['patch'],
      },
      {
        what: 'YAML that would unfold to billions of items',
        request: ['POST', configMaps, { body: bomb(), type: 'application/yaml' }],
        ...bad,
        message: /^the object provided is unrecognized \(must be valid yaml\): Excessive alias count/,
      },
      {
        what: 'JSON that is nested deeper than anybody could read',
        request: ['POST', boardsPath, { body: `{"spec":${'['.repeat(200_000)}${']'.repeat(200_000)}}` }],
        ...bad,
        message: /^spec\.0\.0\.0\.0\.\.\.: it is nested more than 500 levels deep: make it flatter/,
      },
      {
        what: 'JSON with an integer of more than 64 bits',
        request: [
          'POST',
          boardsPath,
          { body: '{"a":"1234567890123456","spec":{"b":[1,{"id": 9223372036854775809}]}}' },
        ],
        ...bad,
        message:
          'spec.b.1.id: the integer 9223372036854775809 has more than 64 bits, it would become 9223372036854776000: write it as a string',
      },
      {
        what: 'a patch with one',
        request: [
          'PATCH',
          `${boardsPath}/b`,
          { body: '{"spec":{"rows":-9223372036854775809}}', type: 'application/merge-patch+json' },
        ],
        ...bad,
        message:
          /^spec\.rows: the integer -9223372036854775809 has more than 64 bits, it would become -922337203685477/,
      },
      {
        what: 'a number that is too large for any',
        request: ['POST', boardsPath, { body: '{"spec":{"rows":[1,-1e400]}}' }],
        ...bad,
        message: 'spec.rows.1: JSON can not hold the number -Infinity: write it as a string',
      },
      {
        what: 'YAML with what is no number',
        request: ['POST', boardsPath, { body: 'spec: {rows: .nan}\n', type: 'application/yaml' }],
        ...bad,
        message: 'spec.rows: JSON can not hold the number NaN: write it as a string',
      },
      {
        what: 'YAML with one',
        request: ['POST', boardsPath, { body: 'spec:\n  ids: [7, 18446744073709551615]\n', type: 'application/yaml' }],
        ...bad,
        message:
          /^spec\.ids\.1: the integer 18446744073709551615 has more than 64 bits, it would become 1844674407370955/,
      },
      {
        what: 'YAML that is nested as deep',
        request: [
          'POST',
          boardsPath,
          { body: `spec: ${'['.repeat(600)}${']'.repeat(600)}\n`, type: 'application/yaml' },
        ],
        ...bad,
        message: 'the body is nested more than 500 levels deep: make it flatter, or write it as a string',
      },
      {
        what: 'protobuf without its first four bytes',
        request: ['POST', configMaps, { body: '{}', type: protobuf }],
        ...bad,
        message: 'the body is not what its content type says: Kubernetes\' protobuf begins with "k8s" and a zero byte',
      },
      {
        what: 'protobuf that ends in the middle of a field',
        request: ['POST', configMaps, { body: Buffer.concat([magic, Buffer.of(0x0a, 0x20, 0x0a)]), type: protobuf }],
        ...bad,
        message: 'the protobuf body ends in the middle of a field',
      },
      {
        what: 'nothing',
        request: ['POST', configMaps, { body: '' }],
        ...bad,
        message: 'the request has no body',
      },
      {
        what: 'a merge patch that is no object',
        request: ['PATCH', `${configMaps}/kept`, { body: 'null', type: 'application/merge-patch+json' }],
        ...bad,
        message: 'Invalid JSON Patch',
      },
      {
        what: 'a JSON patch that is no list',
        request: ['PATCH', `${configMaps}/kept`, { body: {}, type: 'application/json-patch+json' }],
        ...bad,
        message: 'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
      },
      {
        what: 'a deletion with another object than its options',
        request: ['DELETE', `${configMaps}/kept`, { body: configMap('kept') }],
        ...bad,
        message: 'the body of a DELETE must be empty or one object of kind DeleteOptions',
      },
      {
        what: 'a question about oneself that is null',
        request: ['POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { body: 'null' }],
        ...bad,
        message: 'the body of the request must be one object of kind SelfSubjectAccessReview',
      },
      {
        what: 'a question about a token that is no text',
        request: ['POST', '/apis/authentication.k8s.io/v1/tokenreviews', { body: { spec: { token: 5 } } }],
        ...bad,
        message: wrongType('TokenReview', 'number', 'TokenReviewSpec.spec.token', 'string'),
      },
      {
        what: 'a question about a user with a group that is no text',
        request: ['POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', { body: { spec: { groups: [5] } } }],
        ...bad,
        message: wrongType('SubjectAccessReview', 'number', 'SubjectAccessReviewSpec.spec.groups', 'string'),
      },
      {
        what: 'a question about no object',
        request: [
          'POST',
          '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
          { body: { spec: { resourceAttributes: [] } } },
        ],
        ...bad,
        message: /^SelfSubjectAccessReview in version "v1" cannot be handled as a SelfSubjectAccessReview: json: /,
      },
      {
        what: 'a review of another kind',
        request: ['POST', '/apis/authentication.k8s.io/v1/tokenreviews', { body: configMap('new') }],
        ...bad,
        message: /^ConfigMap in version "v1" cannot be handled as a TokenReview: /,
      },
    ],
  );

  const unsupported = { reason: 'UnsupportedMediaType', code: 415 };
  refuses(
    () => api,
    [
      {
        what: 'an unknown content type',
        request: ['POST', configMaps, { body: 'kind = ConfigMap', type: 'application/toml' }],
        ...unsupported,
        message:
          'the body of the request was in an unknown format (application/toml) - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf, application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml',
      },
      {
        what: 'a patch where an object belongs',
        request: ['POST', configMaps, { body: configMap('new'), type: 'application/merge-patch+json' }],
        ...unsupported,
        message: 'a POST takes an object, not a patch',
      },
      {
        what: 'an object where a patch belongs',
        request: ['PATCH', `${configMaps}/kept`, { body: configMap('kept', { data: {} }) }],
        ...unsupported,
        message:
          'a patch is application/json-patch+json, merge-patch+json, strategic-merge-patch+json or apply-patch+yaml',
      },
      {
        what: 'a strategic merge patch for a custom resource',
        request: [
          'PATCH',
          `${boardsPath}/b`,
          { body: { spec: { rows: 1 } }, type: 'application/strategic-merge-patch+json' },
        ],
        ...unsupported,
        message:
          'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
      },
    ],
  );
});

/** Nine levels of nine references each. */
function bomb(): string {
  const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x]'];
  for (let level = 1; level < 9; level++) {
    lines.push(
      `a${level}: &a${level} [${Array(9)
        .fill(`*a${level - 1}`)
        .join(', ')}]`,
    );
  }
  return lines.join('\n');
}

describe('an invalid URL or parameter is refused', () => {
  const bad = { reason: 'BadRequest', code: 400 };
  refuses(
    () => api,
    [
      {
        what: 'a bad escape in a path',
        request: ['GET', '/api/v1/namespaces/%zz/configmaps'],
        ...bad,
        message: 'the URL is malformed at "%zz": a "%" must be followed by two hexadecimal digits of UTF-8',
      },
      {
        what: 'a bad escape in the name of a space',
        request: ['GET', '/spaces/%zz/api'],
        ...bad,
        message: 'the URL is malformed at "%zz": a "%" must be followed by two hexadecimal digits of UTF-8',
      },
      {
        what: 'a limit that is no number',
        request: ['GET', `${configMaps}?limit=many`],
        ...bad,
        message: 'limit: Invalid value: "many": must be an integer',
      },
      {
        what: 'a limit that is no number, in a watch',
        request: ['GET', `${configMaps}?watch=true&limit=many`],
        ...bad,
        message: 'limit: Invalid value: "many": must be an integer',
      },
      {
        what: 'a time that is no number, in a list',
        request: ['GET', `${configMaps}?timeoutSeconds=many`],
        ...bad,
        message: 'timeoutSeconds: Invalid value: "many": must be an integer',
      },
      {
        what: 'a Table with unknown content',
        request: ['GET', `${configMaps}?includeObject=All`],
        ...bad,
        message: /^Unable to convert to Table as requested: includeObject: Invalid value: "All": must be 'Metadata'/,
      },
      {
        what: 'force, of a patch that is no apply',
        request: ['PATCH', `${configMaps}/x?force=true`, { body: '{}', type: 'application/merge-patch+json' }],
        reason: 'Invalid',
        code: 422,
        message: 'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch',
      },
      {
        what: 'a manager with a name that is too long',
        request: ['POST', `${configMaps}?fieldManager=${'m'.repeat(129)}`, { body: '{"metadata":{"name":"x"}}' }],
        reason: 'Invalid',
        code: 422,
        message: 'CreateOptions.meta.k8s.io "" is invalid: fieldManager: Too long: may not be more than 128 bytes',
      },
      {
        what: 'an applied object without a kind',
        request: ['PATCH', `${configMaps}/x?fieldManager=a`, { body: '{}', type: 'application/apply-patch+yaml' }],
        ...bad,
        message: 'invalid object type: /, Kind=',
      },
      {
        what: 'a deletion with two policies',
        request: [
          'DELETE',
          `${configMaps}/x`,
          { body: '{"orphanDependents":false,"propagationPolicy":"Background"}', type: 'application/json' },
        ],
        reason: 'Invalid',
        code: 422,
        message:
          /propagationPolicy: Invalid value: "Background": orphanDependents and deletionPropagation cannot be both set$/,
      },
      {
        what: 'a revision that is no number, in a list',
        request: ['GET', `${configMaps}?resourceVersion=new`],
        ...bad,
        message:
          'resourceVersion: Invalid value: "new": must be an integer, as in metadata.resourceVersion of an answer',
      },
      {
        what: 'a revision that is no number, in a watch',
        request: ['GET', `${configMaps}?watch=true&resourceVersion=new`],
        ...bad,
        message:
          'resourceVersion: Invalid value: "new": must be an integer, as in metadata.resourceVersion of an answer',
      },
      {
        what: 'a continue that nobody gave',
        request: ['GET', `${configMaps}?limit=1&continue=x`],
        ...bad,
        message: 'continue key is not valid: start a new list without the continue parameter',
      },
      {
        what: 'a label selector that does not parse',
        request: ['GET', `${configMaps}?labelSelector=a%20in%20(b`],
        ...bad,
        message: "unable to parse requirement: found '', expected: ',' or ')'",
      },
      {
        what: 'a field selector for a field that can not be selected',
        request: ['GET', `${configMaps}?fieldSelector=data.text%3Dx`],
        ...bad,
        message: '"data.text" is not a known field selector: only "metadata.name", "metadata.namespace"',
      },
      {
        what: 'the deletion of a subresource',
        request: ['DELETE', `${deployments}/x/status`],
        reason: 'MethodNotAllowed',
        code: 405,
        message: 'the server does not allow this method on the requested resource',
      },
      {
        what: 'the deletion of the objects of all namespaces',
        request: ['DELETE', '/api/v1/configmaps'],
        reason: 'MethodNotAllowed',
        code: 405,
        message:
          'the server does not allow DELETE across namespaces: configmaps are in namespaces, the URL names none: use namespaces/NAMESPACE/configmaps',
      },
      {
        what: 'a space that there is not',
        request: ['GET', '/spaces/nowhere/api'],
        reason: 'NotFound',
        code: 404,
        message: 'there is nothing at /spaces/nowhere',
      },
    ],
  );
});

describe('a client without a certificate', () => {
  it('is refused everything but health', async () => {
    await using anonymous = await ApiBench.start({ certificate: false });
    const answer = await anonymous.call('GET', configMaps);
    expect(answer.status).toBe(401);
    expect(answer.json()).toMatchObject({ kind: 'Status', reason: 'Unauthorized', code: 401 });
    expect((await anonymous.call('GET', '/readyz')).text).toBe('ok');
  });
});

it('a patch that makes the object too deep is refused, and changes nothing', async () => {
  await using own = await ApiBench.start();
  own.space.create(boards({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }));
  own.settle();
  const nested = (levels: number): object => JSON.parse(`${'{"a":'.repeat(levels)}{}${'}'.repeat(levels)}`) as object;
  own.space.create(board(nested(300)));
  const patch = [{ op: 'add', path: `/spec${'/a'.repeat(300)}`, value: nested(300) }];
  const sent = { body: JSON.stringify(patch), type: 'application/json-patch+json' };
  const { code, message } = await refused(own, 'PATCH', `${boardsPath}/b`, sent);
  expect([code, message]).toEqual([400, expect.stringContaining('spec.a.a.a.a...: it is nested more than 500 levels')]);
});
