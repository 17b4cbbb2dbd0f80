/**
 * The rules of all ClusterRoles. An aggregated ClusterRole (`aggregationRule`) has the rules of the ClusterRoles that its selectors choose, instead of rules
 * of its own: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#aggregated-clusterroles
 *
 * Order and duplicates are as in Kubernetes: by selector, then by the name of the chosen role, and each rule once. If aggregated roles choose each other,
 * Kubernetes keeps a rule in the circle for ever. Here, the rules depend only on the present roles, so a rule that was taken away is gone everywhere.
 */

import { equalJson } from '../object/json-value.ts';
import { type LabelSelector, type Labels, matchesSelector } from '../object/selector.ts';
import { compareText } from '../object/text-order.ts';
import type { ClusterRoleObject, PolicyRule } from './rbac-objects.ts';

interface Role {
  readonly labels: Labels;
  rules: readonly PolicyRule[];
  /** The rules in the object. They are those of the role, or the space has yet to write the rules of an aggregated role into its object. */
  readonly shown: readonly PolicyRule[];
  /** Undefined: the role has its own rules. */
  readonly choices: readonly Choice[] | undefined;
}

/** One selector, with the names of the roles that it chooses. */
interface Choice {
  readonly selector: LabelSelector;
  readonly names: Set<string>;
}

export class ClusterRoleRules {
  readonly #roles = new Map<string, Role>();
  /** The aggregated roles. There are few, so each change of a role is compared with all of them. */
  readonly #aggregated = new Map<string, readonly Choice[]>();

  /** Undefined: there is no such role. */
  rulesOf(name: string): readonly PolicyRule[] | undefined {
    return this.#roles.get(name)?.rules;
  }

  /** The names of the aggregated roles that would get the rules of a role with these labels, directly or through others. */
  choosersOf(labels: Labels): string[] {
    const direct = [...this.#aggregated].filter(([, choices]) =>
      choices.some(({ selector }) => matchesSelector(selector, labels)),
    );
    return this.#withDependents(new Set(direct.map(([name]) => name)));
  }

  /** Adds or replaces a role. Returns the names of the aggregated roles whose objects now show other rules than the role has. */
  put({ metadata, rules, aggregationRule }: ClusterRoleObject): string[] {
    const name = metadata.name!;
    const labels = metadata.labels ?? {};
    const choices = aggregationRule && this.#choicesOf(name, aggregationRule.clusterRoleSelectors ?? []);
    const shown = rules ?? [];
    const role: Role = { labels, rules: choices ? [] : shown, shown, choices };
    this.#roles.set(name, role);
    if (choices) this.#aggregated.set(name, choices);
    else this.#aggregated.delete(name);
    const affected = this.#choose(name, (selector) => matchesSelector(selector, labels));
    if (choices) affected.add(name);
    return this.#recompute(affected);
  }

  /** Returns the same names as `put`. */
  remove(name: string): string[] {
    if (!this.#roles.delete(name)) return [];
    this.#aggregated.delete(name);
    return this.#recompute(this.#choose(name, () => false));
  }

  #choicesOf(name: string, selectors: readonly LabelSelector[]): readonly Choice[] {
    const old = this.#roles.get(name)?.choices;
    const isSame =
      old &&
      equalJson(
        old.map(({ selector }) => selector),
        selectors,
      );
    if (isSame) return old;
    return selectors.map((selector) => {
      const chosen = [...this.#roles].filter(([, { labels }]) => matchesSelector(selector, labels));
      return { selector, names: new Set(chosen.map(([one]) => one)) };
    });
  }

  /** Notes in all aggregated roles whether they choose this role. Returns those that chose the role before or choose the role now. */
  #choose(name: string, matches: (selector: LabelSelector) => boolean): Set<string> {
    const affected = new Set<string>();
    for (const [aggregated, choices] of this.#aggregated) {
      for (const { selector, names } of choices) {
        if (names.delete(name)) affected.add(aggregated);
        if (!matches(selector)) continue;
        names.add(name);
        affected.add(aggregated);
      }
    }
    return affected;
  }

  /**
   * Begins with empty rules, and gathers until nothing changes. The sets of rules only grow, so they reach an end. Roles that choose each other then have
   * the same set, and each takes the order of the first role that it chooses, so the order reaches an end too.
   */
  #recompute(changed: ReadonlySet<string>): string[] {
    const names = this.#withDependents(changed);
    for (const name of names) this.#roles.get(name)!.rules = [];
    for (let isStable = false; !isStable; ) {
      isStable = true;
      for (const name of names) {
        const rules = this.#gather(this.#aggregated.get(name)!);
        const role = this.#roles.get(name)!;
        if (sameRules(rules, role.rules)) continue;
        role.rules = rules;
        isStable = false;
      }
    }
    return names.filter((name) => !sameRules(this.#roles.get(name)!.shown, this.#roles.get(name)!.rules));
  }

  #withDependents(changed: ReadonlySet<string>): string[] {
    const found = new Set(changed);
    // A set visits the names that are added during the loop, too.
    for (const name of found) {
      for (const [aggregated, choices] of this.#aggregated) {
        if (choices.some(({ names }) => names.has(name))) found.add(aggregated);
      }
    }
    return [...found].sort(compareText);
  }

  /** A role that chooses itself gains nothing: each of its rules comes from another role. */
  #gather(choices: readonly Choice[]): PolicyRule[] {
    const rules = new Map<string, PolicyRule>();
    for (const { names } of choices) {
      for (const name of [...names].sort(compareText)) {
        for (const rule of this.#roles.get(name)!.rules) {
          const key = ruleKey(rule);
          if (!rules.has(key)) rules.set(key, rule);
        }
      }
    }
    return [...rules.values()];
  }
}

/** A missing list and an empty one give the same key. The order of a list counts, as in Kubernetes. */
function ruleKey({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): string {
  return JSON.stringify([verbs, apiGroups, resources, resourceNames, nonResourceURLs].map((list) => list ?? []));
}

function sameRules(a: readonly PolicyRule[], b: readonly PolicyRule[]): boolean {
  return a.length === b.length && a.every((rule, i) => ruleKey(rule) === ruleKey(b[i]!));
}
