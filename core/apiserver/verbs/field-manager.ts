/**
 * What the verbs ask of managed fields. The implementation is `managed-fields/field-manager.ts`; the verbs call it at the one
 * place of each write where the outcome is known except for `metadata.managedFields`.
 */
import type { KubeObject } from '../../object/meta.ts';
import type { Kind } from '../space.ts';

export interface FieldManager {
  /**
   * Server-side apply: `config` merged into `live`, with managedFields set. Changes neither argument. `live` and `config` are in
   * `version`; `live` absent: the object is new. The result's identity fields (uid, resourceVersion, creationTimestamp, generation,
   * deletionTimestamp) are those of `live`; the verbs set the rest.
   *
   * Throws Conflict with one cause for each field (reason `FieldManagerConflict`) when other managers own fields that `config`
   * changes and `force` is false.
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
   * Update, create and patch: sets `next.metadata.managedFields` from that of `live` and from what differs between the two. What the
   * client sent as `next.metadata.managedFields` stands in `next`, if it sent any: an empty list (or one empty entry) resets, absent
   * keeps those of `live`. Changes nothing else, and leaves the entries (times too) alone when nothing differs.
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
