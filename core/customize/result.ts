/** Checks the result of a customization: it is still the same object, it is valid if this node knows its kind, and it is not too large. */

import { Undecodable } from '../apiserver/decoding.ts';
import type { Kind } from '../apiserver/space.ts';
import { objectBytesMax } from '../apiserver/status-errors.ts';
import { canonicalBytes } from '../object/canonical.ts';
import { jsonText } from '../object/json.ts';
import { cloneJson } from '../object/json-value.ts';
import { type KubeObject, parseApiVersion } from '../object/meta.ts';
import { BanyanError } from '../runtime/errors.ts';
import { isRecord } from '../runtime/is-record.ts';
import { CustomizeError } from './customizer.ts';

/** Returns canonical bytes. Throws CustomizeError with the field of the object. */
export function bodyOf(result: Record<string, unknown>, original: KubeObject, kind: Kind | undefined): Uint8Array {
  const object = sameObject(result, original);
  if (kind) checkKind(object, original, kind);
  const body = canonicalBytes(object);
  if (body.length > objectBytesMax)
    throw new CustomizeError('', `has ${body.length} bytes, the limit is ${objectBytesMax} bytes (1.5 MiB)`);
  return body;
}

/** Checks that the fields that identify the object did not change. Removes the status, and the metadata that only a space has: they do not travel. */
function sameObject(result: Record<string, unknown>, original: KubeObject): KubeObject {
  for (const field of ['apiVersion', 'kind'] as const) mustBe(field, result[field], original[field]);
  const metadata = result.metadata;
  if (!isRecord(metadata)) throw new CustomizeError('metadata', 'is no object');
  for (const field of ['name', 'namespace'] as const)
    mustBe(`metadata.${field}`, metadata[field], original.metadata[field]);
  const labels = textsOf(metadata, 'labels');
  const annotations = textsOf(metadata, 'annotations');
  const { status: _status, ...rest } = result;
  return {
    ...rest,
    apiVersion: original.apiVersion,
    kind: original.kind,
    metadata: {
      ...(original.metadata.name === undefined ? {} : { name: original.metadata.name }),
      ...(original.metadata.namespace === undefined ? {} : { namespace: original.metadata.namespace }),
      ...(labels ? { labels } : {}),
      ...(annotations ? { annotations } : {}),
    },
  };
}

function mustBe(field: string, actual: unknown, expected: unknown): void {
  if (actual === expected) return;
  const change = `was changed from ${jsonText(expected)} to ${jsonText(actual)?.slice(0, 100)}`;
  throw new CustomizeError(field, `${change}: a customization may not change which object it is`);
}

function textsOf(
  metadata: Record<string, unknown>,
  name: 'labels' | 'annotations',
): Record<string, string> | undefined {
  const texts = metadata[name];
  if (texts === undefined || texts === null) return undefined;
  if (!isRecord(texts)) throw new CustomizeError(`metadata.${name}`, 'must be an object of texts');
  const result: Record<string, string> = {};
  for (const [key, value] of Object.entries(texts)) {
    if (typeof value === 'string') result[key] = value;
    else throw new CustomizeError(`metadata.${name}[${key}]`, `must be a text, is ${jsonText(value)?.slice(0, 100)}`);
  }
  return Object.keys(result).length > 0 ? result : undefined;
}

/** Does the checks of a space's API server. A field that the kind does not have is an error only if the original object does not have the field either. */
function checkKind(object: KubeObject, original: KubeObject, kind: Kind): void {
  const { version } = parseApiVersion(object.apiVersion);
  if (!kind.versions.includes(version)) return;
  const checked = cloneJson(object);
  const unknown = typesOf(checked, kind, version);
  const [cause] = kind.rules.validate(checked, version);
  if (cause) throw new CustomizeError(cause.field, cause.message);
  if (unknown.length === 0) return;
  const before = new Set(typesOf(cloneJson(original), kind, version));
  const added = unknown.find((field) => !before.has(field));
  if (added !== undefined) throw new CustomizeError(added, `a ${kind.kind} has no such field`);
}

function typesOf(object: KubeObject, kind: Kind, version: string): string[] {
  try {
    return kind.rules.prepare(object, version);
  } catch (error) {
    if (!(error instanceof BanyanError)) throw error;
    const { cause } = error;
    if (cause instanceof Undecodable) throw new CustomizeError(cause.field, cause.message, { cause: error });
    throw new CustomizeError('', error.message, { cause: error });
  }
}
