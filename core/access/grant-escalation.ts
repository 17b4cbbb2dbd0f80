/** Nobody gives away more than they have, at each place that an AccessGrant names. */
import { BanyanError } from '../runtime/errors.ts';
import type { AccessGrantObject } from './access-grant.ts';
import type { AccessGrants } from './access-grants.ts';
import type { Requester } from './attributes.ts';
import { fullAuthority, missingRules } from './covers.ts';
import { lackingText, mayBind, onlyGarbageCollectionChanges } from './escalation.ts';
import { describePart, scopeNamespaces, scopeParts } from './grant-scope.ts';
import { notFoundText, type Rbac } from './rbac.ts';
import { rbacGroup } from './rbac-objects.ts';
import { objectForbidden } from './refusal.ts';
import { isPrivileged } from './subjects.ts';

export interface GrantWrite {
  readonly user: Requester;
  readonly object: AccessGrantObject;
  /** Absent for a create. */
  readonly old?: AccessGrantObject;
}

/**
 * Throws Forbidden, or NotFound if the role does not exist. The rights of the user in the system space do not count at other places: somebody who may read
 * the system space may not read all spaces. Only a user with all rights in the system space may give all roles, and a user with the verb `bind` this role.
 */
export function checkGrantWrite(access: { rbac: Rbac; grants: AccessGrants }, { user, object, old }: GrantWrite): void {
  const { rbac, grants } = access;
  const { roleRef, scope } = object.spec;
  if (isPrivileged(user) || mayBind(rbac, user, roleRef, '')) return;
  if (missingRules(rbac.rulesOf(user, '').rules, fullAuthority).length === 0) return;
  if (old && onlyGarbageCollectionChanges(object, old)) return;
  const rules = rbac.rulesOfRole(roleRef, '');
  if (!rules) {
    const details = { group: rbacGroup, kind: 'clusterrole', name: roleRef.name };
    throw new BanyanError('NotFound', notFoundText(roleRef), details);
  }
  const wanted = scopeNamespaces(scope) ? rules.filter(({ resources }) => resources) : rules;
  for (const part of scopeParts(scope)) {
    const lacking = lackingText(user, grants.rulesOfPart(user, part), wanted);
    if (lacking === undefined) continue;
    const of = { group: 'mesh.banyan.io', resource: 'accessgrants' };
    throw objectForbidden(of, object.metadata.name ?? '', `${describePart(part)}, ${lacking}`);
  }
}
