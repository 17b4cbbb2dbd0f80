/** An object of the cluster as it is told whole: without what only its cluster needs, and the same bytes while nothing has happened to it. */
import { canonicalBytes, stableStringify } from '../../core/object/canonical.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { quietStatus } from './status-noise.ts';

export interface WholeObject {
  /** Canonical bytes, without managedFields and resourceVersion. */
  readonly body: Uint8Array;
  /** Equal texts: nothing has happened between two states. */
  readonly quiet: string;
}

/** The object as told `before`, if nothing has happened since. */
export function wholeObject(live: KubeObject, before?: WholeObject): WholeObject {
  const { managedFields: _fields, resourceVersion: _version, ...metadata } = live.metadata;
  const object: KubeObject = { ...live, metadata };
  const { status, ...content } = object;
  // Elsewhere a field of such a name is what somebody has written there.
  const quiet = `${stableStringify(content)}${quietStatus(status)}`;
  return before?.quiet === quiet ? before : { body: canonicalBytes(object), quiet };
}
