/** Bodies and URLs that no honest client sends: cut off, endless, deeper or larger than anything, or other than their type says. */
import { gzipSync } from 'node:zlib';

export interface BadRequest {
  readonly what: string;
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
}

const maps = '/api/v1/namespaces/valid/configmaps';
const map = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bad"},"data":';
const yamlMap = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\ndata:\n';
const million = 1_000_000;
const megabyte = 1024 * 1024;

function posted(what: string, body: Buffer | string, type = 'application/json', more: Record<string, string> = {}) {
  return { what, method: 'POST', path: `${maps}?dryRun=All`, headers: { 'content-type': type, ...more }, body };
}

function patched(what: string, type: string, body: string): BadRequest {
  const headers = { 'content-type': `application/${type}` };
  return { what, method: 'PATCH', path: `${maps}/till?dryRun=All&fieldManager=a`, headers, body };
}

/** A protobuf body: the four first bytes, and an Unknown with the content. */
function protobuf(raw: Buffer): Buffer {
  const typeMeta = Buffer.concat([text(1, 'v1'), text(2, 'ConfigMap')]);
  return Buffer.concat([Buffer.from('k8s\0'), field(1, typeMeta), field(2, raw)]);
}

function text(number: number, value: string): Buffer {
  return field(number, Buffer.from(value));
}

function field(number: number, value: Buffer): Buffer {
  return Buffer.concat([Buffer.from([(number << 3) | 2]), varint(value.length), value]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) | 128);
  }
}

/** A field that says it has more bytes than the body. */
const lyingField = Buffer.concat([Buffer.from([(1 << 3) | 2]), varint(2 ** 31 - 1), Buffer.from('abc')]);
const endlessVarint = Buffer.alloc(64, 0xff);

const names = (count: number) => Array.from({ length: count }, (_, i) => `"k${i}":""`).join();
const anchors = (levels: number) =>
  Array.from(
    { length: levels },
    (_, i) =>
      `x${i}: &x${i} [${Array(9)
        .fill(i === 0 ? 'a' : `*x${i - 1}`)
        .join()}]`,
  ).join('\n');
const protobufType = 'application/vnd.kubernetes.protobuf';

export const badRequests: readonly BadRequest[] = [
  posted('nothing', ''),
  posted('spaces', '   '),
  posted('null', 'null'),
  posted('a text', '"a"'),
  posted('a number', '5'),
  posted('a list', '[]'),
  posted('an empty object', '{}'),
  posted('an object that ends early', `${map}{"a":`),
  posted('an object with more behind it', `${map}{}}}`),
  posted('two objects', `${map}{}}${map}{}}`),
  posted('a comma too many', `${map}{"a":"b",}}`),
  posted('single quotes', "{'apiVersion':'v1'}"),
  posted('a control character in a text', `${map}{"a":"\u0001"}}`),
  posted(
    'bytes that are no UTF-8',
    Buffer.concat([Buffer.from(`${map}{"a":"`), Buffer.from([0xff, 0xfe]), Buffer.from('"}}')]),
  ),
  posted('UTF-16', Buffer.from(`\ufeff${map}{}}`, 'utf16le'), 'application/json; charset=utf-16'),
  posted('another charset in the type', `${map}{}}`, 'application/json; charset=latin1'),
  posted('half a surrogate pair', `${map}{"a":"\\ud800"}}`),
  posted('a key with two values', `${map}{"a":"b","a":"c"}}`),
  posted('two metadata', `${map}{},"metadata":{"name":"other"}}`),
  posted('the name as a number', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":5}}'),
  posted('the metadata as a text', '{"apiVersion":"v1","kind":"ConfigMap","metadata":"a"}'),
  posted('the kind as a number', '{"apiVersion":"v1","kind":5,"metadata":{"name":"a"}}'),
  posted(
    'a number that is too large',
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","generation":1e400}}',
  ),
  posted('a million levels of lists', `${map}${'['.repeat(million)}`),
  posted('half a million levels that end', `${map}${'['.repeat(million / 2)}${']'.repeat(million / 2)}}`),
  posted('half a million levels of objects', `${map}${'{"a":'.repeat(million / 5)}`),
  posted('a hundred thousand keys', `${map}{${names(million / 10)}}}`),
  posted('a million keys', `${map}{${names(million)}}}`),
  posted('2 MB of text', `${map}{"a":"${'x'.repeat(2 * megabyte)}"}}`),
  posted('50 MB of text', `${map}{"a":"${'x'.repeat(50 * megabyte)}"}}`),
  posted('50 MB of spaces', ' '.repeat(50 * megabyte)),
  posted('YAML in JSON', yamlMap),
  posted('a tab in YAML', `${yamlMap}\ta: b\n`, 'application/yaml'),
  posted('YAML that ends early', `${yamlMap}  a: "b\n`, 'application/yaml'),
  posted('a key with two values in YAML', `${yamlMap}  a: b\n  a: c\n`, 'application/yaml'),
  posted('YAML of a billion items', `${yamlMap}  ${anchors(9)}\n`, 'application/yaml'),
  posted('YAML that refers to itself', `${yamlMap}  a: &a [*a]\n`, 'application/yaml'),
  posted('YAML that refers to nothing', `${yamlMap}  a: *b\n`, 'application/yaml'),
  posted('1 MB of opening brackets in YAML', `${yamlMap}  a: ${'['.repeat(megabyte)}\n`, 'application/yaml'),
  posted('1 MB of opening braces in YAML', `${yamlMap}  a: ${'{'.repeat(megabyte)}\n`, 'application/yaml'),
  posted('1 MB of dashes in YAML', `${yamlMap}${'- '.repeat(megabyte / 2)}\n`, 'application/yaml'),
  posted('two documents of YAML', `${yamlMap}  a: b\n---\n${yamlMap}  a: b\n`, 'application/yaml'),
  posted('a tag of another language in YAML', `${yamlMap}  a: !!python/object:os.system [ls]\n`, 'application/yaml'),
  posted('binary YAML', `${yamlMap}  a: !!binary AAEC\n`, 'application/yaml'),
  posted('nothing as YAML', '', 'application/yaml'),
  posted('only a comment as YAML', '# nothing\n', 'application/yaml'),
  posted('nothing as protobuf', '', protobufType),
  posted('protobuf without its first bytes', 'abcdefgh', protobufType),
  posted('protobuf with nothing behind its first bytes', 'k8s\0', protobufType),
  posted('protobuf with a lying length', Buffer.concat([Buffer.from('k8s\0'), lyingField]), protobufType),
  posted('protobuf with a lying length inside', protobuf(lyingField), protobufType),
  posted('protobuf with a number without end', Buffer.concat([Buffer.from('k8s\0'), endlessVarint]), protobufType),
  posted('protobuf with a number without end inside', protobuf(endlessVarint), protobufType),
  posted('protobuf that is JSON', `${map}{}}`, protobufType),
  posted('JSON that is protobuf', protobuf(Buffer.alloc(0))),
  posted('a bomb of gzip', gzipSync(Buffer.alloc(50 * megabyte, 'x')), 'application/json', {
    'content-encoding': 'gzip',
  }),
  posted('an object in gzip', gzipSync(Buffer.from(`${map}{}}`)), 'application/json', { 'content-encoding': 'gzip' }),
  posted('a form', 'a=b', 'application/x-www-form-urlencoded'),
  posted('a text as its type says', `${map}{}}`, 'text/plain'),
  posted('a type that is none', `${map}{}}`, 'json'),
  posted('a type that is a semicolon', `${map}{}}`, ';'),
  posted('a patch', '[]', 'application/json-patch+json'),
  patched('a merge patch that ends early', 'merge-patch+json', '{"data":'),
  patched('a merge patch that is nothing', 'merge-patch+json', ''),
  patched('a merge patch that is null', 'merge-patch+json', 'null'),
  patched('a merge patch that is a list', 'merge-patch+json', '[]'),
  patched('a merge patch that is a text', 'merge-patch+json', '"a"'),
  patched('a strategic patch that ends early', 'strategic-merge-patch+json', '{"data":'),
  patched('a strategic patch that is nothing', 'strategic-merge-patch+json', ''),
  patched('a strategic patch that is null', 'strategic-merge-patch+json', 'null'),
  patched('a strategic patch that is a list', 'strategic-merge-patch+json', '[]'),
  patched('a JSON patch that ends early', 'json-patch+json', '[{"op":'),
  patched('a JSON patch that is nothing', 'json-patch+json', ''),
  patched('a JSON patch that is null', 'json-patch+json', 'null'),
  patched('a JSON patch that is an object', 'json-patch+json', '{}'),
  patched(
    'a JSON patch with 10,001 operations',
    'json-patch+json',
    `[${Array(10_001).fill('{"op":"test","path":"/a"}').join()}]`,
  ),
  patched(
    'a JSON patch that doubles what it copies',
    'json-patch+json',
    `[${Array.from({ length: 40 }, (_, i) => `{"op":"copy","from":"/data","path":"/data/k${i}"}`).join()}]`,
  ),
  patched('an apply that ends early', 'apply-patch+yaml', '{"data":'),
  patched('an apply that is nothing', 'apply-patch+yaml', ''),
  patched('an apply that is null', 'apply-patch+yaml', 'null'),
  patched('an apply that is a list', 'apply-patch+yaml', '[]'),
  patched('an apply that is a text', 'apply-patch+yaml', 'a'),
  patched('an apply of a million levels', 'apply-patch+yaml', `${yamlMap}  a: ${'['.repeat(million)}`),
  { what: 'an encoded slash in a name', method: 'GET', path: `${maps}/a%2Fb` },
  { what: 'an encoded slash in a namespace', method: 'GET', path: '/api/v1/namespaces/a%2Fb/configmaps/c' },
  { what: 'an encoded percent', method: 'GET', path: `${maps}/a%25b` },
  { what: 'a broken escape', method: 'GET', path: `${maps}/a%zz` },
  { what: 'a zero byte', method: 'GET', path: `${maps}/a%00b` },
  { what: 'a way up', method: 'GET', path: '/api/v1/namespaces/../configmaps' },
  { what: 'an encoded way up', method: 'GET', path: '/api/v1/namespaces/%2e%2e/configmaps' },
  { what: 'a way up behind the name', method: 'GET', path: `${maps}/till/..` },
  { what: 'a dot as name', method: 'GET', path: `${maps}/.` },
  { what: 'two slashes', method: 'GET', path: '/api//v1/namespaces/valid/configmaps' },
  { what: 'a slash at the end', method: 'GET', path: `${maps}/` },
  { what: 'a slash behind the name', method: 'GET', path: `${maps}/till/` },
  { what: 'a name of 10 KB', method: 'GET', path: `${maps}/${'x'.repeat(10_240)}` },
  { what: 'a selector of 16 KB', method: 'GET', path: `${maps}?labelSelector=${'a%3Db,'.repeat(2700)}a%3Db` },
  { what: 'a selector of 16 KB that is none', method: 'GET', path: `${maps}?labelSelector=${'('.repeat(16_384)}` },
  {
    what: 'a selector of fields of 16 KB',
    method: 'GET',
    path: `${maps}?fieldSelector=metadata.name%3D${'x'.repeat(16_384)}`,
  },
  { what: 'a selector that ends early', method: 'GET', path: `${maps}?labelSelector=a%20in%20(b` },
  { what: 'a limit that is no number', method: 'GET', path: `${maps}?limit=many` },
  { what: 'a limit below zero', method: 'GET', path: `${maps}?limit=-1` },
  { what: 'a broken escape in the query', method: 'GET', path: `${maps}?labelSelector=%zz` },
  { what: 'a method that nobody knows', method: 'BREW', path: maps },
  { what: 'a deletion with a body that is none', method: 'DELETE', path: `${maps}/till?dryRun=All`, body: '{"kind":' },
  {
    what: 'a deletion with a body of another kind',
    method: 'DELETE',
    path: `${maps}/till?dryRun=All`,
    body: `${map}{}}`,
  },
  { what: 'a deletion with a body that is a list', method: 'DELETE', path: `${maps}/till?dryRun=All`, body: '[]' },
  { what: 'a new object without a namespace', method: 'POST', path: '/api/v1/configmaps', body: `${map}{}}` },
];
