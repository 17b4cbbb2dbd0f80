/** Checks that the object that a client wants to write fits the present object. */

import type { ObjectKey } from '../../object/key.ts';
import type { KubeObject } from '../../object/meta.ts';
import type { Cause } from '../../runtime/errors.ts';
import { isRecord } from '../../runtime/is-record.ts';
import type { Kind } from '../space.ts';
import { badRequest, conflict, invalidObject, modifiedMessage } from '../status-errors.ts';
import { needsResourceVersion } from './kind-strategy.ts';

/** Checks the uid and the resourceVersion of an update if the update contains them. Some kinds must have a resourceVersion. */
export function checkUpdatable(kind: Kind, key: ObjectKey, sent: KubeObject, old: KubeObject, isPatch: boolean): void {
  const { uid, resourceVersion = '' } = sent.metadata;
  checkPreconditions(key, old, uid === undefined ? {} : { uid });
  // Clients that have no version send "0".
  if (resourceVersion === '' || resourceVersion === '0') {
    if (isPatch || !needsResourceVersion(kind)) return;
    const message = 'Invalid value: 0x0: must be specified for an update';
    const cause: Cause = { reason: 'FieldValueInvalid', message, field: 'metadata.resourceVersion' };
    throw invalidObject(kind, key.name, [cause]);
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

/** Throws if a patch changes the identity of the object. */
export function checkPreconditionIdentity(live: KubeObject, next: KubeObject): void {
  if (!isRecord(next) || !isRecord(next.metadata)) throw badRequest('the patched object has no metadata');
  for (const field of ['apiVersion', 'kind'] as const) {
    if (next[field] !== live[field]) {
      throw badRequest(`a patch must not change ${field} from "${live[field]}" to "${next[field]}"`);
    }
  }
  for (const field of ['name', 'namespace'] as const) {
    const [sent, expected] = [next.metadata[field], live.metadata[field]];
    if (sent !== expected)
      throw badRequest(`the ${field} of the object (${sent}) does not match the ${field} on the URL (${expected})`);
  }
}
