/**
 * An object of the cluster in the form in which the agent reports it whole. The form leaves out fields that only the cluster needs, and its bytes stay the
 * same while nothing happens to the object.
 */
import { canonicalBytes, stableStringify } from '../../core/object/canonical.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { quietStatus } from './status-noise.ts';

export interface WholeObject {
  /** Canonical bytes, without managedFields and resourceVersion. */
  readonly body: Uint8Array;
  /** If two states have equal texts, nothing has happened between them. */
  readonly quiet: string;
}

/** Returns the object in this form. Returns `before` if nothing has happened since. */
export function wholeObject(live: KubeObject, before?: WholeObject): WholeObject {
  const { managedFields: _fields, resourceVersion: _version, ...metadata } = live.metadata;
  const object: KubeObject = { ...live, metadata };
  const { status, ...content } = object;
  // The noise is removed only from the status. At other places, somebody has written the value of a field with such a name.
  const quiet = `${stableStringify(content)}${quietStatus(status)}`;
  return before?.quiet === quiet ? before : { body: canonicalBytes(object), quiet };
}
