/**
 * Random roles, bindings and requests, from one seed. The sets are rich in near misses: a request is made from a rule, and then often changed in one field.
 * Names contain the number of the set, so all sets can be at one API server at the same time.
 */
import type { Requester, ReviewedRequest } from '../../core/access/attributes.ts';
import {
  type BindingObject,
  type PolicyRule,
  type RbacSubject,
  type RoleObject,
  rbacGroup,
} from '../../core/access/rbac-objects.ts';
import { serviceAccountGroups, serviceAccountName } from '../../core/access/subjects.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { Chance } from '../sim/plan/chance.ts';

export const caseNamespaces = ['shop', 'web'] as const;
/** Members may write all RBAC objects, as far as they hold the rights that the objects give. */
export const writersGroup = 'writers';

export interface RbacCase {
  readonly roles: readonly RoleObject[];
  readonly bindings: readonly BindingObject[];
  readonly reviews: readonly { readonly user: Requester; readonly request: ReviewedRequest }[];
  readonly writes: readonly RbacCaseWrite[];
}

export interface RbacCaseWrite {
  readonly user: Requester;
  readonly object: KubeObject;
  /** Present for an update. */
  readonly old?: KubeObject;
}

const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection', '*', 'GET', ''];
const apiGroups = ['', 'apps', 'batch', '*', 'example.com', 'app'];
const resources = [
  ...['pods', 'pods/log', 'pods/exec', 'pods/*', 'log', '*/log', '*/scale', '*', '*/*', '*/', '/log'],
  ...['deployments', 'deployments/scale', 'secrets', 'namespaces', 'Pods'],
];
const names = ['a', 'b', '*', '', 'ab'];
const urls = [
  '/metrics',
  '/metrics/',
  '/healthz',
  '/healthz/*',
  '/heal*',
  '*',
  '/logs/**',
  '/*',
  '/x*y',
  '/healthz/etcd',
  '/',
];
const reviewsPerCase = 12;
const writesPerCase = 2;

const apiVersion = `${rbacGroup}/v1`;

export function rbacCase(seed: number): RbacCase {
  const chance = new Chance(seed);
  const roles = [0, 1, 2, 3].map((index) => roleOf(chance, seed, index));
  const bindings = [0, 1, 2, 3].map((index) => bindingOf(chance, seed, index));
  const rules = roles.flatMap((role) => role.rules ?? []);
  const reviews = Array.from({ length: reviewsPerCase }, () => ({
    user: userOf(chance, seed),
    request: requestNear(chance, chance.of(rules)),
  }));
  const writes = Array.from({ length: writesPerCase }, (_, index) => writeOf(chance, seed, index, roles, bindings));
  return { roles, bindings, reviews, writes };
}

function roleOf(chance: Chance, seed: number, index: number): RoleObject {
  const isClusterRole = index >= 2;
  const metadata = { name: `r${index}-${seed}`, ...(isClusterRole ? {} : { namespace: caseNamespaces[index] }) };
  const rules = Array.from({ length: 1 + chance.below(3) }, () => ruleOf(chance, seed, isClusterRole));
  return { apiVersion, kind: isClusterRole ? 'ClusterRole' : 'Role', metadata, rules };
}

function ruleOf(chance: Chance, seed: number, mayHaveUrls: boolean): PolicyRule {
  if (chance.is(0.15)) return authorityRule(chance, seed);
  if (mayHaveUrls && chance.is(0.25)) return { verbs: some(chance, verbs), nonResourceURLs: some(chance, urls) };
  return {
    verbs: some(chance, verbs),
    apiGroups: some(chance, apiGroups),
    resources: some(chance, resources),
    ...(chance.is(0.4) ? { resourceNames: chance.is(0.15) ? [] : some(chance, names) } : {}),
  };
}

/** A rule about `bind` and `escalate`. */
function authorityRule(chance: Chance, seed: number): PolicyRule {
  const roleNames = [0, 1, 2, 3].map((index) => `r${index}-${seed}`);
  return {
    verbs: [chance.of(['bind', 'escalate', '*'])],
    apiGroups: [chance.of([rbacGroup, '*'])],
    resources: some(chance, ['roles', 'clusterroles', '*/bind']),
    ...(chance.is(0.6) ? { resourceNames: some(chance, roleNames) } : {}),
  };
}

function bindingOf(chance: Chance, seed: number, index: number): BindingObject {
  const isClusterBinding = index >= 2;
  const metadata = {
    name: `b${index}-${seed}`,
    ...(isClusterBinding ? {} : { namespace: chance.of(caseNamespaces) }),
  };
  const kind = isClusterBinding ? 'ClusterRoleBinding' : 'RoleBinding';
  const subjects = Array.from({ length: chance.is(0.1) ? 0 : 1 + chance.below(4) }, () =>
    subjectOf(chance, seed, isClusterBinding),
  );
  return { apiVersion, kind, metadata, roleRef: roleRefOf(chance, seed, isClusterBinding), subjects };
}

function roleRefOf(chance: Chance, seed: number, isForCluster: boolean): BindingObject['roleRef'] {
  const kind = isForCluster || chance.is(0.5) ? 'ClusterRole' : 'Role';
  // The number 4 is of no role, and a Role may be in the other namespace.
  const index = kind === 'ClusterRole' ? chance.of([2, 2, 3, 3, 4]) : chance.of([0, 1, 0, 1, 2]);
  return { apiGroup: rbacGroup, kind, name: `r${index}-${seed}` };
}

function subjectOf(chance: Chance, seed: number, needsNamespace: boolean): RbacSubject {
  const namespace = chance.of(caseNamespaces);
  const ofKind = (kind: string, name: string) => ({ kind, apiGroup: rbacGroup, name });
  switch (chance.below(6)) {
    case 0:
      return {
        kind: 'ServiceAccount',
        name: `till-${seed}`,
        ...(needsNamespace || chance.is(0.5) ? { namespace } : {}),
      };
    case 1:
      return ofKind('User', serviceAccountName(namespace, `till-${seed}`));
    case 2:
      return ofKind('Group', chance.of([`ops-${seed}`, `alice-${seed}`, `system:serviceaccounts:${namespace}`]));
    case 3:
      return ofKind('Group', `ops-${seed}`);
    default:
      return ofKind('User', chance.of([`alice-${seed}`, `bob-${seed}`, `ops-${seed}`]));
  }
}

function userOf(chance: Chance, seed: number): Requester {
  const namespace = chance.of(caseNamespaces);
  const groups = chance.is(0.4) ? [`ops-${seed}`, 'system:authenticated'] : ['system:authenticated'];
  if (chance.is(0.7)) return { name: chance.of([`alice-${seed}`, `bob-${seed}`]), groups };
  const name = serviceAccountName(namespace, `till-${seed}`);
  return { name, groups: chance.is(0.7) ? serviceAccountGroups(namespace) : groups };
}

/** A request that the rule allows, or that it nearly allows. */
function requestNear(chance: Chance, rule: PolicyRule): ReviewedRequest {
  const concrete = (list: readonly string[], all: readonly string[]) => {
    const chosen = chance.is(0.12) ? chance.of(all) : chance.of(list);
    return chosen === '*' && chance.is(0.8) ? chance.of(all) : chosen;
  };
  const verb = concrete(rule.verbs, verbs);
  if (rule.nonResourceURLs || chance.is(0.05)) {
    const path = concrete(rule.nonResourceURLs ?? urls, urls);
    return {
      nonResourceAttributes: { verb, path: chance.is(0.5) ? path.replace('*', chance.of(['', 'x', '/y'])) : path },
    };
  }
  const [resource = '', subresource = ''] = concrete(rule.resources!, resources).split('/');
  return {
    resourceAttributes: {
      verb,
      group: concrete(rule.apiGroups!, apiGroups),
      resource: resource === '*' && chance.is(0.8) ? chance.of(['pods', 'deployments']) : resource,
      subresource: chance.is(0.1) ? 'log' : subresource,
      namespace: chance.of([...caseNamespaces, ...caseNamespaces, '']),
      name: chance.is(0.3) ? '' : concrete(rule.resourceNames?.length ? rule.resourceNames : names, names),
    },
  };
}

function writeOf(
  chance: Chance,
  seed: number,
  index: number,
  roles: readonly RoleObject[],
  bindings: readonly BindingObject[],
): RbacCaseWrite {
  const { name, groups } = userOf(chance, seed);
  const user = { name, groups: [...new Set([writersGroup, ...groups, 'system:authenticated'])] };
  switch (chance.below(5)) {
    case 0: {
      const old = chance.of(roles);
      return { user, old, object: changed(chance, old) };
    }
    case 1: {
      const old = chance.of(bindings);
      return { user, old, object: changed(chance, old) };
    }
    case 2: {
      const object = bindingOf(chance, seed, chance.below(4));
      return { user, object: { ...object, metadata: { ...object.metadata, name: `new${index}-${seed}` } } };
    }
    default: {
      const object = roleOf(chance, seed, chance.below(4));
      const rules = [...narrowed(chance, chance.of(roles).rules!), ...(chance.is(0.2) ? object.rules! : [])];
      const isRole = object.kind === 'Role';
      return {
        user,
        object: {
          ...object,
          metadata: { ...object.metadata, name: `new${index}-${seed}` },
          rules: rules.filter(({ nonResourceURLs }) => !isRole || !nonResourceURLs),
          ...(!isRole && chance.is(0.15)
            ? { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] } }
            : {}),
        },
      };
    }
  }
}

/** The same object with one change: only for garbage collectors, or a label, or none. */
function changed(chance: Chance, old: KubeObject): KubeObject {
  const change = chance.of([{ finalizers: ['example.com/wait'] }, { labels: { a: 'b' } }, {}]);
  return { ...old, metadata: { ...old.metadata, ...change } };
}

/** Rules that a holder of `rules` nearly holds: some parts of them, with names, or with one more verb. */
function narrowed(chance: Chance, rules: readonly PolicyRule[]): PolicyRule[] {
  return some(chance, rules).map((rule) => ({
    ...rule,
    verbs: chance.is(0.3) ? [...rule.verbs, chance.of(verbs)] : some(chance, rule.verbs),
    ...(rule.resources && chance.is(0.3) ? { resourceNames: some(chance, names) } : {}),
    ...(rule.resources && chance.is(0.3) ? { resources: rule.resources.map((one) => one.replace('*/', 'pods/')) } : {}),
    ...(rule.nonResourceURLs && chance.is(0.3)
      ? { nonResourceURLs: rule.nonResourceURLs.map((url) => url.replace('*', chance.of(['x', 'x*', '**']))) }
      : {}),
  }));
}

/** At least one of the list, in its order. */
function some<T>(chance: Chance, list: readonly T[]): T[] {
  const count = 1 + chance.below(Math.min(3, list.length));
  const chosen = new Set(Array.from({ length: count }, () => chance.below(list.length)));
  return list.filter((_, index) => chosen.has(index));
}
