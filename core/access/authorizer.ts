/** Decides about the requests at one node: by the RBAC objects of its system space, and by its AccessGrants. */
import { AccessGrants } from './access-grants.ts';
import { type AccessAttributes, isForResource, type Requester } from './attributes.ts';
import type { AccessPlace } from './grant-scope.ts';
import type { HeldRules, Rbac, Rights } from './rbac.ts';
import type { PolicyRule } from './rbac-objects.ts';
import type { AccessDecision } from './refusal.ts';
import { isPrivileged } from './subjects.ts';
import { systemRights } from './system-rights.ts';

export interface Authorizer {
  decide(attributes: AccessAttributes, place: AccessPlace): AccessDecision;
  /** All rules of the user in a namespace of the place. An empty namespace: only the rules for the whole place. */
  rulesAt(user: Requester, place: AccessPlace, namespace: string): HeldRules;
  /** Whether the user has any right at the place. */
  reaches(user: Requester, place: AccessPlace): boolean;
}

/** Groups of API resources with which users ask about themselves. The answers say nothing about anybody else. */
const reviewGroups: ReadonlySet<string> = new Set(['authentication.k8s.io', 'authorization.k8s.io']);

export class NodeAuthorizer implements Authorizer {
  readonly grants: AccessGrants;
  /** The rights in the system space. */
  readonly rights: Rights;
  readonly #path: string;

  /** `path` is the path of the node. */
  constructor(rbac: Rbac, path: string) {
    this.#path = path;
    this.grants = new AccessGrants(rbac, path);
    this.rights = systemRights(rbac, this.grants, path);
  }

  decide(attributes: AccessAttributes, place: AccessPlace): AccessDecision {
    if (this.#isHere(place)) return this.rights.decide(attributes);
    const byGrant = this.grants.decide(attributes, place);
    if (byGrant.allowed || !this.#isForEverybody(attributes, place)) return byGrant;
    const byRole = this.rights.decide(attributes);
    return byRole.allowed ? byRole : byGrant;
  }

  rulesAt(user: Requester, place: AccessPlace, namespace: string): HeldRules {
    if (this.#isHere(place)) return this.rights.rulesOf(user, namespace);
    const granted = this.grants.rulesAt(user, place, namespace);
    const ofNode = this.rights.rulesOf(user, '').rules;
    const shared = isPrivileged(user) ? ofNode : ofNode.filter((rule) => this.#isRuleForEverybody(rule, user, place));
    return { rules: [...shared, ...granted.rules], missing: granted.missing };
  }

  reaches(user: Requester, place: AccessPlace): boolean {
    return this.grants.reaches(user, place);
  }

  /**
   * Whether the roles of the system space decide too. Discovery and the version are for everybody who has any right at the place: the names of kinds say what a
   * team runs. Questions about oneself are for everybody.
   */
  #isForEverybody(attributes: AccessAttributes, place: AccessPlace): boolean {
    if (isForResource(attributes)) return reviewGroups.has(attributes.apiGroup);
    return this.reaches(attributes.user, place);
  }

  /** Whether a rule of the system space's roles holds at the place, as `#isForEverybody` says of a request. */
  #isRuleForEverybody({ apiGroups = [], resources }: PolicyRule, user: Requester, place: AccessPlace): boolean {
    return resources ? apiGroups.every((group) => reviewGroups.has(group)) : this.reaches(user, place);
  }

  #isHere(place: AccessPlace): boolean {
    return 'node' in place && place.node === this.#path;
  }
}

/** For an API without RBAC objects of its own: members of system:masters may do everything, and nobody else anything. */
export const onlyPrivileged: Authorizer = {
  decide: ({ user }) => ({
    allowed: isPrivileged(user),
    reason: isPrivileged(user) ? '' : 'only members of system:masters may use this API',
  }),
  rulesAt: () => ({ rules: [], missing: [] }),
  reaches: isPrivileged,
};
