/** The fields of RBAC objects that decide about access: https://kubernetes.io/docs/reference/access-authn-authz/rbac/ */
import type { GroupResource } from '../object/key.ts';
import type { KubeObject } from '../object/meta.ts';
import type { LabelSelector } from '../object/selector.ts';

export const rbacGroup = 'rbac.authorization.k8s.io';

/** A missing list and an empty list mean the same. A rule has either resources or nonResourceURLs. */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  /** Empty: all names, and requests without a name. */
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** Somebody to whom a binding gives a role. */
export interface RbacSubject {
  readonly kind: string;
  readonly apiGroup?: string;
  readonly name: string;
  /** Only for a ServiceAccount. A RoleBinding may leave it out: the ServiceAccount is then in the namespace of the binding. */
  readonly namespace?: string;
}

export interface RoleRef {
  readonly apiGroup?: string;
  readonly kind: string;
  readonly name: string;
}

export type RbacKind = 'Role' | 'ClusterRole' | 'RoleBinding' | 'ClusterRoleBinding';

export interface RoleObject extends KubeObject {
  rules?: readonly PolicyRule[] | null;
}

export interface ClusterRoleObject extends RoleObject {
  aggregationRule?: { readonly clusterRoleSelectors?: readonly LabelSelector[] };
}

export interface BindingObject extends KubeObject {
  roleRef: RoleRef;
  subjects?: readonly RbacSubject[] | null;
}

const resources: Readonly<Record<RbacKind, string>> = {
  Role: 'roles',
  ClusterRole: 'clusterroles',
  RoleBinding: 'rolebindings',
  ClusterRoleBinding: 'clusterrolebindings',
};

/** The kind of the objects of a resource. Undefined for all resources that have nothing to do with RBAC. */
export function rbacKindOf({ group, resource }: GroupResource): RbacKind | undefined {
  if (group !== rbacGroup) return undefined;
  return (Object.keys(resources) as RbacKind[]).find((kind) => resources[kind] === resource);
}

export function rbacResource(kind: RbacKind): GroupResource {
  return { group: rbacGroup, resource: resources[kind] };
}

export function isBindingKind(kind: RbacKind): kind is 'RoleBinding' | 'ClusterRoleBinding' {
  return kind === 'RoleBinding' || kind === 'ClusterRoleBinding';
}
