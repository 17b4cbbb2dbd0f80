/**
 * Changes of an object that the node itself makes, and that need nothing of the object but its metadata and its status. So the rest, which may be long, is not
 * parsed.
 */
import { BodyParts } from '../../object/body-parts.ts';
import { cloneJson } from '../../object/json-value.ts';
import type { KubeObject } from '../../object/meta.ts';
import type { Amendment, Kind } from '../space.ts';
import type { FieldManager } from './field-manager.ts';

export interface Amended {
  /** Without the long fields. */
  readonly head: KubeObject;
  readonly bytes: Uint8Array;
}

/** `body`: the canonical bytes of the stored object. */
export function amended(
  kind: Kind,
  body: Uint8Array,
  { finalizers, status }: Amendment,
  by: { readonly fields: FieldManager; readonly manager: string; readonly nowIso: string },
): Amended {
  const parts = new BodyParts(body);
  const old = parts.head();
  const next = cloneJson(old);
  if (finalizers?.length === 0) delete next.metadata.finalizers;
  else if (finalizers) next.metadata.finalizers = [...finalizers];
  if (status) Object.assign(next, { status });
  const { fields, manager, nowIso } = by;
  fields.update(old, next, kind, kind.storageVersion, manager, nowIso, status ? 'status' : '');
  return { head: next, bytes: parts.withHead(next) };
}
