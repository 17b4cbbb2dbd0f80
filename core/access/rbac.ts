/**
 * Decides by the RBAC objects of one space, as kube-apiserver with `--authorization-mode=RBAC` does. The index follows the objects one by one: a change
 * costs what the changed object costs, and a decision looks only at the bindings that mean the user.
 */

import type { KubeObject } from '../object/meta.ts';
import { compareText } from '../object/text-order.ts';
import { ClusterRoleRules } from './aggregation.ts';
import { type AccessAttributes, isForResource, type Requester } from './attributes.ts';
import type {
  BindingObject,
  ClusterRoleObject,
  PolicyRule,
  RbacKind,
  RbacSubject,
  RoleObject,
  RoleRef,
} from './rbac-objects.ts';
import { rbacGroup } from './rbac-objects.ts';
import type { AccessDecision } from './refusal.ts';
import { ruleAllows } from './rules.ts';
import { SubjectIndex } from './subject-index.ts';
import { describeSubject, isPrivileged, keysOf, subjectKey } from './subjects.ts';

/** The rules that a user has in one namespace. */
export interface HeldRules {
  readonly rules: readonly PolicyRule[];
  /** For each missing role of the user's bindings: the message of kube-apiserver. */
  readonly missing: readonly string[];
}

/** The status of a SelfSubjectRulesReview. */
export interface RulesReview {
  readonly resourceRules: readonly Omit<PolicyRule, 'nonResourceURLs'>[];
  readonly nonResourceRules: readonly Pick<PolicyRule, 'verbs' | 'nonResourceURLs'>[];
  readonly incomplete: boolean;
  readonly evaluationError?: string;
}

/** The rights of users in the system space of a node. */
export type Rights = Pick<Rbac, 'decide' | 'rulesOf' | 'rulesOfRole' | 'rolesThatGet'>;

interface Binding {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly roleRef: RoleRef;
  readonly subjects: readonly RbacSubject[];
}

export class Rbac {
  /** By namespace, then by name. */
  readonly #roles = new Map<string, Map<string, readonly PolicyRule[]>>();
  readonly #clusterRoles = new ClusterRoleRules();
  /** By namespace. The ClusterRoleBindings are under the empty text. */
  readonly #bindings = new Map<string, SubjectIndex<Binding>>();

  /**
   * Adds or replaces a Role, ClusterRole, RoleBinding or ClusterRoleBinding. Returns the names of the aggregated ClusterRoles whose objects now
   * show other rules than the role has. The space writes the rules of `rulesOfRole` into these objects, and puts the objects here again.
   */
  put(object: KubeObject): string[] {
    const { kind, metadata } = object;
    const { namespace = '', name = '' } = metadata;
    switch (kind as RbacKind) {
      case 'ClusterRole':
        return this.#clusterRoles.put(object as ClusterRoleObject);
      case 'Role':
        put(this.#roles, namespace, name, (object as RoleObject).rules ?? []);
        return [];
      case 'RoleBinding':
      case 'ClusterRoleBinding':
        this.#putBinding(object as BindingObject);
        return [];
    }
  }

  /** Returns the same names as `put`. */
  remove(kind: RbacKind, { namespace, name }: { readonly namespace: string; readonly name: string }): string[] {
    switch (kind) {
      case 'ClusterRole':
        return this.#clusterRoles.remove(name);
      case 'Role': {
        const roles = this.#roles.get(namespace);
        roles?.delete(name);
        if (roles?.size === 0) this.#roles.delete(namespace);
        return [];
      }
      case 'RoleBinding':
      case 'ClusterRoleBinding': {
        const bindings = this.#bindings.get(namespace);
        bindings?.remove(name);
        if (bindings?.size === 0) this.#bindings.delete(namespace);
        return [];
      }
    }
  }

  decide(attributes: AccessAttributes): AccessDecision {
    const { user } = attributes;
    if (isPrivileged(user)) return { allowed: true, reason: '' };
    const missing: string[] = [];
    for (const binding of this.#bindingsOf(user, isForResource(attributes) ? attributes.namespace : '')) {
      const rules = this.#rulesOfBinding(binding);
      if (!rules) missing.push(notFoundText(binding.roleRef));
      else if (rules.some((rule) => ruleAllows(rule, attributes))) {
        return { allowed: true, reason: `RBAC: allowed by ${describeBinding(binding, user)}` };
      }
    }
    return { allowed: false, reason: missing.length === 0 ? '' : `RBAC: ${joined(missing.sort(compareText))}` };
  }

  /** The rules of the role to which a binding in the namespace refers. Undefined: the role does not exist. */
  rulesOfRole({ kind, name }: RoleRef, namespace: string): readonly PolicyRule[] | undefined {
    return kind === 'ClusterRole' ? this.#clusterRoles.rulesOf(name) : this.#roles.get(namespace)?.get(name);
  }

  /** The names of the ClusterRoles that get the rules of this one: the role itself, and the aggregated roles that choose it. */
  rolesThatGet({ metadata }: ClusterRoleObject): string[] {
    return [metadata.name!, ...this.#clusterRoles.choosersOf(metadata.labels ?? {})];
  }

  /** All rules of the user in the namespace. An empty namespace: only the rules that hold everywhere. */
  rulesOf(user: Requester, namespace: string): HeldRules {
    const rules: PolicyRule[] = [];
    const missing: string[] = [];
    const order = (a: Binding, b: Binding) => compareText(a.namespace, b.namespace) || compareText(a.name, b.name);
    for (const binding of [...this.#bindingsOf(user, namespace)].sort(order)) {
      const found = this.#rulesOfBinding(binding);
      if (found) rules.push(...found);
      else missing.push(notFoundText(binding.roleRef));
    }
    return { rules, missing };
  }

  #putBinding({ kind, metadata, roleRef, subjects }: BindingObject): void {
    const { namespace = '', name = '' } = metadata;
    // The index would take such a RoleBinding for a ClusterRoleBinding, which gives rights everywhere.
    if ((kind === 'RoleBinding') !== (namespace !== ''))
      throw new Error(`${kind} ${name} in the namespace "${namespace}"`);
    const bindings = this.#bindings.get(namespace) ?? new SubjectIndex<Binding>();
    this.#bindings.set(namespace, bindings);
    const binding = { kind, namespace, name, roleRef, subjects: subjects ?? [] };
    const keys = binding.subjects.map((subject) => subjectKey(subject, namespace));
    bindings.put(name, binding, keys);
  }

  *#bindingsOf(user: Requester, namespace: string): Generator<Binding> {
    yield* this.#bindings.get('')?.of(user) ?? [];
    if (namespace !== '') yield* this.#bindings.get(namespace)?.of(user) ?? [];
  }

  #rulesOfBinding({ roleRef, namespace }: Binding): readonly PolicyRule[] | undefined {
    return this.rulesOfRole(roleRef, namespace);
  }
}

/** The answer to a SelfSubjectRulesReview. A rule with both resources and URLs would appear in both lists. */
export function rulesReview({ rules, missing }: HeldRules): RulesReview {
  const isFilled = (list: readonly string[] | undefined) => list !== undefined && list.length > 0;
  return {
    resourceRules: rules
      .filter(({ resources }) => isFilled(resources))
      .map(({ verbs, apiGroups, resources, resourceNames }) => ({
        verbs,
        apiGroups: apiGroups ?? [],
        resources: resources ?? [],
        ...(isFilled(resourceNames) ? { resourceNames: resourceNames! } : {}),
      })),
    nonResourceRules: rules
      .filter(({ nonResourceURLs }) => isFilled(nonResourceURLs))
      .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs: nonResourceURLs! })),
    incomplete: false,
    ...(missing.length === 0 ? {} : { evaluationError: joined(missing) }),
  };
}

/** `clusterrole.rbac.authorization.k8s.io "x" not found`: kube-apiserver writes the kind in lower case here. */
export function notFoundText({ kind, name }: RoleRef): string {
  return `${kind.toLowerCase()}.${rbacGroup} ${JSON.stringify(name)} not found`;
}

/** Several errors as one text, each once. */
export function joined(messages: readonly string[]): string {
  const unique = [...new Set(messages)];
  return unique.length === 1 ? unique[0]! : `[${unique.join(', ')}]`;
}

/** kube-apiserver writes the name of a RoleBinding before its namespace. */
function describeBinding({ kind, namespace, name, roleRef, subjects }: Binding, user: Requester): string {
  const keys = keysOf(user);
  const subject = subjects.find((one) => keys.includes(subjectKey(one, namespace) ?? ''))!;
  const shown = namespace === '' ? name : `${name}/${namespace}`;
  return `${kind} ${JSON.stringify(shown)} of ${roleRef.kind} ${JSON.stringify(roleRef.name)} to ${describeSubject(subject, namespace)}`;
}

function put<Value>(maps: Map<string, Map<string, Value>>, key: string, name: string, value: Value): void {
  const map = maps.get(key);
  if (map) map.set(name, value);
  else maps.set(key, new Map([[name, value]]));
}
