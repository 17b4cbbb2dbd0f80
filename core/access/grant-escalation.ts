/** Nobody gives away more than they have, at each place that an AccessGrant names. */
import { BanyanError } from '../runtime/errors.ts';
import type { AccessGrantObject } from './access-grant.ts';
import type { AccessGrants } from './access-grants.ts';
import type { Requester } from './attributes.ts';
import { fullAuthority, missingRules } from './covers.ts';
import { lackingText, mayBind, mayOnRole, onlyGarbageCollectionChanges, type RbacWrite } from './escalation.ts';
import { describePart, type GrantScope, scopeNamespaces, scopeParts } from './grant-scope.ts';
import { notFoundText, type Rights } from './rbac.ts';
import { type ClusterRoleObject, type PolicyRule, rbacGroup, rbacResource } from './rbac-objects.ts';
import { objectForbidden } from './refusal.ts';
import { isPrivileged } from './subjects.ts';

/** The rights in the system space of the node, and the grants of the node. */
export interface NodeAccess {
  readonly rights: Rights;
  readonly grants: AccessGrants;
}

export interface GrantWrite {
  readonly user: Requester;
  readonly object: AccessGrantObject;
  /** Absent for a create. */
  readonly old?: AccessGrantObject;
}

/**
 * Throws Forbidden, or NotFound if the role does not exist. Call the function for every create and update of an AccessGrant. The rights of the user in the
 * system space do not count at other places: somebody who may read the system space may not read all spaces. Only a user with all rights in the system space
 * may give all roles, and a user with the verb `bind` this role.
 */
export function checkGrantWrite({ rights, grants }: NodeAccess, { user, object, old }: GrantWrite): void {
  const { roleRef, scope } = object.spec;
  if (hasFullAuthority(rights, user) || mayBind(rights, user, roleRef, '')) return;
  if (old && onlyGarbageCollectionChanges(object, old)) return;
  const rules = rights.rulesOfRole(roleRef, '');
  if (!rules) {
    const details = { group: rbacGroup, kind: 'clusterrole', name: roleRef.name };
    throw new BanyanError('NotFound', notFoundText(roleRef), details);
  }
  const lacking = lackingAt(grants, user, scope, rules);
  if (lacking === undefined) return;
  throw objectForbidden({ group: 'mesh.banyan.io', resource: 'accessgrants' }, object.metadata.name ?? '', lacking);
}

/**
 * Throws Forbidden if grants would carry rules to a place where the user does not hold them. Call the function for every create and update of a ClusterRole,
 * after `checkRbacWrite`, which looks only at the rights in the system space.
 */
export function checkGrantedRole({ rights, grants }: NodeAccess, { user, object, old, requestName }: RbacWrite): void {
  if (hasFullAuthority(rights, user) || mayOnRole(rights, user, 'escalate', 'ClusterRole', '', requestName)) return;
  if (old && onlyGarbageCollectionChanges(object, old)) return;
  const role = object as ClusterRoleObject;
  const names = new Set(rights.rolesThatGet(role));
  for (const { metadata, spec } of grants.all()) {
    if (!names.has(spec.roleRef.name)) continue;
    const lacking = lackingAt(grants, user, spec.scope, role.rules ?? []);
    if (lacking === undefined) continue;
    const why = `AccessGrant ${JSON.stringify(metadata.name)} has the role: ${lacking}`;
    throw objectForbidden(rbacResource('ClusterRole'), role.metadata.name ?? '', why);
  }
}

function hasFullAuthority(rights: Rights, user: Requester): boolean {
  return isPrivileged(user) || missingRules(rights.rulesOf(user, '').rules, fullAuthority).length === 0;
}

/** The first part of the scope where the user lacks some of the rules, with these rules. Undefined: the user has all rules in all parts. */
function lackingAt(
  grants: AccessGrants,
  user: Requester,
  scope: GrantScope,
  rules: readonly PolicyRule[],
): string | undefined {
  // A grant for some namespaces reaches no URL.
  const wanted = scopeNamespaces(scope) ? rules.filter(({ resources }) => resources) : rules;
  for (const part of scopeParts(scope)) {
    const lacking = lackingText(user, grants.rulesOfPart(user, part), wanted);
    if (lacking !== undefined) return `${describePart(part)}, ${lacking}`;
  }
  return undefined;
}
