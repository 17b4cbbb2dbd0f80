/**
 * The contract between the verbs and managed fields. `managed-fields/field-manager.ts` implements it. Each verb makes one call, when everything in the
 * result is final except `metadata.managedFields`.
 */
import type { KubeObject } from '../../object/meta.ts';
import type { Kind } from '../space.ts';

export interface FieldManager {
  /** Why nobody can own the fields of a configuration: the lists whose items have no key of their own. Empty: `apply` may be called. */
  mistakes(config: KubeObject, kind: Kind, version: string): readonly string[];

  /**
   * Server-side apply. Returns `config` merged into `live`, with managedFields. Changes neither argument. `live` and `config` are in `version`. `live` is
   * absent for a new object. The identity fields of the result (uid, resourceVersion, creationTimestamp, generation, deletionTimestamp) are those of
   * `live`. The verbs set all other server fields.
   *
   * Throws Conflict if `force` is false and other managers own fields that `config` changes. The error has one cause for each field (reason
   * `FieldManagerConflict`).
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
   * Update, create and patch. Sets `next.metadata.managedFields` from the entries of `live` and from the difference between `live` and `next`. Before the
   * call, `next.metadata.managedFields` is the list that the client has sent, if any. A list with one empty entry resets the entries. An empty or absent
   * list keeps the entries of `live`. Changes nothing else. If the objects do not differ, the entries stay unchanged, including their times.
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

  /**
   * The old state for a write of the whole object in `apiVersion`, if the old state can't be converted to this version: the metadata, and the entries of its
   * owners.
   */
  withoutContent(live: KubeObject, apiVersion: string): KubeObject;

  /** Throws Conflict if such a write by this applier would take content from other managers. */
  checkRewrite(live: KubeObject, applier: string): void;
}
