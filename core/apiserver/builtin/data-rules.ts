/**
 * Checks the data of ConfigMaps and Secrets: keys, total size, and the keys that a type of Secret requires. The messages are those of Kubernetes
 * (pkg/apis/core/validation).
 */
import { forbiddenField, invalidField, required, tooLong } from '../../object/field-error.ts';
import { equalJson } from '../../object/json-value.ts';
import type { KubeObject } from '../../object/meta.ts';
import type { Cause } from '../../runtime/errors.ts';
import { isRecord } from '../../runtime/is-record.ts';

/** All values of one object together, in bytes: the limit of Kubernetes. A cluster would refuse a larger object. */
const dataBytesMax = 1024 * 1024;

const configKey = /^[-._a-zA-Z0-9]+$/;
const configKeyCharactersMax = 253;
const configKeyMessage =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

export function configMapRule(object: KubeObject): Cause[] {
  const data = stringsIn(object.data);
  const binaryData = stringsIn(object.binaryData);
  const causes = [...checkKeys('data', data), ...checkKeys('binaryData', binaryData)];
  const binaryKeys = new Set(binaryData.map(([key]) => key));
  for (const [key] of data) {
    if (binaryKeys.has(key)) causes.push(invalidField(`data[${key}]`, key, 'duplicate of key present in binaryData'));
  }
  const bytes = data.reduce((sum, [, value]) => sum + Buffer.byteLength(value), 0) + decodedBytes(binaryData);
  // The total belongs to no single field. Kubernetes names the empty field.
  if (bytes > dataBytesMax) causes.push(tooLong('[]', dataBytesMax));
  return causes;
}

export function secretRule(object: KubeObject): Cause[] {
  const data = stringsIn(object.data);
  const causes = checkKeys('data', data);
  if (decodedBytes(data) > dataBytesMax) causes.push(tooLong('data', dataBytesMax));
  return [...causes, ...checkSecretType(object, new Map(data))];
}

/** The keys that programs need in a Secret of a type. Secrets of other types may have any keys. */
function checkSecretType(object: KubeObject, data: ReadonlyMap<string, string>): Cause[] {
  const needed = (key: string) => (data.has(key) ? [] : [required(`data[${key}]`)]);
  switch (object.type) {
    case 'kubernetes.io/service-account-token': {
      const account = object.metadata.annotations?.['kubernetes.io/service-account.name'];
      return account ? [] : [required('metadata.annotations[kubernetes.io/service-account.name]')];
    }
    case 'kubernetes.io/dockercfg':
      return checkJson('.dockercfg', data);
    case 'kubernetes.io/dockerconfigjson':
      return checkJson('.dockerconfigjson', data);
    case 'kubernetes.io/basic-auth':
      return data.has('username') || data.has('password') ? [] : [...needed('username'), ...needed('password')];
    case 'kubernetes.io/ssh-auth':
      return needed('ssh-privatekey');
    case 'kubernetes.io/tls':
      return [...needed('tls.crt'), ...needed('tls.key')];
    default:
      return [];
  }
}

function checkJson(key: string, data: ReadonlyMap<string, string>): Cause[] {
  const value = data.get(key);
  const field = `data[${key}]`;
  if (value === undefined) return [required(field)];
  try {
    if (isRecord(JSON.parse(Buffer.from(value, 'base64').toString()))) return [];
    return [invalidField(field, '<secret contents redacted>', 'must be a JSON object')];
  } catch {
    // The message of the parser contains a part of the secret.
    return [invalidField(field, '<secret contents redacted>', 'must be JSON')];
  }
}

function checkKeys(field: string, entries: readonly [string, string][]): Cause[] {
  return entries.flatMap(([key]) => {
    const problem = problemOfKey(key);
    return problem === undefined ? [] : [invalidField(`${field}[${key}]`, key, problem)];
  });
}

function problemOfKey(key: string): string | undefined {
  if (key.length > configKeyCharactersMax) return `must be no more than ${configKeyCharactersMax} characters`;
  if (!configKey.test(key)) return configKeyMessage;
  if (key === '.' || key === '..') return `must not be '${key}'`;
  return key.startsWith('..') ? "must not start with '..'" : undefined;
}

/** The data of an object with `immutable: true` may not change. */
export function immutableDataRule(object: KubeObject, old?: KubeObject): Cause[] {
  if (old?.immutable !== true) return [];
  const message = 'field is immutable when `immutable` is set';
  const causes = object.immutable === true ? [] : [forbiddenField('immutable', message)];
  const changed = ['data', 'binaryData'].filter((field) => !equalJson(object[field] ?? {}, old[field] ?? {}));
  return [...causes, ...changed.map((field) => forbiddenField(field, message))];
}

function stringsIn(values: unknown): [string, string][] {
  if (!isRecord(values)) return [];
  return Object.entries(values).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
}

/** The size of base64 values after decoding. */
function decodedBytes(entries: readonly [string, string][]): number {
  return entries.reduce((sum, [, value]) => sum + Buffer.byteLength(value, 'base64'), 0);
}
