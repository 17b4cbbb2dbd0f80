/** The forms of an object between the request and the store: copy, key, versions, bytes. */
import { canonicalBytes } from '../../object/canonical.ts';
import { objectBeyondLimits } from '../../object/json-limits.ts';
import { cloneJson, cloneWithoutNulls, equalJson } from '../../object/json-value.ts';
import type { ObjectKey } from '../../object/key.ts';
import { type KubeObject, parseApiVersion } from '../../object/meta.ts';
import { BanyanError } from '../../runtime/errors.ts';
import { checkTypes } from '../builtin/type-check.ts';
import { Undecodable } from '../decoding.ts';
import { type Kind, storedResource } from '../space.ts';
import { badRequest, notConvertible, objectBytesMax, tooLarge } from '../status-errors.ts';
import { takeNote } from './filled-in.ts';
import { checkMetaTypes, normalizeMeta } from './object-meta.ts';

/** A copy of the received object, which the next steps may change. Its metadata has the right types. */
export function incoming(kind: Kind, object: KubeObject): KubeObject {
  if (kind.custom) refuseWrongMeta(kind, object);
  else checkBuiltInMeta(kind, object);
  // In Kubernetes, built-in kinds are Go types. A null in them is the same as an absent field.
  const copy = kind.custom ? cloneJson(object) : cloneWithoutNulls(object);
  copy.metadata ??= {};
  normalizeMeta(copy.metadata);
  takeNote(copy);
  if (kind.namespaced) copy.metadata.namespace ??= 'default';
  else delete copy.metadata.namespace;
  return copy;
}

function refuseWrongMeta({ kind }: Kind, object: KubeObject): void {
  const wrong = checkMetaTypes(object);
  if (!wrong) return;
  const message = `${kind} in version "${object.apiVersion}" cannot be handled as a ${kind}: ${wrong}`;
  throw new BanyanError('BadRequest', message, {}, { cause: new Undecodable(wrong) });
}

/** The types of the metadata, so that no other code needs to check them. The rest of the object is checked later, against the stored object too. */
function checkBuiltInMeta(kind: Kind, { apiVersion, metadata }: KubeObject): void {
  const { version } = parseApiVersion(apiVersion);
  checkTypes({ metadata }, kind.schema(version), { kind: kind.kind, version });
}

export function keyInForm(kind: Kind, object: KubeObject): ObjectKey {
  const { name = '', namespace = 'default' } = object.metadata;
  return { ...storedResource(kind), namespace: kind.namespaced ? namespace : '', name };
}

/** The object in `version`. Throws if only a webhook could convert the object. */
export function inVersion(kind: Kind, object: KubeObject, version: string): KubeObject {
  const converted = kind.rules.convert(object, version);
  if (!converted) throw notConvertible(kind, object, version);
  return converted;
}

/**
 * A stored object as a reader of `version` sees it: converted, and with the defaults and without the fields that a definition has got or lost since the object was
 * stored. Throws as `inVersion`. `object` stays as it is.
 */
export function shownIn(kind: Kind, object: KubeObject, version: string): KubeObject {
  const shown = inVersion(kind, object, version);
  if (!kind.custom || (shown === object && !isOlderThanDefinition(kind, Number(object.metadata.resourceVersion))))
    return shown;
  const prepared = cloneJson(shown);
  kind.rules.prepare(prepared, version);
  return prepared;
}

/** Whether the definition of the kind has changed since this revision of the space. */
export function isOlderThanDefinition({ definedAt = 0 }: Kind, revision: number): boolean {
  return revision < definedAt;
}

export function storedBytes(kind: Kind, key: ObjectKey, object: KubeObject): Uint8Array {
  const { storedAs = kind } = kind;
  const stored = kind.storesAsWritten ? object : inVersion(storedAs, object, storedAs.storageVersion);
  // This second check is necessary: a patch can put one deep value into another.
  const wrong = objectBeyondLimits(stored);
  if (wrong !== undefined) throw badRequest(wrong);
  const bytes = canonicalBytes(stored);
  if (bytes.length > objectBytesMax) throw tooLarge(key, bytes.length);
  return bytes;
}

/** Whether anything but the metadata has changed. Status counts only for kinds without a status subresource. */
export function isContentChanged(kind: Kind, next: KubeObject, old: KubeObject): boolean {
  const { apiVersion: _a, kind: _k, metadata: _m, ...after } = next;
  const { apiVersion: _b, kind: _l, metadata: _n, ...before } = old;
  if (kind.subresources.status) {
    delete after.status;
    delete before.status;
  }
  return !equalJson(after, before);
}

/** Whether a part of the metadata has changed that makes a new generation too. A write of a subresource makes none by its metadata. */
export function isCountedMetadataChanged(
  { countedMetadata: part }: Kind,
  next: KubeObject,
  old: KubeObject,
  subresource?: string,
): boolean {
  if (part === undefined || subresource !== undefined) return false;
  return !equalJson(next.metadata[part] ?? {}, old.metadata[part] ?? {});
}
