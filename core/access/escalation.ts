/**
 * Nobody gives away more than they have: whoever writes a role or a binding needs all rights of the role, or the verb `escalate` on the role, or the verb
 * `bind` on the role of the binding. The checks and messages are those of kube-apiserver, except that the message about a missing role names the role:
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping
 */
import { equalJson } from '../object/json-value.ts';
import type { KubeObject } from '../object/meta.ts';
import { BanyanError } from '../runtime/errors.ts';
import type { Requester } from './attributes.ts';
import { describeList, describeRules, fullAuthority, missingRules } from './covers.ts';
import { type HeldRules, joined, notFoundText, type Rights } from './rbac.ts';
import {
  type BindingObject,
  type ClusterRoleObject,
  isBindingKind,
  type PolicyRule,
  type RbacKind,
  type RoleRef,
  rbacGroup,
  rbacResource,
} from './rbac-objects.ts';
import { objectForbidden } from './refusal.ts';
import { isPrivileged } from './subjects.ts';

export interface RbacWrite {
  readonly user: Requester;
  readonly object: KubeObject;
  /** Absent for a create. */
  readonly old?: KubeObject;
  /** The name in the URL of the request. Empty for a POST: the verb `escalate` for certain names does not allow a POST. */
  readonly requestName: string;
}

/** Throws Forbidden, or NotFound for a binding to a missing role. Call it for every create and update of the four RBAC kinds. */
export function checkRbacWrite(rights: Rights, write: RbacWrite): void {
  if (isPrivileged(write.user)) return;
  const kind = write.object.kind as RbacKind;
  if (isBindingKind(kind)) checkBindingWrite(rights, kind, write);
  else checkRoleWrite(rights, kind, write);
}

function checkRoleWrite(rights: Rights, kind: RbacKind, { user, object, old, requestName }: RbacWrite): void {
  const { rules, aggregationRule, metadata } = object as ClusterRoleObject;
  const { namespace = '', name = '' } = metadata;
  const { group, resource } = rbacResource(kind);
  if (mayOnRole(rights, user, 'escalate', kind, namespace, requestName)) return;
  if (old && onlyGarbageCollectionChanges(object, old)) return;
  const held = rights.rulesOf(user, namespace);
  const lacking = lackingText(user, held, rules ?? []);
  if (lacking !== undefined) throw objectForbidden({ group, resource }, name, lacking);
  const aggregates = aggregationRule ?? (old as ClusterRoleObject | undefined)?.aggregationRule;
  // An aggregated role gets whatever others write into the roles that it chooses.
  if (aggregates && missingRules(held.rules, fullAuthority).length > 0) {
    throw objectForbidden({ group, resource }, name, 'must have cluster-admin privileges to use the aggregationRule');
  }
}

function checkBindingWrite(rights: Rights, kind: RbacKind, { user, object, old }: RbacWrite): void {
  const { roleRef, metadata } = object as BindingObject;
  const { namespace = '', name = '' } = metadata;
  if (mayBind(rights, user, roleRef, namespace)) return;
  if (old && onlyGarbageCollectionChanges(object, old)) return;
  const rules = rights.rulesOfRole(roleRef, namespace);
  if (!rules) {
    const details = { group: rbacGroup, kind: roleRef.kind.toLowerCase(), name: roleRef.name };
    throw new BanyanError('NotFound', notFoundText(roleRef), details);
  }
  const lacking = lackingText(user, rights.rulesOf(user, namespace), rules);
  if (lacking !== undefined) throw objectForbidden(rbacResource(kind), name, lacking);
}

/** Whether the user has the verb `bind` on the role. */
export function mayBind(rights: Rights, user: Requester, { kind, name }: RoleRef, namespace: string): boolean {
  if (kind !== 'Role' && kind !== 'ClusterRole') return false;
  return mayOnRole(rights, user, 'bind', kind, namespace, name);
}

/** Whether the user has the verb on a role. */
export function mayOnRole(
  rights: Rights,
  user: Requester,
  verb: 'bind' | 'escalate',
  kind: RbacKind,
  namespace: string,
  name: string,
): boolean {
  const { group, resource } = rbacResource(kind);
  return rights.decide({ user, verb, apiGroup: group, resource, subresource: '', namespace, name }).allowed;
}

/** The text that names the wanted rules which the user lacks. Undefined: the user has all of them. */
export function lackingText(user: Requester, held: HeldRules, wanted: readonly PolicyRule[]): string | undefined {
  const lacking = missingRules(held.rules, wanted);
  if (lacking.length === 0) return undefined;
  const who = `user ${JSON.stringify(user.name)} (groups=${describeList(user.groups)})`;
  const errors = held.missing.length === 0 ? '' : `; resolution errors: [${joined(held.missing)}]`;
  return `${who} is attempting to grant RBAC permissions not currently held:\n${describeRules(lacking)}${errors}`;
}

/**
 * True if a write changes only fields that garbage collectors need to delete an object. A garbage collector has few rights of its own, and these fields give
 * nobody a right.
 */
export function onlyGarbageCollectionChanges(object: KubeObject, old: KubeObject): boolean {
  return equalJson(withoutGarbageCollection(object), withoutGarbageCollection(old));
}

function withoutGarbageCollection({ metadata, ...rest }: KubeObject): object {
  const { ownerReferences, finalizers, managedFields, resourceVersion, generation, ...kept } = metadata;
  return { ...rest, metadata: kept };
}
