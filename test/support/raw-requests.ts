/** Raw requests to an API server: paths, verbs, forms of answers, options and bodies, right and wrong ones, and what of the answers clients compare. */
import type { CallerAnswer } from './api-caller.ts';

export interface RawRequest {
  readonly method: string;
  /** The path with the query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly sent?: string;
}

/** A resource of the discovery of a server. */
export interface Resource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

const namespace = 'raw';
const table = 'application/json;as=Table;g=meta.k8s.io;v=v1';
const metadataOf = (kind: string) => `application/json;as=${kind};g=meta.k8s.io;v=v1`;
const json = (value: unknown) => JSON.stringify(value);

/** The requests about a resource with an object that does not exist, and to its list. */
export function requestsOf({ apiVersion, kind, name, namespaced, verbs }: Resource): RawRequest[] {
  const base = `${apiVersion.includes('/') ? '/apis' : '/api'}/${apiVersion}`;
  const list = `${base}${namespaced ? `/namespaces/${namespace}` : ''}/${name}`;
  const absent = `${list}/absent`;
  const body = json({ apiVersion, kind, metadata: { name: 'absent' } });
  const none = `${list}?fieldSelector=metadata.name%3Dabsent`;
  const patch = (type: string) => ({ 'content-type': `application/${type}` });
  const requests: (RawRequest & { readonly verb: string })[] = [
    { verb: 'list', method: 'GET', path: none },
    { verb: 'list', method: 'GET', path: none, headers: { accept: table } },
    { verb: 'list', method: 'GET', path: none, headers: { accept: metadataOf('PartialObjectMetadataList') } },
    { verb: 'list', method: 'GET', path: `${list}?fieldSelector=spec.nothing%3Da` },
    { verb: 'list', method: 'GET', path: `${none}&limit=1&continue=e30` },
    { verb: 'get', method: 'GET', path: absent },
    { verb: 'get', method: 'GET', path: absent, headers: { accept: table } },
    { verb: 'get', method: 'GET', path: `${absent}/nothing` },
    { verb: 'delete', method: 'DELETE', path: absent },
    { verb: 'patch', method: 'PATCH', path: absent, headers: patch('merge-patch+json'), sent: '{}' },
    { verb: 'patch', method: 'PATCH', path: absent, headers: patch('json-patch+json'), sent: '[]' },
    {
      verb: 'create',
      method: 'POST',
      path: list,
      sent: json({ apiVersion, kind: 'Nothing', metadata: { name: 'a' } }),
    },
    { verb: 'create', method: 'POST', path: list, sent: json({ apiVersion: 'v9', kind, metadata: { name: 'a' } }) },
    {
      verb: 'create',
      method: 'POST',
      path: list,
      sent: json({ apiVersion, kind, metadata: { name: 'Bad_' }, none: 1 }),
    },
    { verb: 'update', method: 'PUT', path: absent, sent: json({ apiVersion, kind, metadata: { name: 'other' } }) },
    { verb: 'update', method: 'PUT', path: `${list}/other`, sent: body },
    { verb: 'get', method: 'POST', path: absent, sent: body },
    { verb: 'list', method: 'PUT', path: list, sent: body },
  ];
  return requests.flatMap(({ verb, ...request }) => (verbs.includes(verb) ? [request] : []));
}

const maps = `/api/v1/namespaces/${namespace}/configmaps`;
const one = `${maps}/one`;
const map = (more: object = {}) => json({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one' }, ...more });
const get = (path: string, headers: Record<string, string> = {}): RawRequest => ({ method: 'GET', path, headers });
const post = (sent: string, query = '', headers: Record<string, string> = {}): RawRequest => ({
  method: 'POST',
  path: `${maps}${query}`,
  sent,
  headers,
});
const put = (sent: string, query = ''): RawRequest => ({ method: 'PUT', path: `${one}${query}`, sent });
const patched = (type: string, sent: string, query = ''): RawRequest => ({
  method: 'PATCH',
  path: `${one}${query}`,
  sent,
  headers: { 'content-type': type },
});
const remove = (path: string, sent?: string): RawRequest => ({ method: 'DELETE', path, ...(sent ? { sent } : {}) });
const merge = 'application/merge-patch+json';
const strategic = 'application/strategic-merge-patch+json';
const jsonPatch = 'application/json-patch+json';
const applied = 'application/apply-patch+yaml';

const selectors = [
  ...['a', '!a', 'a=b', 'a==b', 'a!=b', 'a in (b,c)', 'a notin (b)', 'a in ()', 'a>1', 'a<2', 'a,b', 'a in (b),!c'],
  ...[
    'a b',
    'a in (',
    'a in b',
    '=a',
    'a=',
    'a=b=c',
    ',',
    'a,',
    'A_/b=c',
    'a=-',
    'a>b',
    'a in (b c)',
    '!',
    '(',
    '!a=b',
  ],
];
const fieldSelectors = [
  'metadata.name=one',
  'metadata.name!=one',
  'metadata.namespace=raw',
  'a',
  'a=b',
  'metadata.uid=a',
  '',
];
const options = [
  ...['limit=0', 'limit=-1', 'limit=x', 'limit=1', 'limit=99999999999999999999', 'continue=x', 'continue=e30'],
  ...['resourceVersion=0', 'resourceVersion=x', 'resourceVersion=-1', 'resourceVersionMatch=Exact'],
  ...['resourceVersionMatch=Nothing&resourceVersion=1', 'resourceVersionMatch=Exact&resourceVersion=0'],
  ...['resourceVersionMatch=NotOlderThan&resourceVersion=0', 'resourceVersion=1&continue=e30', 'timeoutSeconds=x'],
  ...['timeoutSeconds=-1', 'sendInitialEvents=true', 'watch=false', 'pretty=true', 'pretty=x', 'a=b'],
];
const accepts = [
  ...['*/*', 'application/*', 'application/json', 'text/html', 'application/yaml', 'text/plain', 'nothing'],
  ...['application/json;as=Table;g=meta.k8s.io;v=v1', 'application/json;as=Table;g=meta.k8s.io;v=v9', 'image/png, */*'],
  ...['application/json;as=Nothing;g=meta.k8s.io;v=v1', 'application/json;q=0.1, text/html', 'application/cbor'],
  ...['application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1', 'application/json;as=Table;g=a;v=v1'],
];

/** Requests in this order: later ones need the object that an earlier one has created. */
export const fixedRequests: readonly RawRequest[] = [
  ...['/', '/api', '/api/', '/apis', '/apis/', '/api/v1', '/apis/apps', '/apis/apps/v1', '/apis/apps/v9'].map((path) =>
    get(path),
  ),
  ...['/apis/nothing', '/api/v2', '/version', '/healthz', '/livez', '/readyz', '/nothing', '/api/v1/nothings'].map(
    (path) => get(path),
  ),
  ...['/apis/apps/v1/deployments/a/b/c/d', '/api/v1//configmaps', '/api/v1/namespaces/raw/pods/a/log'].map((path) =>
    get(path),
  ),
  ...['/api/v1/namespaces/absent/configmaps', '/api/v1/namespaces/Bad_/configmaps', '/metrics/x'].map((path) =>
    get(path),
  ),
  post(map({ metadata: { name: 'one', labels: { of: 'raw' } }, data: { a: 'b' } }), '?fieldManager=raw'),
  post(map()),
  post(''),
  post('{'),
  post('[]'),
  post('null'),
  post('{}'),
  post('{"kind":"ConfigMap"}'),
  post('{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}'),
  post(map({ metadata: { name: 'two', namespace: 'other' } })),
  post(map({ metadata: { name: 'two', resourceVersion: '1' } })),
  post(map({ metadata: {} })),
  post(map({ metadata: { generateName: 'Bad_' } })),
  post(map({ metadata: { name: 5 } })),
  post(map({ metadata: { name: 'two' }, data: { a: 1 } })),
  post(map({ metadata: { name: 'two' }, data: { 'a b': 'c' } })),
  post(map({ metadata: { name: 'two' }, none: 1 }), '?fieldValidation=Strict'),
  post(map({ metadata: { name: 'two' }, none: 1 }), '?fieldValidation=Nothing'),
  post(map({ metadata: { name: 'two' } }), '?dryRun=Nothing'),
  post(map({ metadata: { name: 'two' } }), '?dryRun=All'),
  post(map({ metadata: { name: 'two' } }), `?fieldManager=${'m'.repeat(129)}`),
  post(map({ metadata: { name: 'two', labels: { 'a b': 'c' } } })),
  post(map({ metadata: { name: 'two', annotations: { 'a b': 'c' } } })),
  post(map({ metadata: { name: 'two', finalizers: ['a'] } })),
  post(map({ metadata: { name: 'two', ownerReferences: [{ name: 'a' }] } })),
  post(map(), '', { 'content-type': 'text/plain' }),
  post(map(), '', { 'content-type': 'application/nothing' }),
  post(map(), '', { accept: 'text/html' }),
  get(one),
  get(`${one}?resourceVersion=x`),
  get(`${one}?resourceVersion=0`),
  get(one, { accept: metadataOf('PartialObjectMetadata') }),
  get(one, { accept: table }),
  get(`${maps}?includeObject=Nothing`, { accept: table }),
  get(`${maps}?includeObject=None&fieldSelector=metadata.name%3Done`, { accept: table }),
  ...selectors.map((selector) =>
    get(`${maps}?fieldSelector=metadata.name%3Done&labelSelector=${encodeURIComponent(selector)}`),
  ),
  ...fieldSelectors.map((selector) =>
    get(`${maps}?labelSelector=of%3Draw&fieldSelector=${encodeURIComponent(selector)}`),
  ),
  ...options.map((option) => get(`${maps}?labelSelector=none&${option}`)),
  ...options
    .map((option) => get(`${maps}?watch=true&labelSelector=none&timeoutSeconds=1&resourceVersion=1&${option}`))
    .slice(0, 4),
  ...accepts.map((accept) => get(`${maps}?labelSelector=none`, { accept })),
  ...accepts.map((accept) => get('/api', { accept })),
  put(map({ data: { a: 'c' } })),
  put(map({ metadata: { name: 'two' } })),
  put(map({ metadata: { name: 'one', resourceVersion: '1' } })),
  put(map({ metadata: { name: 'one', uid: 'a' } })),
  put(map({ metadata: { name: 'one', namespace: 'other' } })),
  put('{}'),
  put(map({ kind: 'Secret' })),
  put(map(), '?dryRun=All'),
  patched(merge, '{"data":{"x":"y"}}'),
  patched(merge, '{"data":{"x":null}}'),
  patched(merge, '[]'),
  patched(merge, '{'),
  patched(merge, '{"kind":"Secret"}'),
  patched(merge, '{"metadata":{"name":"two"}}'),
  patched(merge, '{"metadata":{"resourceVersion":"1"}}'),
  patched(merge, '{"metadata":{"labels":{"a":5}}}'),
  patched(merge, '{"none":1}', '?fieldValidation=Strict'),
  patched(strategic, '{"data":{"y":"z"}}'),
  patched(strategic, '{"data":{"$patch":"replace","q":"r"}}'),
  patched(strategic, '{"$patch":"delete"}'),
  patched(strategic, '5'),
  patched(jsonPatch, '[{"op":"add","path":"/data/new","value":"v"}]'),
  patched(jsonPatch, '[{"op":"remove","path":"/data/none"}]'),
  patched(jsonPatch, '[{"op":"test","path":"/data/new","value":"w"}]'),
  patched(jsonPatch, '[{"op":"nothing","path":"/data"}]'),
  patched(jsonPatch, '{}'),
  patched(jsonPatch, '[{"op":"add","path":"data","value":1}]'),
  patched(jsonPatch, '[{"op":"move","from":"/data/new","path":"/data/moved"}]'),
  patched(applied, map({ data: { s: 't' } })),
  patched(applied, map({ data: { s: 't' } }), '?fieldManager=one'),
  patched(applied, map({ data: { s: 'u' } }), '?fieldManager=two'),
  patched(applied, map({ data: { s: 'u' } }), '?fieldManager=two&force=true'),
  patched(applied, map({ data: { s: 'u' } }), '?fieldManager=two&force=x'),
  patched(applied, map({ metadata: { name: 'two' } }), '?fieldManager=one'),
  patched(applied, map({ metadata: { name: 'one', managedFields: [{}] } }), '?fieldManager=one'),
  patched(applied, 'a: [', '?fieldManager=one'),
  patched(applied, '{}', '?fieldManager=one'),
  patched(merge, '{}', '?force=true'),
  patched('application/json', '{}'),
  patched('text/plain', '{}'),
  { method: 'POST', path: one, sent: map() },
  { method: 'PUT', path: maps, sent: map() },
  { method: 'PATCH', path: maps, sent: '{}', headers: { 'content-type': merge } },
  { method: 'OPTIONS', path: maps },
  { method: 'HEAD', path: one },
  { method: 'NOTHING', path: maps },
  remove(one, '{"preconditions":{"uid":"a"}}'),
  remove(one, '{"preconditions":{"resourceVersion":"1"}}'),
  remove(one, '{"propagationPolicy":"Nothing"}'),
  remove(one, '{"gracePeriodSeconds":-1}'),
  remove(one, '{"dryRun":["All"]}'),
  remove(one, '{"dryRun":["Nothing"]}'),
  remove(one, '{"kind":"Nothing"}'),
  remove(one, '{"orphanDependents":true,"propagationPolicy":"Background"}'),
  remove(one, '{'),
  remove(one),
  remove(one),
  remove(`${maps}?labelSelector=a%3D%3D%3D`),
  remove(`${maps}?labelSelector=none`),
];

/**
 * What clients compare: the status, the media type, and the answer without the values that differ in every run. The order of fields means nothing. Of a
 * refusal, clients read the reason, the object and the fields; the message is for people, and says more here than in Kubernetes where that helps.
 */
export function comparableAnswer({ status, text, type }: CallerAnswer): object {
  const lines = text.split('\n').filter((line) => line !== '');
  const isStream = lines.length > 1 && lines.every((line) => line.startsWith('{"type":'));
  return { status, type, body: isStream ? lines.map(comparable) : comparable(text) };
}

interface Refusal {
  readonly kind: string;
  readonly status: string;
  readonly reason?: string;
  readonly details?: Readonly<Record<string, unknown>> & {
    readonly causes?: readonly { readonly reason?: string; readonly field?: string }[];
  };
}

function comparable(text: string): unknown {
  try {
    const value = JSON.parse(text, (name, part: unknown) =>
      varied.has(name) ? name.toUpperCase() : lists.has(name) ? (part ?? []) : isAge(part) ? 'AGE' : part,
    ) as Refusal;
    return value.kind === 'Status' && value.status === 'Failure' ? refusal(value) : withPlainItems(value);
  } catch {
    // A page or a word for people.
    return undefined;
  }
}

/** An item of a list may name its kind: the list names it too. */
function withPlainItems(value: object): object {
  const { kind = '', items } = value as { kind?: string; items?: Readonly<Record<string, unknown>>[] };
  if (!kind.endsWith('List') || !Array.isArray(items)) return value;
  return { ...value, items: items.map(({ apiVersion: _version, kind: _kind, ...item }) => item) };
}

function refusal({ reason, details = {} }: Refusal): object {
  const { causes = [], ...object } = details;
  return { reason, object, causes: causes.map(({ reason: why, field }) => ({ why, field })) };
}

const isAge = (value: unknown) => typeof value === 'string' && /^\d+s$/.test(value);
/** An empty list may be null: clients read both as empty. */
const lists: ReadonlySet<string> = new Set(['items', 'rows']);
/** Fields whose values differ in every run, and the descriptions of columns, which no client shows. */
const varied: ReadonlySet<string> = new Set([
  ...['uid', 'resourceVersion', 'creationTimestamp', 'time', 'continue', 'description', 'serverAddressByClientCIDRs'],
  ...['storageVersionHash', 'remainingItemCount'],
]);
