/** ConfigMaps and Secrets: keys, total size, and the keys that a type of Secret requires. */
import { isRecord } from '../../../runtime/is-record.ts';
import { configKey } from './formats.ts';
import { fixed, isSameValue } from './updates.ts';
import { type FieldCheck, isPresent, type ReadValues, recordOf, type Visit, wordOf } from './visit.ts';

/** All values of one object together, in bytes: the limit of Kubernetes. A cluster would refuse a larger object. */
const dataBytesMax = 1024 * 1024;

function checkKeys(field: string, data: ReadValues, at: Visit): void {
  for (const key of Object.keys(data)) {
    for (const mistake of configKey(key)) at.invalid(`${field}[${key}]`, key, mistake);
  }
}

/** The size of base64 values after decoding. */
function decodedBytes(data: ReadValues): number {
  return Object.values(data).reduce<number>((sum, value) => sum + Buffer.byteLength(wordOf(value), 'base64'), 0);
}

export const configMap: FieldCheck = (value, at) => {
  const data = recordOf(recordOf(value).data);
  const binaryData = recordOf(recordOf(value).binaryData);
  keptIfImmutable(value, ['data', 'binaryData'], at);
  for (const key of Object.keys(data)) {
    checkKeys('data', { [key]: '' }, at);
    if (Object.hasOwn(binaryData, key)) at.invalid(`data[${key}]`, key, 'duplicate of key present in binaryData');
  }
  checkKeys('binaryData', binaryData, at);
  const textBytes = Object.values(data).reduce<number>((sum, text) => sum + Buffer.byteLength(wordOf(text)), 0);
  // The total belongs to no single field. Kubernetes names the empty field.
  if (textBytes + decodedBytes(binaryData) > dataBytesMax) at.tooLong('[]', dataBytesMax);
};

export const secret: FieldCheck = (value, at) => {
  const data = recordOf(recordOf(value).data);
  fixed('type')(value, at);
  keptIfImmutable(value, ['data'], at);
  checkKeys('data', data, at);
  if (decodedBytes(data) > dataBytesMax) at.tooLong('data', dataBytesMax);
  keysOfType(wordOf(recordOf(value).type), data, at);
};

/** The keys that programs need in a Secret of a type. Secrets of other types may have any keys. */
function keysOfType(type: string, data: ReadValues, at: Visit): void {
  const need = (...keys: readonly string[]) => {
    for (const key of keys) if (!isPresent(data[key])) at.required(`data[${key}]`);
  };
  switch (type) {
    case 'kubernetes.io/service-account-token': {
      const name = 'kubernetes.io/service-account.name';
      if (!at.object.metadata.annotations?.[name]) at.required(`metadata.annotations[${name}]`);
      return;
    }
    case 'kubernetes.io/dockercfg':
      return jsonIn('.dockercfg', data, at);
    case 'kubernetes.io/dockerconfigjson':
      return jsonIn('.dockerconfigjson', data, at);
    case 'kubernetes.io/basic-auth':
      if (!isPresent(data.username) && !isPresent(data.password)) need('username', 'password');
      return;
    case 'kubernetes.io/ssh-auth':
      if (!data['ssh-privatekey']) at.required('data[ssh-privatekey]');
      return;
    case 'kubernetes.io/tls':
      need('tls.crt', 'tls.key');
  }
}

function jsonIn(key: string, data: ReadValues, at: Visit): void {
  const value = data[key];
  const field = `data[${key}]`;
  if (!isPresent(value)) {
    at.required(field);
    return;
  }
  try {
    if (isRecord(JSON.parse(Buffer.from(wordOf(value), 'base64').toString()))) return;
    at.invalid(field, '<secret contents redacted>', 'must be a JSON object');
  } catch {
    // The message of the parser contains a part of the secret.
    at.invalid(field, '<secret contents redacted>', 'must be JSON');
  }
}

/** The data of an object with `immutable: true` may not change. */
function keptIfImmutable(value: unknown, fields: readonly string[], at: Visit): void {
  if (at.old?.immutable !== true) return;
  const now = recordOf(value);
  const message = 'field is immutable when `immutable` is set';
  if (now.immutable !== true) at.forbidden('immutable', message);
  for (const field of fields)
    if (!isSameValue(now[field], at.old[field], at.fieldAt(field))) at.forbidden(field, message);
}
