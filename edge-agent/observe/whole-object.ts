/**
 * An object of the cluster in the form in which it is reported whole. Fields that only the cluster needs are left out, and the bytes stay the same while
 * nothing happens to the object.
 */
import { canonicalBytes, stableStringify } from '../../core/object/canonical.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { quietStatus } from './status-noise.ts';

export interface WholeObject {
  /** Canonical bytes, without managedFields and resourceVersion. */
  readonly body: Uint8Array;
  /** Equal texts: nothing has happened between two states. */
  readonly quiet: string;
}

/** Returns `before` if nothing has happened since. */
export function wholeObject(live: KubeObject, before?: WholeObject): WholeObject {
  const { managedFields: _fields, resourceVersion: _version, ...metadata } = live.metadata;
  const object: KubeObject = { ...live, metadata };
  const { status, ...content } = object;
  // The noise is removed only from the status: elsewhere, a field with such a name has a value that somebody wrote.
  const quiet = `${stableStringify(content)}${quietStatus(status)}`;
  return before?.quiet === quiet ? before : { body: canonicalBytes(object), quiet };
}
