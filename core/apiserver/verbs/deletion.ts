/**
 * Decides what a delete does. Either the object is removed at once, or it is marked and stays as long as it has finalizers. The garbage collector handles
 * dependents (`lifecycle/garbage-collector.ts`). The delete asks for this with the finalizers `orphan` and `foregroundDeletion`.
 */

import { equalJson } from '../../object/json-value.ts';
import type { KubeObject } from '../../object/meta.ts';
import type { DeleteOptions, Kind } from '../space.ts';
import { isNamespace, type Namespace } from './kind-strategy.ts';
import { foregroundFinalizer, orphanFinalizer } from './object-meta.ts';

export type Deletion =
  | { readonly outcome: 'remove' }
  /** `next` is the object to write. If the object is already marked and nothing changes, `next` is the same object. */
  | { readonly outcome: 'keep'; readonly next: KubeObject };

/**
 * Decides about one delete. Without `policy`, the present finalizers of the object decide; without such finalizers, the policy is Background. Does not
 * change `object`.
 */
export function decideDeletion(
  kind: Kind,
  object: KubeObject,
  policy: DeleteOptions['propagationPolicy'],
  nowIso: string,
): Deletion {
  const finalizers = withPolicy(object.metadata.finalizers ?? [], policy);
  const { finalizers: _before, ...meta } = object.metadata;
  const marked: KubeObject = { ...object, metadata: finalizers.length > 0 ? { ...meta, finalizers } : meta };
  if (isReadyToGo(kind, marked)) return { outcome: 'remove' };
  if (object.metadata.deletionTimestamp) {
    const isSame = equalJson(finalizers, object.metadata.finalizers ?? []);
    return { outcome: 'keep', next: isSame ? object : marked };
  }
  marked.metadata.deletionTimestamp = nowIso;
  marked.metadata.deletionGracePeriodSeconds = 0;
  if (object.metadata.generation !== undefined) marked.metadata.generation = object.metadata.generation + 1;
  if (isNamespace(kind)) {
    delete marked.metadata.deletionGracePeriodSeconds;
    marked.status = { ...(marked as Namespace).status, phase: 'Terminating' };
  }
  return { outcome: 'keep', next: marked };
}

/** True if no finalizer keeps the object. Then a marked object can be removed. */
export function isReadyToGo(kind: Kind, object: KubeObject): boolean {
  if ((object.metadata.finalizers?.length ?? 0) > 0) return false;
  return !isNamespace(kind) || ((object as Namespace).spec?.finalizers?.length ?? 0) === 0;
}

function withPolicy(finalizers: readonly string[], policy: DeleteOptions['propagationPolicy']): string[] {
  if (policy === undefined) return [...finalizers];
  const wanted = { Orphan: orphanFinalizer, Foreground: foregroundFinalizer, Background: undefined }[policy];
  const others = finalizers.filter((name) => name !== orphanFinalizer && name !== foregroundFinalizer);
  if (wanted === undefined) return others;
  return finalizers.includes(wanted) && finalizers.length === others.length + 1 ? [...finalizers] : [...others, wanted];
}
