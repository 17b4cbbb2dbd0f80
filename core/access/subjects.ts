/** Users, groups and ServiceAccounts: which subjects of a binding mean a user. */
import type { Requester } from './attributes.ts';
import type { RbacSubject } from './rbac-objects.ts';

/** ClusterRole, and group of users, that may read metrics. */
export const metricsRole = 'banyan:metrics';

/** Members may do everything, even if no binding says so: somebody must be able to repair the bindings. Kubernetes gives the group the same rights. */
export const privilegedGroup = 'system:masters';
export const authenticatedGroup = 'system:authenticated';
export const unauthenticatedGroup = 'system:unauthenticated';
/** Users for whom a node above vouches. */
export const fromAboveGroup = 'banyan:from-above';

const serviceAccountPrefix = 'system:serviceaccount:';
const serviceAccountsGroup = 'system:serviceaccounts';

export function isPrivileged(user: Requester): boolean {
  return user.groups.includes(privilegedGroup);
}

/** The name with which a ServiceAccount signs in. */
export function serviceAccountName(namespace: string, name: string): string {
  return `${serviceAccountPrefix}${namespace}:${name}`;
}

/** Kubernetes gives these groups to every ServiceAccount of the namespace. */
export function serviceAccountGroups(namespace: string): string[] {
  return [serviceAccountsGroup, `${serviceAccountsGroup}:${namespace}`, authenticatedGroup];
}

/** The ServiceAccount that signs in with this name. Undefined for all other users. */
export function serviceAccountOf(userName: string): { readonly namespace: string; readonly name: string } | undefined {
  if (!userName.startsWith(serviceAccountPrefix)) return undefined;
  const [namespace = '', name = '', ...more] = userName.slice(serviceAccountPrefix.length).split(':');
  return namespace === '' || name === '' || more.length > 0 ? undefined : { namespace, name };
}

/**
 * The key of everybody whom a subject means. A subject means a user exactly if its key is one of the user's. Undefined: the subject means nobody.
 * A ServiceAccount has the key of the user as whom it signs in, so a subject of kind User can mean a ServiceAccount too.
 */
export function subjectKey(subject: RbacSubject, bindingNamespace: string): string | undefined {
  switch (subject.kind) {
    case 'User':
      return userKey(subject.name);
    case 'Group':
      return groupKey(subject.name);
    case 'ServiceAccount': {
      const namespace = subject.namespace || bindingNamespace;
      return namespace === '' ? undefined : userKey(serviceAccountName(namespace, subject.name));
    }
    default:
      return undefined;
  }
}

/** The keys of all subjects that mean the user. */
export function keysOf(user: Requester): string[] {
  return [...new Set([userKey(user.name), ...user.groups.map(groupKey)])];
}

/** The subject in the words of kube-apiserver: `Group "ops"`, `ServiceAccount "till/shop"`. */
export function describeSubject({ kind, name, namespace }: RbacSubject, bindingNamespace: string): string {
  const shown = kind === 'ServiceAccount' ? `${name}/${namespace || bindingNamespace}` : name;
  return `${kind} ${JSON.stringify(shown)}`;
}

function userKey(name: string): string {
  return `User/${name}`;
}

function groupKey(name: string): string {
  return `Group/${name}`;
}
