/**
 * The contract between the verbs and managed fields. `managed-fields/field-manager.ts` implements it. Each verb calls it once, at the point of a write
 * where only `metadata.managedFields` of the result is still missing.
 */
import type { KubeObject } from '../../object/meta.ts';
import type { Kind } from '../space.ts';

export interface FieldManager {
  /**
   * Server-side apply: returns `config` merged into `live`, with managedFields. Changes neither argument. `live` and `config` are in `version`. `live` is
   * absent for a new object. The identity fields of the result (uid, resourceVersion, creationTimestamp, generation, deletionTimestamp) are those of
   * `live`. The verbs set the rest.
   *
   * Throws Conflict if other managers own fields that `config` changes and `force` is false, with one cause for each field (reason `FieldManagerConflict`).
   */
  apply(
    live: KubeObject | undefined,
    config: KubeObject,
    kind: Kind,
    version: string,
    manager: string,
    force: boolean,
    nowIso: string,
    subresource?: string,
  ): KubeObject;

  /**
   * Update, create and patch: sets `next.metadata.managedFields` from the entries of `live` and the difference between `live` and `next`. On entry,
   * `next.metadata.managedFields` has the list that the client sent, if any. A list with one empty entry resets the entries; an empty or absent list keeps
   * those of `live`. Changes nothing else. If nothing differs, the entries stay unchanged, also their times.
   */
  update(
    live: KubeObject | undefined,
    next: KubeObject,
    kind: Kind,
    version: string,
    manager: string,
    nowIso: string,
    subresource?: string,
  ): void;
}
