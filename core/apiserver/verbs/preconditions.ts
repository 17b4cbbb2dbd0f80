/** Checks that the object that a client wants to write fits the present object. */

import { invalidField } from '../../object/field-error.ts';
import { jsonText } from '../../object/json.ts';
import type { ObjectKey } from '../../object/key.ts';
import type { KubeObject } from '../../object/meta.ts';
import type { Cause } from '../../runtime/errors.ts';
import { isRecord } from '../../runtime/is-record.ts';
import { goTypeOf } from '../decoding.ts';
import type { Kind, Patch } from '../space.ts';
import { conflict, invalidObject, modifiedMessage, otherName, otherNamespace, patchRefused } from '../status-errors.ts';
import { needsResourceVersion } from './kind-strategy.ts';
import { unreadableKind } from './other-kind.ts';

/** Checks the uid and the resourceVersion of an update if the update contains them. Some kinds must have a resourceVersion. */
export function checkUpdatable(kind: Kind, key: ObjectKey, sent: KubeObject, old: KubeObject, isPatch: boolean): void {
  const { uid, resourceVersion = '' } = sent.metadata;
  checkPreconditions(key, old, uid === undefined || isPatch ? {} : { uid });
  // Clients that have no version send "0".
  if (resourceVersion === '' || resourceVersion === '0') {
    if (isPatch || !needsResourceVersion(kind)) return;
    const message = 'Invalid value: 0x0: must be specified for an update';
    const cause: Cause = { reason: 'FieldValueInvalid', message, field: 'metadata.resourceVersion' };
    // As in Kubernetes, the answer names the resource here, and not the kind.
    throw invalidObject({ group: kind.group, kind: kind.resource }, key.name, [cause]);
  }
  if (resourceVersion !== old.metadata.resourceVersion) throw conflict(key, modifiedMessage);
}

export function checkPreconditions(
  key: ObjectKey,
  object: KubeObject,
  { uid, resourceVersion }: { readonly uid?: string; readonly resourceVersion?: string },
): void {
  const { metadata } = object;
  const wrong =
    uid !== undefined && uid !== metadata.uid
      ? `UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`
      : resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion
        ? `ResourceVersion in precondition: ${resourceVersion}, ResourceVersion in object meta: ${metadata.resourceVersion}`
        : undefined;
  if (wrong) throw conflict(key, `Precondition failed: ${wrong}`);
}

/**
 * The causes if a patch changes the uid, which is a mistake of its result and no precondition. Kubernetes says so twice: an update of every kind is checked for it, and
 * then again by the rules of the kind.
 */
export function uidCauses({ metadata: { uid } }: KubeObject, old: KubeObject): Cause[] {
  if (uid === undefined || uid === old.metadata.uid) return [];
  const cause = invalidField('metadata.uid', uid, 'field is immutable');
  return [cause, cause];
}

/** The object with the uid that was sent: the rules of a kind read that one, and the object keeps its own. */
export function withUid(object: KubeObject, { metadata: { uid = object.metadata.uid } }: KubeObject): KubeObject {
  return uid === object.metadata.uid
    ? object
    : { ...object, metadata: { ...object.metadata, uid } as KubeObject['metadata'] };
}

/** Throws if the result of a patch is of another kind. It may lack its kind, as in Kubernetes, and after a strategic merge patch its version too. */
export function checkPatchedType(patch: Patch, live: KubeObject, next: KubeObject): void {
  if (!isRecord(next)) {
    const type =
      'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
    const why = `couldn't get version/kind; json parse error: json: cannot unmarshal ${goTypeOf(next)} into Go value of type ${type}`;
    throw patchRefused(jsonText(next), why);
  }
  const expected = { apiVersion: live.apiVersion, kind: live.kind };
  // Kubernetes then reads the object as one that has no fields.
  if ((next.apiVersion ?? '') === '' && patch.type !== 'strategic') throw otherName(undefined, live.metadata.name!);
  next.apiVersion ??= expected.apiVersion;
  next.kind ??= expected.kind;
  const { apiVersion, kind } = next;
  if (apiVersion === expected.apiVersion && kind === expected.kind) return;
  const { why } = unreadableKind({ apiVersion: String(apiVersion), kind: String(kind) }, expected);
  throw patchRefused(jsonText(next), why);
}

/** Throws if a patch changes the name or the namespace of the object. */
export function checkPatchedName(live: KubeObject, { metadata }: KubeObject): void {
  const { name, namespace } = metadata ?? {};
  if (namespace && live.metadata.namespace && namespace !== live.metadata.namespace) throw otherNamespace();
  if (name !== live.metadata.name) throw otherName(name, live.metadata.name!);
}
