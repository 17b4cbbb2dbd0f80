import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ClusterRoleRules } from '../../../../core/access/aggregation.ts';
import type { ClusterRoleObject } from '../../../../core/access/rbac-objects.ts';
import { clusterRole, rule } from './rbac-objects.ts';

const [a, b, c] = [rule('get', 'a'), rule('get', 'b'), rule('get', 'c')];

function rolesWith(...roles: readonly ClusterRoleObject[]): ClusterRoleRules {
  const all = new ClusterRoleRules();
  for (const role of roles) all.put(role);
  return all;
}

/** Writes the rules of aggregated roles into the objects, as a space does. `put` and `remove` return the names of these roles. */
class SpaceRoles {
  readonly rules = new ClusterRoleRules();
  readonly #objects = new Map<string, ClusterRoleObject>();

  put(object: ClusterRoleObject): string[] {
    this.#objects.set(object.metadata.name!, object);
    return this.#written(this.rules.put(object));
  }

  remove(name: string): string[] {
    this.#objects.delete(name);
    return this.#written(this.rules.remove(name));
  }

  #written(names: string[]): string[] {
    for (const name of names) {
      const object = { ...this.#objects.get(name)!, rules: this.rules.rulesOf(name)! };
      this.#objects.set(name, object);
      this.rules.put(object);
    }
    for (const object of this.#objects.values()) expect(this.rules.put(object)).toEqual([]);
    return names;
  }
}

describe('an aggregated role', () => {
  it('has the rules of the chosen roles by name, each once, and none of its own', () => {
    const roles = rolesWith(
      clusterRole('all', [rule('*', '*')], { selects: [{ to: 'all' }], labels: { to: 'all' } }),
      clusterRole('z', [c, a], { labels: { to: 'all' } }),
      clusterRole('b', [b, a, b], { labels: { to: 'all' } }),
      clusterRole('x', [rule('get', 'x')], { labels: { to: 'other' } }),
    );
    expect(roles.rulesOf('all')).toEqual([b, a, c]);
    expect(roles.rulesOf('z')).toEqual([c, a]);
    expect(roles.rulesOf('unknown')).toBeUndefined();
  });

  it('orders by selector before name', () => {
    const roles = rolesWith(
      clusterRole('a', [a], { labels: { second: 'yes' } }),
      clusterRole('b', [b], { labels: { first: 'yes', second: 'yes' } }),
      clusterRole('all', [], { selects: [{ first: 'yes' }, { second: 'yes' }] }),
    );
    expect(roles.rulesOf('all')).toEqual([b, a]);
  });

  it('compares rules as Kubernetes: the order of a list counts, and an empty list is like none', () => {
    const roles = rolesWith(
      clusterRole('a', [rule('get list', 'a'), rule('list get', 'a')], { labels: { to: 'all' } }),
      clusterRole('b', [rule('get list', 'a', { resourceNames: [] })], { labels: { to: 'all' } }),
      clusterRole('all', [], { selects: [{ to: 'all' }] }),
    );
    expect(roles.rulesOf('all')).toHaveLength(2);
  });

  it('follows changes of rules, labels and selectors, also through other aggregated roles', () => {
    const roles = new SpaceRoles();
    roles.put(clusterRole('upper', [], { selects: [{ to: 'upper' }] }));
    roles.put(clusterRole('lower', [], { selects: [{ to: 'lower' }], labels: { to: 'upper' } }));
    expect(roles.put(clusterRole('a', [a], { labels: { to: 'lower' } }))).toEqual(['lower', 'upper']);
    expect(roles.put(clusterRole('a', [a], { labels: { to: 'lower', more: 'x' } }))).toEqual([]);
    expect(roles.put(clusterRole('a', [b], { labels: { to: 'lower' } }))).toEqual(['lower', 'upper']);
    expect(roles.rules.rulesOf('upper')).toEqual([b]);
    expect(roles.put(clusterRole('a', [b]))).toEqual(['lower', 'upper']);
    expect(roles.put(clusterRole('upper', [], { selects: [{ to: 'other' }] }))).toEqual([]);
    expect(roles.put(clusterRole('a', [b], { labels: { to: 'lower' } }))).toEqual(['lower']);
    expect(roles.put(clusterRole('upper', [], { selects: [{ to: 'upper' }] }))).toEqual(['upper']);
    expect(roles.remove('lower')).toEqual(['upper']);
    expect(roles.remove('lower')).toEqual([]);
    expect(roles.rules.rulesOf('upper')).toEqual([]);
  });

  it('is named again if somebody writes other rules into its object', () => {
    const roles = new SpaceRoles();
    roles.put(clusterRole('a', [a], { labels: { to: 'all' } }));
    expect(roles.put(clusterRole('all', [], { selects: [{ to: 'all' }] }))).toEqual(['all']);
    expect(roles.put(clusterRole('all', [c], { selects: [{ to: 'all' }] }))).toEqual(['all']);
    expect(roles.put(clusterRole('all', [a], { selects: [{ to: 'all' }] }))).toEqual([]);
    expect(roles.rules.rulesOf('all')).toEqual([a]);
  });

  it('becomes an ordinary role, and an aggregated one again', () => {
    const roles = rolesWith(
      clusterRole('a', [a], { labels: { to: 'all' } }),
      clusterRole('all', [], { selects: [{ to: 'all' }] }),
    );
    expect(roles.put(clusterRole('all', [c]))).toEqual([]);
    expect(roles.rulesOf('all')).toEqual([c]);
    expect(roles.put(clusterRole('all', [c], { selects: [{ to: 'all' }] }))).toEqual(['all']);
    expect(roles.rulesOf('all')).toEqual([a]);
  });

  it('loses a rule that is gone, even if aggregated roles choose each other', () => {
    const roles = rolesWith(
      clusterRole('one', [], { selects: [{ to: 'one' }], labels: { to: 'two' } }),
      clusterRole('two', [], { selects: [{ to: 'two' }], labels: { to: 'one' } }),
      clusterRole('a', [a], { labels: { to: 'one' } }),
    );
    expect(roles.rulesOf('two')).toEqual([a]);
    roles.remove('a');
    expect(roles.rulesOf('one')).toEqual([]);
    expect(roles.rulesOf('two')).toEqual([]);
  });
});

describe('the rules of all roles', () => {
  const labels = fc.dictionary(fc.constantFrom('x', 'y', 'z'), fc.constantFrom('1', '2'), { maxKeys: 2 });
  const anyRole = fc.record({
    name: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
    labels,
    rules: fc.array(fc.constantFrom(a, b, c), { maxLength: 2 }),
    selects: fc.option(fc.array(labels, { minLength: 1, maxLength: 2 }), { nil: undefined }),
  });
  const sets = (roles: ClusterRoleRules) =>
    ['a', 'b', 'c', 'd', 'e', 'f'].map((name) =>
      roles
        .rulesOf(name)
        ?.map((one) => JSON.stringify(one))
        .sort(),
    );

  it('depend only on the present roles, and not on the history, whatever chooses what', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anyRole, fc.boolean()), { maxLength: 25 }), (steps) => {
        const followed = new ClusterRoleRules();
        const present = new Map<string, ClusterRoleObject>();
        for (const [{ name, rules, ...more }, stays] of steps) {
          const { selects } = more;
          const role = clusterRole(name, rules, { labels: more.labels, ...(selects ? { selects } : {}) });
          followed.put(role);
          present.set(name, role);
          if (stays) continue;
          followed.remove(name);
          present.delete(name);
        }
        expect(sets(followed)).toEqual(sets(rolesWith(...present.values())));
      }),
      { numRuns: 500 },
    );
  });
});
