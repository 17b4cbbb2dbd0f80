/**
 * The requests of hostile clients: each attack is a request that costs its sender little and, without bounds, its server much. Paths are those of a
 * Kubernetes API, so that the same attack goes to a node's space and to a kube-apiserver.
 */
import { gzipSync } from 'node:zlib';

export interface HostileRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT';
  readonly path: string;
  readonly type?: string;
  readonly body?: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Attack {
  readonly name: string;
  /** The number of the request: for requests that need names of their own. */
  request(n: number): HostileRequest;
  /** False: the client does not read the answers. */
  readonly isRead?: boolean;
}

const configMaps = '/api/v1/namespaces/hostile/configmaps';
const deployments = '/apis/apps/v1/namespaces/hostile/deployments';
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
/** A little less than the most that etcd takes in a request. */
const bytes = 1_400_000;
const yaml = 'application/yaml';

const post = (path: string, text: string | Buffer, type = 'application/json'): HostileRequest => ({
  method: 'POST',
  path,
  type,
  body: Buffer.from(text),
});
const patch = (path: string, text: string, type: string): HostileRequest => ({
  method: 'PATCH',
  path,
  type,
  body: Buffer.from(text),
});
const always = (name: string, request: HostileRequest, more: Partial<Attack> = {}): Attack => ({
  name,
  request: () => request,
  ...more,
});
const magic = Buffer.from('k8s\0');
const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);

/** The object that patches work on: 2,000 keys. */
export const patched = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'patched', namespace: 'hostile' },
  data: Object.fromEntries(numbers(2_000).map((i) => [`key-${i}`, 'x'])),
};

export const attacks: readonly Attack[] = [
  always('JSON, 1.4 MB of [', post(configMaps, `{"data":${'['.repeat(bytes)}`)),
  always(
    'JSON, 1.4 MB of fields',
    post(
      configMaps,
      `{"metadata":{"name":"a"},"data":{${numbers(100_000)
        .map((i) => `"k${i}":""`)
        .join()}}}`,
    ),
  ),
  always('JSON, 45,000 keys', post(configMaps, configMapOf(45_000))),
  always(
    'JSON, 45,000 unknown fields, strict',
    post(
      `${deployments}?fieldValidation=Strict`,
      deploymentWith(
        numbers(45_000)
          .map((i) => `"f${i}":{}`)
          .join(),
      ),
    ),
  ),
  always('JSON, 20 MB', post(configMaps, `{"data":{"a":"${'x'.repeat(20_000_000)}"}}`)),
  always('YAML, 1.4 MB of [', post(configMaps, '['.repeat(bytes), yaml)),
  always('YAML, 1.4 MB of "- "', post(configMaps, '- '.repeat(bytes / 2), yaml)),
  always('YAML, aliases', post(configMaps, bomb(), yaml)),
  always(
    'YAML, 1 MB of keys',
    post(
      configMaps,
      `kind: ConfigMap\ndata:\n${numbers(70_000)
        .map((i) => `  key-${i}: x`)
        .join('\n')}\n`,
      yaml,
    ),
  ),
  always('YAML, 4 KB of quotes', post(configMaps, `a: ${"'".repeat(4_000)}`, yaml)),
  always(
    'apply, YAML, 20,000 keys',
    patch(
      `${configMaps}/applied?fieldManager=a&force=true`,
      `apiVersion: v1\nkind: ConfigMap\ndata:\n${numbers(20_000)
        .map((i) => `  key-${i}: x`)
        .join('\n')}\n`,
      'application/apply-patch+yaml',
    ),
  ),
  always('protobuf, lengths beyond the body', post(configMaps, lyingProtobuf(), 'application/vnd.kubernetes.protobuf')),
  always(
    'protobuf, 1.4 MB of empty messages',
    post(configMaps, emptyProtobuf(), 'application/vnd.kubernetes.protobuf'),
  ),
  always('gzip, 200 MB in 200 KB', {
    ...post(configMaps, gzipSync(Buffer.alloc(200_000_000, 0x20))),
    headers: { 'content-encoding': 'gzip' },
  }),
  always(
    'JSON patch, 10,000 tests',
    patch(
      `${configMaps}/patched`,
      JSON.stringify(numbers(10_000).map((i) => ({ op: 'test', path: `/data/key-${i % 2_000}`, value: 'x' }))),
      'application/json-patch+json',
    ),
  ),
  always(
    'JSON patch, copies that double',
    patch(`${configMaps}/patched`, JSON.stringify(doublings()), 'application/json-patch+json'),
  ),
  always(
    'JSON patch, 10,000 moves in a list',
    patch(
      `${deployments}/wide`,
      JSON.stringify(
        numbers(10_000).map(() => ({
          op: 'move',
          from: '/spec/template/spec/containers/0',
          path: '/spec/template/spec/containers/50',
        })),
      ),
      'application/json-patch+json',
    ),
  ),
  always(
    'strategic patch, 10,000 list entries',
    patch(
      `${deployments}/wide`,
      JSON.stringify({
        spec: {
          template: {
            spec: { containers: [{ name: 'c0', env: numbers(10_000).map((i) => ({ name: `E${i}`, value: 'x' })) }] },
          },
        },
      }),
      'application/strategic-merge-patch+json',
    ),
  ),
  always('list, selector of 12 KB', {
    method: 'GET',
    path: `${configMaps}?labelSelector=${encodeURIComponent(
      `a notin (${numbers(1_200)
        .map((i) => `value-${i}`)
        .join()})`,
    )}`,
  }),
  always('list, 1,000 requirements', {
    method: 'GET',
    path: `${configMaps}?labelSelector=${encodeURIComponent(
      numbers(1_000)
        .map((i) => `k${i}!=v`)
        .join(),
    )}`,
  }),
  always('lists that nobody reads', { method: 'GET', path: configMaps }, { isRead: false }),
  always('lists, all at once', { method: 'GET', path: configMaps }),
  always('tables, all at once', {
    method: 'GET',
    path: configMaps,
    headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
  }),
  { name: 'definition, 1 MB of schema', request: (n) => post(definitions, definition(n, wideSchema())) },
  { name: 'definition, rules without end', request: (n) => post(definitions, definition(n, costlySchema())) },
  { name: 'definition, 2,000 patterns', request: (n) => post(definitions, definition(n, patternSchema())) },
  always(
    'custom object, pattern (a+)+$',
    post(
      '/apis/hostile.example.com/v1/namespaces/hostile/victims',
      JSON.stringify({
        apiVersion: 'hostile.example.com/v1',
        kind: 'Victim',
        metadata: { generateName: 'v-' },
        spec: { slow: `${'a'.repeat(50_000)}!` },
      }),
    ),
  ),
  always(
    'custom object, 40,000 items',
    post(
      '/apis/hostile.example.com/v1/namespaces/hostile/victims?dryRun=All',
      JSON.stringify({
        apiVersion: 'hostile.example.com/v1',
        kind: 'Victim',
        metadata: { generateName: 'v-' },
        spec: { items: numbers(40_000).map((i) => `i${i}`) },
      }),
    ),
  ),
  {
    name: 'writes as fast as they go',
    request: (n) =>
      patch(
        `${configMaps}/small-${n % 50}`,
        JSON.stringify({ data: { n: String(n) } }),
        'application/merge-patch+json',
      ),
  },
  always('requests without an identity', {
    method: 'GET',
    path: configMaps,
    headers: { authorization: `Bearer ${'x'.repeat(8_000)}` },
  }),
  always('path of 16 KB', { method: 'GET', path: `${configMaps}/${'%2e%2e%2f'.repeat(1_800)}` }),
];

/** The custom resource that two attacks write. It must be there before. */
export const victims = definitionObject('victims', 'Victim', {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        slow: { type: 'string', pattern: '^(a+)+$' },
        items: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
      },
    },
  },
});

/** The Deployment with 60 containers that patches work on. */
export const wide = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'wide', namespace: 'hostile' },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: 'wide' } },
    template: {
      metadata: { labels: { app: 'wide' } },
      spec: { containers: numbers(60).map((i) => ({ name: `c${i}`, image: 'nginx' })) },
    },
  },
};

function configMapOf(keys: number): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { generateName: 'keys-' },
    data: Object.fromEntries(numbers(keys).map((i) => [`key-${i}`, ''])),
  });
}

function deploymentWith(fields: string): string {
  return `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i",${fields}}]}}}}`;
}

/** Nine levels of nine aliases each. */
function bomb(): string {
  const levels = numbers(9).map((i) => `l${i + 1}: &l${i + 1} [${Array(9).fill(`*l${i}`).join(', ')}]`);
  return `l0: &l0 [lol]\n${levels.join('\n')}\n`;
}

/** The envelope `runtime.Unknown` around this message: https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding */
function envelope(message: Buffer): Buffer {
  const type = Buffer.concat([field(1, Buffer.from('v1')), field(2, Buffer.from('ConfigMap'))]);
  return Buffer.concat([magic, field(1, type), field(2, message)]);
}

function lyingProtobuf(): Buffer {
  return envelope(Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x07, 0x12, 0x34]));
}

/** `data` entries (field 2 of a ConfigMap), each with no key and no value. */
function emptyProtobuf(): Buffer {
  return envelope(Buffer.concat(numbers(bytes / 2).map(() => Buffer.from([0x12, 0x00]))));
}

function field(number: number, content: Buffer): Buffer {
  const length: number[] = [];
  for (let rest = content.length; ; rest >>>= 7) {
    length.push(rest > 0x7f ? (rest & 0x7f) | 0x80 : rest);
    if (rest <= 0x7f) break;
  }
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), content]);
}

function doublings(): object[] {
  const first = { op: 'add', path: '/metadata/annotations', value: { a: 'x'.repeat(1_000) } };
  return [first, ...numbers(40).map((i) => ({ op: 'copy', from: '/metadata', path: `/metadata/x${i}` }))];
}

function definition(n: number, schema: object): string {
  const plural = `h${n}s`;
  return JSON.stringify(definitionObject(plural, `H${n}`, schema));
}

function definitionObject(plural: string, kind: string, schema: object): object {
  const group = 'hostile.example.com';
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  };
}

function wideSchema(): object {
  const properties = numbers(15_000).map((i) => [`property-${i}`, { type: 'string', maxLength: 10 }]);
  return { type: 'object', properties: Object.fromEntries(properties) };
}

/** Rules over lists without a bound in lists without a bound: the estimated cost is over Kubernetes' limit. */
function costlySchema(): object {
  const inner = { type: 'array', items: { type: 'array', items: { type: 'array', items: { type: 'string' } } } };
  const rule = 'self.all(a, a.all(b, b.all(c, self.all(d, d.all(e, e.all(f, f != c || f.matches("(x+x+)+y")))))))';
  const validations = numbers(100).map((i) => ({ rule: `${rule} || ${i} < 0` }));
  return { type: 'object', properties: { spec: { ...inner, 'x-kubernetes-validations': validations } } };
}

function patternSchema(): object {
  const properties = numbers(2_000).map((i) => [
    `p${i}`,
    { type: 'string', pattern: `^([a-z0-9]{1,63}\\.){1,${(i % 900) + 1}}$` },
  ]);
  return { type: 'object', properties: Object.fromEntries(properties) };
}
