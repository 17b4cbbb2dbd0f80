/** Decides by the AccessGrants of one node. The index follows the grants one by one, like the index of RBAC objects. */
import { compareText } from '../object/text-order.ts';
import { type AccessGrantObject, checkAccessGrant } from './access-grant.ts';
import type { AccessAttributes, Requester } from './attributes.ts';
import {
  type AccessPlace,
  reachesRequest,
  type ScopePart,
  scopeHasPart,
  scopeHasPlace,
  scopeNamespaces,
} from './grant-scope.ts';
import { type HeldRules, joined, notFoundText, type Rbac } from './rbac.ts';
import type { PolicyRule } from './rbac-objects.ts';
import type { AccessDecision } from './refusal.ts';
import { ruleAllows } from './rules.ts';
import { SubjectIndex } from './subject-index.ts';
import { describeSubject, isPrivileged, keysOf, subjectKey } from './subjects.ts';

export class AccessGrants {
  readonly #rbac: Rbac;
  readonly #path: string;
  readonly #grants = new SubjectIndex<AccessGrantObject>();

  /** The ClusterRoles of `rbac` are the roles of the grants. `path` is the path of this node. */
  constructor(rbac: Rbac, path: string) {
    this.#rbac = rbac;
    this.#path = path;
  }

  /** A grant with a mistake gives nothing: the index would have to guess what its author meant. */
  put(grant: AccessGrantObject): void {
    const name = grant.metadata.name!;
    if (checkAccessGrant(grant, this.#path).length > 0) return this.#grants.remove(name);
    const keys = grant.spec.subjects.map((subject) => subjectKey(subject, ''));
    this.#grants.put(name, grant, keys);
  }

  remove(name: string): void {
    this.#grants.remove(name);
  }

  /** All grants without a mistake. */
  all(): Iterable<AccessGrantObject> {
    return this.#grants.values();
  }

  /** Whether a grant allows the request at the place. */
  decide(attributes: AccessAttributes, place: AccessPlace): AccessDecision {
    const { user } = attributes;
    if (isPrivileged(user)) return { allowed: true, reason: '' };
    const missing: string[] = [];
    for (const grant of this.#grants.of(user)) {
      const { scope, roleRef } = grant.spec;
      if (!scopeHasPlace(scope, place, this.#path) || !reachesRequest(scopeNamespaces(scope), attributes)) continue;
      const rules = this.#rbac.rulesOfRole(roleRef, '');
      if (!rules) missing.push(notFoundText(roleRef));
      else if (rules.some((rule) => ruleAllows(rule, attributes))) {
        return { allowed: true, reason: `Banyan: allowed by ${describeGrant(grant, user)}` };
      }
    }
    return { allowed: false, reason: missing.length === 0 ? '' : `Banyan: ${joined(missing.sort(compareText))}` };
  }

  /** Whether any grant gives the user a right at the place. */
  reaches(user: Requester, place: AccessPlace): boolean {
    for (const grant of this.#grants.of(user)) if (scopeHasPlace(grant.spec.scope, place, this.#path)) return true;
    return isPrivileged(user);
  }

  /** All rules that the user has in a namespace of the place, for `kubectl auth can-i --list`. */
  rulesAt(user: Requester, place: AccessPlace, namespace: string): HeldRules {
    return this.rulesOfPart(user, { place, namespace });
  }

  /** The rules of all grants of the user that have the whole part in their scope. */
  rulesOfPart(user: Requester, part: ScopePart): HeldRules {
    const rules: PolicyRule[] = [];
    const missing: string[] = [];
    const order = (a: AccessGrantObject, b: AccessGrantObject) => compareText(a.metadata.name!, b.metadata.name!);
    for (const { spec } of [...this.#grants.of(user)].sort(order)) {
      if (!scopeHasPart(spec.scope, part, this.#path)) continue;
      const found = this.#rbac.rulesOfRole(spec.roleRef, '');
      if (!found) missing.push(notFoundText(spec.roleRef));
      // A grant for some namespaces reaches no URL.
      else rules.push(...(scopeNamespaces(spec.scope) ? found.filter(({ resources }) => resources) : found));
    }
    return { rules, missing };
  }
}

/** `AccessGrant "tills" of ClusterRole "view" to User "alice"` */
function describeGrant({ metadata, spec }: AccessGrantObject, user: Requester): string {
  const keys = keysOf(user);
  const subject = spec.subjects.find((one) => keys.includes(subjectKey(one, '') ?? ''))!;
  return `AccessGrant ${JSON.stringify(metadata.name)} of ClusterRole ${JSON.stringify(spec.roleRef.name)} to ${describeSubject(subject, '')}`;
}
