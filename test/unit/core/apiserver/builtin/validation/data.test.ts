import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../../../core/object/meta.ts';
import { ruleCauses } from '../../../../../support/builtin-causes.ts';

const mebibyte = 1024 * 1024;
const base64 = (text: string) => Buffer.from(text).toString('base64');

/** `field: message` of each cause. */
function problems(kind: string, fields: object): string[] {
  const object: KubeObject = { apiVersion: 'v1', kind, metadata: { name: 'a' }, ...fields };
  return ruleCauses(kind, object).map(({ field, message }) => `${field}: ${message}`);
}

describe('the size of data', () => {
  it('of a ConfigMap is counted over all values, binary ones decoded', () => {
    const half = 'x'.repeat(mebibyte / 2);
    const binaryData = { b: Buffer.alloc(mebibyte / 2).toString('base64') };
    expect(problems('ConfigMap', { data: { a: half }, binaryData })).toEqual([]);
    expect(problems('ConfigMap', { data: { a: `${half}x` }, binaryData })).toEqual([
      '[]: Too long: may not be more than 1048576 bytes',
    ]);
  });

  it('of a ConfigMap is counted in bytes and not in characters', () => {
    expect(problems('ConfigMap', { data: { a: 'é'.repeat(mebibyte / 2 + 1) } })).toEqual([
      '[]: Too long: may not be more than 1048576 bytes',
    ]);
  });

  it('of a Secret is counted after decoding', () => {
    expect(problems('Secret', { data: { a: Buffer.alloc(mebibyte).toString('base64') } })).toEqual([]);
    expect(problems('Secret', { data: { a: Buffer.alloc(mebibyte + 1).toString('base64') } })).toEqual([
      'data: Too long: may not be more than 1048576 bytes',
    ]);
  });
});

describe.each(['ConfigMap', 'Secret'])('a key of a %s', (kind) => {
  it.each([
    ['a b', "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',"],
    ['', 'a valid config key must consist of'],
    ['.', "must not be '.'"],
    ['..', "must not be '..'"],
    ['..a', "must not start with '..'"],
    ['k'.repeat(254), 'must be no more than 253 characters'],
  ])('may not be "%s"', (key, message) => {
    const [problem] = problems(kind, { data: { [key]: base64('x') } });
    expect(problem).toContain(`data[${key}]: Invalid value: ${JSON.stringify(key)}: ${message}`);
  });

  it.each(['a', '.a', 'A_b-c.d', '...a'.slice(2), 'k'.repeat(253)])('may be "%s"', (key) => {
    expect(problems(kind, { data: { [key]: base64('x') } })).toEqual([]);
  });
});

it('a key of a ConfigMap may not be in data and in binaryData', () => {
  expect(problems('ConfigMap', { data: { a: 'x' }, binaryData: { a: base64('x'), 'b c': base64('x') } })).toEqual([
    'data[a]: Invalid value: "a": duplicate of key present in binaryData',
    expect.stringContaining('binaryData[b c]: Invalid value: "b c"'),
  ]);
});

it('a key of a ConfigMap may have the name of a method', () => {
  expect(problems('ConfigMap', { data: { constructor: 'x' }, binaryData: {} })).toEqual([]);
});

describe('a Secret of a type', () => {
  it.each([
    ['kubernetes.io/tls', { 'tls.crt': 'x' }, ['data[tls.key]: Required value']],
    ['kubernetes.io/tls', {}, ['data[tls.crt]: Required value', 'data[tls.key]: Required value']],
    ['kubernetes.io/tls', { 'tls.crt': '', 'tls.key': '' }, []],
    ['kubernetes.io/ssh-auth', {}, ['data[ssh-privatekey]: Required value']],
    ['kubernetes.io/basic-auth', {}, ['data[username]: Required value', 'data[password]: Required value']],
    ['kubernetes.io/basic-auth', { password: 'x' }, []],
    ['kubernetes.io/dockerconfigjson', {}, ['data[.dockerconfigjson]: Required value']],
    ['kubernetes.io/dockerconfigjson', { '.dockerconfigjson': '{"auths":{}}' }, []],
    ['kubernetes.io/dockercfg', { '.dockercfg': '[]' }, ['must be a JSON object']],
    ['Opaque', {}, []],
    ['example.com/own', {}, []],
  ])('%s with %j', (type, data, expected) => {
    const encoded = Object.fromEntries(Object.entries(data).map(([key, value]) => [key, base64(value)]));
    expect(problems('Secret', { type, data: encoded })).toEqual(expected.map((text) => expect.stringContaining(text)));
  });

  it('kubernetes.io/service-account-token needs the annotation with its account', () => {
    const type = 'kubernetes.io/service-account-token';
    expect(problems('Secret', { type })).toEqual([
      'metadata.annotations[kubernetes.io/service-account.name]: Required value',
    ]);
    const annotations = { 'kubernetes.io/service-account.name': 'robot' };
    expect(problems('Secret', { type, metadata: { name: 'a', annotations } })).toEqual([]);
  });

  it('is refused without a part of its data in the message', () => {
    const type = 'kubernetes.io/dockerconfigjson';
    const [problem] = problems('Secret', { type, data: { '.dockerconfigjson': base64('hunter2') } });
    expect(problem).toBe('data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": must be JSON');
  });
});
