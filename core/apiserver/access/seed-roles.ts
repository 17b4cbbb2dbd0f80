/** Writes the default roles and bindings that a system space lacks. Objects that a person has changed or that carry other rules stay as they are. */

import { defaultClusterRoleBindings, defaultClusterRoles } from '../../access/default-roles.ts';
import { type RbacKind, rbacResource } from '../../access/rbac-objects.ts';
import { canonicalBytes } from '../../object/canonical.ts';
import { timestamp } from '../../object/conditions.ts';
import type { KubeObject } from '../../object/meta.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type Random, uuid } from '../../runtime/random.ts';
import type { SpaceStorage } from '../storage.ts';

/**
 * Without `system:masters`, nobody could repair a space whose roles are gone. So each start writes what is absent. The objects are written below the verbs of the
 * space, in one transaction: they are valid, and a start of a node should cost no more.
 */
export function seedRoles(
  storage: SpaceStorage,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): void {
  const absent = [...defaultClusterRoles, ...defaultClusterRoleBindings].filter(
    (object) => !storage.get(keyOf(object)),
  );
  if (absent.length === 0) return;
  const creationTimestamp = timestamp(clock.wallMs());
  storage.write((writer) => {
    for (const object of absent) {
      const metadata = { ...object.metadata, uid: uuid(random), creationTimestamp };
      writer.put(keyOf(object), canonicalBytes({ ...object, metadata }));
    }
  });
}

function keyOf({ kind, metadata }: KubeObject) {
  return { ...rbacResource(kind as RbacKind), namespace: '', name: metadata.name! };
}
