/** Short forms of RBAC objects for tests. */
import type { Requester } from '../../../../core/access/attributes.ts';
import {
  type BindingObject,
  type ClusterRoleObject,
  type PolicyRule,
  type RbacSubject,
  rbacGroup,
} from '../../../../core/access/rbac-objects.ts';

const apiVersion = `${rbacGroup}/v1`;

export const user = (name: string, ...groups: readonly string[]): Requester => ({ name, groups });
export const userSubject = (name: string): RbacSubject => ({ kind: 'User', apiGroup: rbacGroup, name });
export const groupSubject = (name: string): RbacSubject => ({ kind: 'Group', apiGroup: rbacGroup, name });

/** `rule('get list', 'pods pods/log')`: of the core group, if no other is named. */
export function rule(verbs: string, resources: string, more: Partial<PolicyRule> = {}): PolicyRule {
  return { verbs: verbs.split(' '), apiGroups: [''], resources: resources.split(' '), ...more };
}

export function clusterRole(
  name: string,
  rules: readonly PolicyRule[],
  more: { readonly labels?: Record<string, string>; readonly selects?: readonly Record<string, string>[] } = {},
): ClusterRoleObject {
  const { labels, selects } = more;
  return {
    apiVersion,
    kind: 'ClusterRole',
    metadata: { name, ...(labels ? { labels } : {}) },
    rules,
    ...(selects ? { aggregationRule: { clusterRoleSelectors: selects.map((matchLabels) => ({ matchLabels })) } } : {}),
  };
}

export function role(namespace: string, name: string, rules: readonly PolicyRule[]): ClusterRoleObject {
  return { apiVersion, kind: 'Role', metadata: { namespace, name }, rules };
}

export function clusterRoleBinding(name: string, roleName: string, ...subjects: readonly RbacSubject[]): BindingObject {
  const roleRef = { apiGroup: rbacGroup, kind: 'ClusterRole', name: roleName };
  return { apiVersion, kind: 'ClusterRoleBinding', metadata: { name }, roleRef, subjects };
}

/** `roleName` is `Role/x` or `ClusterRole/x`. */
export function roleBinding(
  namespace: string,
  name: string,
  roleName: string,
  ...subjects: readonly RbacSubject[]
): BindingObject {
  const [kind = '', refName = ''] = roleName.split('/');
  const roleRef = { apiGroup: rbacGroup, kind, name: refName };
  return { apiVersion, kind: 'RoleBinding', metadata: { namespace, name }, roleRef, subjects };
}
