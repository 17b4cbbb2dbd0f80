import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRequestBody } from '../../../../../core/apiserver/http/body.ts';
import { decodeProtobuf } from '../../../../../core/apiserver/protobuf/decode.ts';
import { cloneWithoutNulls } from '../../../../../core/object/json-value.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { HandlerBench } from '../http/handler-bench.ts';
import { bytes, entry, envelope, int } from './wire-writer.ts';

/** Our objects with the bytes and the JSON that client-go 0.34.1 makes of them. */
const cases = readFileSync(new URL('./client-go.cases.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as { protobuf: string; json: KubeObject });
const bodies = cases.map(({ protobuf }) => Buffer.from(protobuf, 'base64'));

const headers = { 'content-type': 'application/vnd.kubernetes.protobuf' };

function refusal(body: Uint8Array): BanyanError {
  try {
    decodeProtobuf(Buffer.from(body));
  } catch (error) {
    if (error instanceof BanyanError) return error;
    throw error;
  }
  throw new Error('was not refused');
}

it('has integers of 64 bits, also within JSON that it carries', () => {
  const generation = bytes(1, bytes(1, 'a'), int(7, 9_223_372_036_854_775_807n));
  expect(decodeProtobuf(envelope('v1', 'ConfigMap', generation))).toMatchObject({
    metadata: { generation: 9_223_372_036_854_775_807n },
  });
  const revision = (json: string) =>
    envelope('apps/v1', 'ControllerRevision', bytes(1, bytes(1, 'a')), bytes(2, bytes(1, json)));
  expect(decodeProtobuf(revision('{"spec":{"id":9007199254740993}}'))).toMatchObject({
    data: { spec: { id: 9_007_199_254_740_993n } },
  });
  expect(refusal(revision('{"spec":{"id":9223372036854775809}}')).message).toMatch(
    /^spec\.id: the integer 9223372036854775809 has more than 64 bits/,
  );
});

it('may be a CustomResourceDefinition, whose schema has schemas or something else in some places', () => {
  const type = (name: string) => bytes(5, name);
  const schema = bytes(
    1,
    type('object'),
    entry(29, 'list', Buffer.concat([type('array'), bytes(24, bytes(1, type('string')))])),
    entry(29, 'tuple', Buffer.concat([bytes(24, bytes(2, type('string')), bytes(2, type('boolean')))])),
    entry(29, 'open', bytes(30, int(1, 1n))),
    entry(29, 'closed', bytes(30, int(1, 0n))),
    entry(29, 'map', bytes(30, int(1, 1n), bytes(2, type('integer')))),
    entry(29, 'default', bytes(8, bytes(1, '{"a":[1]}'))),
    bytes(32, bytes(1, 'needs'), bytes(2, bytes(2, 'a'), bytes(2, 'b'))),
  );
  const version = bytes(7, bytes(1, 'v1'), bytes(4, schema));
  const body = envelope('apiextensions.k8s.io/v1', 'CustomResourceDefinition', bytes(2, version));
  const { spec } = decodeProtobuf(Buffer.from(body)) as { spec: { versions: { schema: object }[] } };
  expect(spec.versions[0]!.schema).toEqual({
    openAPIV3Schema: {
      type: 'object',
      dependencies: { needs: ['a', 'b'] },
      properties: {
        list: { type: 'array', items: { type: 'string' } },
        tuple: { items: [{ type: 'string' }, { type: 'boolean' }] },
        open: { additionalProperties: true },
        closed: { additionalProperties: false },
        map: { additionalProperties: { type: 'integer' } },
        default: { default: { a: [1] } },
      },
    },
  });
});

describe('a body that client-go sends', () => {
  it.each(cases.map(({ json, protobuf }) => [json.kind, json, protobuf] as const))(
    'is the JSON that it would have sent: %s',
    (_, json, protobuf) => {
      // Go shows missing lists as null; here they are left out.
      expect(decodeProtobuf(Buffer.from(protobuf, 'base64'))).toEqual(cloneWithoutNulls(json));
    },
  );

  it('is accepted as the body of a create, an update and a deletion', async () => {
    const api = new HandlerBench();
    const body = bodies[cases.findIndex(({ json }) => json.kind === 'ConfigMap')]!;
    const path = '/api/v1/namespaces/shop/configmaps';
    expect((await api.call('POST', path, { body, headers })).status).toBe(201);
    const changed = envelope('v1', 'ConfigMap', bytes(1, bytes(1, 'greeting')), entry(2, 'a', 'z'));
    expect((await api.call('PUT', `${path}/greeting`, { body: changed, headers })).status).toBe(200);
    expect(await api.get(`${path}/greeting`)).toMatchObject({ data: { a: 'z' } });
    const options = envelope('v1', 'DeleteOptions', bytes(4, 'Foreground'));
    const deleted = await api.call('DELETE', `${path}/greeting`, { body: options, headers });
    expect(deleted.json()).toMatchObject({ metadata: { finalizers: ['foregroundDeletion'] } });
  });

  it('is checked against the URL like any other body', async () => {
    const api = new HandlerBench();
    const body = envelope('v1', 'Secret', bytes(1, bytes(1, 'a')));
    await expect(api.call('POST', '/api/v1/namespaces/shop/configmaps', { body, headers })).rejects.toThrow(
      'converting (v1.Secret) to (core.ConfigMap): unknown conversion',
    );
  });
});

describe('an object written by hand', () => {
  it('ConfigMap: texts, bytes and maps', () => {
    const metadata = bytes(1, bytes(1, 'a'), bytes(3, 'shop'), entry(11, 'tier', 'web'));
    const body = envelope(
      'v1',
      'ConfigMap',
      metadata,
      entry(2, 'one', '1'),
      entry(2, 'two', ''),
      entry(3, 'raw', Buffer.of(0, 255)),
      int(4, true),
    );
    expect(decodeProtobuf(body)).toEqual({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', namespace: 'shop', labels: { tier: 'web' } },
      data: { one: '1', two: '' },
      binaryData: { raw: 'AP8=' },
      immutable: true,
    });
  });

  it('Deployment: messages in lists, numbers or texts, and zeros that mean something', () => {
    const probe = bytes(10, bytes(1, bytes(2, bytes(1, '/live'), bytes(2, int(1, 0), int(2, 8080)))), int(3, 0));
    const container = bytes(2, bytes(1, 'main'), bytes(2, 'nginx'), probe);
    const template = bytes(3, bytes(2, container));
    const strategy = bytes(4, bytes(1, 'RollingUpdate'), bytes(2, bytes(1, int(1, 1), int(2, 0), bytes(3, '25%'))));
    const spec = bytes(2, int(1, 0), bytes(2, entry(1, 'app', 'a')), template, strategy, int(5, 0));
    expect(decodeProtobuf(envelope('apps/v1', 'Deployment', bytes(1, bytes(1, 'a')), spec))).toEqual({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'a' },
      spec: {
        replicas: 0,
        selector: { matchLabels: { app: 'a' } },
        template: {
          spec: {
            containers: [{ name: 'main', image: 'nginx', livenessProbe: { httpGet: { path: '/live', port: 8080 } } }],
          },
        },
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%' } },
      },
    });
  });

  it('omits the fields that Go omits from JSON, and keeps those that Go keeps', () => {
    // Service: spec.ports[0] with the empty name (omitempty) and port 0 (always present).
    const port = bytes(1, bytes(1, ''), bytes(2, ''), int(3, 0));
    expect(decodeProtobuf(envelope('v1', 'Service', bytes(2, port)))).toMatchObject({ spec: { ports: [{ port: 0 }] } });
  });

  it('has negative numbers, which take ten bytes', () => {
    const spec = bytes(2, int(7, -1));
    expect(decodeProtobuf(envelope('batch/v1', 'Job', spec))).toMatchObject({ spec: { backoffLimit: -1 } });
  });

  it('has times to the second and micro times, and none for the zero time of Go', () => {
    const seconds = BigInt(Date.parse('2026-01-02T03:04:05Z') / 1000);
    const zero = int(1, -62_135_596_800n);
    const metadata = bytes(1, bytes(8, int(1, seconds), int(2, 999)), bytes(9, zero));
    const spec = bytes(2, bytes(3, int(1, seconds), int(2, 123_456_789)), bytes(4, int(1, -1), int(2, 0)));
    expect(decodeProtobuf(envelope('coordination.k8s.io/v1', 'Lease', metadata, spec))).toMatchObject({
      metadata: { creationTimestamp: '2026-01-02T03:04:05Z' },
      spec: { acquireTime: '2026-01-02T03:04:05.123456Z', renewTime: '1969-12-31T23:59:59.000000Z' },
    });
    expect(decodeProtobuf(envelope('v1', 'ConfigMap', metadata))).not.toHaveProperty('metadata.deletionTimestamp');
  });

  it('may have unknown fields, which are ignored: a newer client knows more', () => {
    const body = envelope(
      'v1',
      'ConfigMap',
      bytes(1, bytes(1, 'a'), bytes(999, 'new')),
      int(998, 7),
      entry(2, 'k', 'v'),
    );
    expect(decodeProtobuf(body)).toEqual({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a' },
      data: { k: 'v' },
    });
  });

  it('may have keys that are names of JavaScript', () => {
    const data = (decodeProtobuf(envelope('v1', 'ConfigMap', entry(2, '__proto__', 'x'))) as KubeObject).data;
    expect(Object.entries(data as object)).toEqual([['__proto__', 'x']]);
  });

  it('may have as many items as a body may have values, in time proportional to their number', () => {
    const items = 49_000;
    const body = envelope('v1', 'ConfigMap', bytes(1, Buffer.concat(Array(items).fill(bytes(14, '')))));
    const { metadata } = decodeProtobuf(body) as KubeObject;
    expect(metadata.finalizers).toHaveLength(items);
  });
});

describe('a body that is refused', () => {
  it.each([
    [
      'without the magic',
      Buffer.from('{"kind":"ConfigMap"}'),
      'Kubernetes\' protobuf begins with "k8s" and a zero byte',
    ],
    [
      'without an object',
      Buffer.concat([Buffer.from('k8s\0'), bytes(1, bytes(1, 'v1'))]),
      'the protobuf body has no object',
    ],
    [
      'of a kind that has no protobuf',
      envelope('edge.banyan.io/v1alpha1', 'EdgePlacement'),
      'no kind "EdgePlacement" of "edge.banyan.io/v1alpha1" is known in protobuf: send it as JSON',
    ],
    [
      'of a version that there is not',
      envelope('apps/v1beta1', 'Deployment'),
      'no kind "Deployment" of "apps/v1beta1" is known in protobuf: send it as JSON',
    ],
    [
      'with something that is no JSON in a raw extension',
      envelope('apps/v1', 'ControllerRevision', bytes(2, bytes(1, '{'))),
      'the protobuf body embeds something that is no JSON',
    ],
    [
      'that ends too early',
      envelope('v1', 'ConfigMap', bytes(1, Buffer.of(0x0a, 0x7f))),
      'ends in the middle of a field',
    ],
  ])('%s', (_, body, message) => {
    const error = refusal(body);
    expect(error.code).toBe('BadRequest');
    expect(error.message).toContain(message);
  });

  it('cut off anywhere is refused, or it was whole already', () => {
    const body = bodies[1]!;
    const whole = decodeProtobuf(body);
    let refused = 0;
    for (let length = 0; length < body.length; length++) {
      try {
        expect(decodeProtobuf(body.subarray(0, length))).toEqual(whole);
      } catch (error) {
        if (!(error instanceof BanyanError)) throw error;
        expect(error.code).toBe('BadRequest');
        refused += 1;
      }
    }
    // Only the two empty fields after the object may be missing.
    expect(refused).toBeGreaterThanOrEqual(body.length - 4);
  });

  it('of any bytes whatever gives an object or BadRequest, and nothing else', async () => {
    const broken = fc
      .tuple(
        fc.constantFrom(...bodies),
        fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 6 }),
      )
      .map(([body, changes]) => {
        const copy = Buffer.from(body);
        for (const [at, value] of changes) copy[4 + (at % (copy.length - 4))] = value;
        return copy;
      });
    await fc.assert(
      fc.asyncProperty(broken, async (body) => {
        try {
          expect(
            await parseRequestBody(body, 'protobuf', decodeProtobuf, () => Promise.reject(new Error('no YAML'))),
          ).toBeTypeOf('object');
        } catch (error) {
          if (!(error instanceof BanyanError)) throw error;
          expect(error.code).toBe('BadRequest');
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
