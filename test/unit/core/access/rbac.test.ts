import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Rbac, rulesReview } from '../../../../core/access/rbac.ts';
import { type RbacKind, rbacGroup, rbacKindOf, rbacResource } from '../../../../core/access/rbac-objects.ts';
import {
  clusterRole,
  clusterRoleBinding,
  groupSubject,
  role,
  roleBinding,
  rule,
  user,
  userSubject,
} from './rbac-objects.ts';

const eve = user('eve', 'ops');
const till = { kind: 'ServiceAccount', name: 'till' };

function rbacWith(...objects: Parameters<Rbac['put']>[0][]): Rbac {
  const rbac = new Rbac();
  for (const object of objects) rbac.put(object);
  return rbac;
}

function listPods(namespace: string, who = eve) {
  return { user: who, verb: 'list', apiGroup: '', resource: 'pods', subresource: '', namespace, name: '' };
}

const reader = clusterRole('reader', [rule('get list', 'pods')]);

describe('a decision', () => {
  it('allows nothing without bindings', () => {
    expect(rbacWith(reader).decide(listPods('shop'))).toEqual({ allowed: false, reason: '' });
  });

  it('names the binding, the role and the subject', () => {
    const rbac = rbacWith(reader, clusterRoleBinding('readers', 'reader', userSubject('joe'), groupSubject('ops')));
    const reason = 'RBAC: allowed by ClusterRoleBinding "readers" of ClusterRole "reader" to Group "ops"';
    expect(rbac.decide(listPods('shop'))).toEqual({ allowed: true, reason });
    expect(rbac.decide(listPods(''))).toEqual({ allowed: true, reason });
  });

  it('looks at RoleBindings only in their namespace', () => {
    const local = role('shop', 'local', [rule('list', 'pods')]);
    const rbac = rbacWith(local, reader, roleBinding('shop', 'own', 'Role/local', till));
    const account = user('system:serviceaccount:shop:till');
    expect(rbac.decide(listPods('shop', account))).toEqual({
      allowed: true,
      reason: 'RBAC: allowed by RoleBinding "own/shop" of Role "local" to ServiceAccount "till/shop"',
    });
    expect(rbac.decide(listPods('web', account)).allowed).toBe(false);
    expect(rbac.decide(listPods('', account)).allowed).toBe(false);
    rbac.put(roleBinding('web', 'own', 'ClusterRole/reader', userSubject('eve')));
    expect(rbac.decide(listPods('web')).allowed).toBe(true);
    expect(rbac.decide(listPods('shop')).allowed).toBe(false);
  });

  it('allows paths only by ClusterRoleBindings', () => {
    const metrics = clusterRole('metrics', [{ verbs: ['get'], nonResourceURLs: ['/metrics'] }]);
    const rbac = rbacWith(metrics, roleBinding('shop', 'local', 'ClusterRole/metrics', userSubject('eve')));
    const request = { user: eve, verb: 'get', path: '/metrics' };
    expect(rbac.decide(request).allowed).toBe(false);
    rbac.put(clusterRoleBinding('metrics', 'metrics', userSubject('eve')));
    expect(rbac.decide(request).allowed).toBe(true);
  });

  it('names each missing role once, and grants nothing by its bindings', () => {
    const rbac = rbacWith(
      clusterRoleBinding('a', 'gone', userSubject('eve')),
      clusterRoleBinding('b', 'gone', groupSubject('ops')),
      clusterRoleBinding('c', 'other', userSubject('joe')),
    );
    const gone = 'clusterrole.rbac.authorization.k8s.io "gone" not found';
    expect(rbac.decide(listPods('shop'))).toEqual({ allowed: false, reason: `RBAC: ${gone}` });
    rbac.put(roleBinding('shop', 'd', 'Role/a', userSubject('eve')));
    expect(rbac.decide(listPods('shop')).reason).toBe(`RBAC: [${gone}, role.rbac.authorization.k8s.io "a" not found]`);
    rbac.put(reader);
    rbac.put(clusterRoleBinding('e', 'reader', userSubject('eve')));
    expect(rbac.decide(listPods('shop')).allowed).toBe(true);
  });

  it('does not take a Role of another namespace', () => {
    const rbac = rbacWith(
      role('web', 'local', [rule('*', '*')]),
      roleBinding('shop', 'x', 'Role/local', userSubject('eve')),
    );
    expect(rbac.decide(listPods('shop'))).toEqual({
      allowed: false,
      reason: 'RBAC: role.rbac.authorization.k8s.io "local" not found',
    });
  });

  it('allows everything to system:masters, without a binding', () => {
    expect(new Rbac().decide(listPods('', user('root', 'system:masters')))).toEqual({ allowed: true, reason: '' });
  });

  it('follows every change of roles and bindings', () => {
    const rbac = rbacWith(reader, clusterRoleBinding('readers', 'reader', userSubject('eve')));
    const allowed = () => rbac.decide(listPods('shop')).allowed;
    rbac.put(clusterRole('reader', []));
    expect(allowed()).toBe(false);
    rbac.put(reader);
    expect(allowed()).toBe(true);
    rbac.put(clusterRoleBinding('readers', 'reader', userSubject('joe')));
    expect(allowed()).toBe(false);
    rbac.put(roleBinding('shop', 'x', 'ClusterRole/reader', userSubject('eve')));
    expect(allowed()).toBe(true);
    rbac.remove('RoleBinding', { namespace: 'web', name: 'x' });
    expect(allowed()).toBe(true);
    rbac.remove('RoleBinding', { namespace: 'shop', name: 'x' });
    expect(allowed()).toBe(false);
    rbac.put(clusterRoleBinding('again', 'reader', userSubject('eve')));
    rbac.remove('ClusterRole', { namespace: '', name: 'reader' });
    expect(rbac.decide(listPods('shop')).reason).toContain('"reader" not found');
    rbac.put(role('shop', 'local', [rule('list', 'pods')]));
    rbac.put(roleBinding('shop', 'y', 'Role/local', userSubject('eve')));
    expect(allowed()).toBe(true);
    rbac.remove('Role', { namespace: 'shop', name: 'local' });
    expect(allowed()).toBe(false);
  });

  it('never takes a RoleBinding for one that holds everywhere', () => {
    const binding = roleBinding('', 'x', 'ClusterRole/reader', userSubject('eve'));
    expect(() => rbacWith(binding)).toThrow('RoleBinding x in the namespace ""');
    const inNamespace = { ...clusterRoleBinding('x', 'reader'), metadata: { name: 'x', namespace: 'shop' } };
    expect(() => rbacWith(inNamespace)).toThrow('ClusterRoleBinding x in the namespace "shop"');
  });

  it('says which aggregated roles show outdated rules', () => {
    const rbac = new Rbac();
    const labels = { to: 'all' };
    expect(rbac.put(clusterRole('all', [], { selects: [labels] }))).toEqual([]);
    expect(rbac.put(clusterRole('pods', [rule('list', 'pods')], { labels }))).toEqual(['all']);
    rbac.put(clusterRoleBinding('x', 'all', userSubject('eve')));
    expect(rbac.decide(listPods('shop')).allowed).toBe(true);
    expect(rbac.put(clusterRole('all', [rule('list', 'pods')], { selects: [labels] }))).toEqual([]);
    expect(rbac.remove('ClusterRole', { namespace: '', name: 'pods' })).toEqual(['all']);
    expect(rbac.decide(listPods('shop')).allowed).toBe(false);
  });

  it('costs what the bindings of the user cost, not those of others', () => {
    const rbac = rbacWith(reader, clusterRoleBinding('eve', 'reader', userSubject('eve')));
    for (let i = 0; i < 20_000; i++) rbac.put(clusterRoleBinding(`b${i}`, 'missing', userSubject(`user-${i}`)));
    // With a scan of all bindings, 20,000 decisions would compare 400 million bindings.
    for (let i = 0; i < 20_000; i++) expect(rbac.decide(listPods('shop')).allowed).toBe(true);
  }, 20_000);
});

describe('the index', () => {
  const namespace = fc.constantFrom('shop', 'web');
  const name = fc.constantFrom('a', 'b');
  const rules = fc.array(fc.constantFrom(rule('list', 'pods'), rule('get', 'pods'), rule('*', '*')), { maxLength: 2 });
  const subjects = fc.array(fc.constantFrom(userSubject('eve'), userSubject('joe'), groupSubject('ops'), till), {
    maxLength: 2,
  });
  const anyObject = fc.oneof(
    fc.tuple(name, rules).map(([one, list]) => clusterRole(one, list)),
    fc.tuple(namespace, name, rules).map(([where, one, list]) => role(where, one, list)),
    fc.tuple(name, name, subjects).map(([one, of, list]) => clusterRoleBinding(one, of, ...list)),
    fc
      .tuple(namespace, name, fc.constantFrom('Role/a', 'ClusterRole/a', 'ClusterRole/b'), subjects)
      .map(([where, one, of, list]) => roleBinding(where, one, of, ...list)),
  );

  it('depends only on the present objects, and not on the history', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anyObject, fc.boolean()), { maxLength: 30 }), (steps) => {
        const followed = new Rbac();
        const present = new Map<string, Parameters<Rbac['put']>[0]>();
        for (const [object, stays] of steps) {
          const { metadata, kind } = object;
          const key = { namespace: metadata.namespace ?? '', name: metadata.name! };
          followed.put(object);
          present.set(JSON.stringify([kind, key]), object);
          if (stays) continue;
          followed.remove(kind as RbacKind, key);
          present.delete(JSON.stringify([kind, key]));
        }
        const fresh = rbacWith(...present.values());
        for (const who of [eve, user('joe'), user('system:serviceaccount:shop:till')]) {
          for (const where of ['', 'shop', 'web']) {
            expect(followed.rulesOf(who, where)).toEqual(fresh.rulesOf(who, where));
            expect(followed.decide(listPods(where, who)).allowed).toBe(fresh.decide(listPods(where, who)).allowed);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it('has the kind of each resource', () => {
    for (const kind of ['Role', 'ClusterRole', 'RoleBinding', 'ClusterRoleBinding'] as const) {
      expect(rbacKindOf(rbacResource(kind))).toBe(kind);
    }
    expect(rbacKindOf({ group: '', resource: 'roles' })).toBeUndefined();
    expect(rbacKindOf({ group: rbacGroup, resource: 'pods' })).toBeUndefined();
  });
});

describe('the rules of a user', () => {
  const rbac = rbacWith(
    reader,
    clusterRole('paths', [{ verbs: ['get'], nonResourceURLs: ['/metrics'] }]),
    role('shop', 'local', [rule('update', 'pods', { resourceNames: ['till'] })]),
    clusterRoleBinding('b', 'paths', userSubject('eve')),
    clusterRoleBinding('c', 'gone', userSubject('eve')),
    clusterRoleBinding('a', 'reader', groupSubject('ops')),
    roleBinding('shop', 'a', 'Role/local', userSubject('eve')),
  );

  it('are those of the namespace and those that hold everywhere, by the name of the binding', () => {
    expect(rbac.rulesOf(eve, '').rules).toEqual([...reader.rules!, { verbs: ['get'], nonResourceURLs: ['/metrics'] }]);
    expect(rbac.rulesOf(eve, 'shop').rules).toHaveLength(3);
    expect(rbac.rulesOf(eve, 'shop').missing).toEqual(['clusterrole.rbac.authorization.k8s.io "gone" not found']);
  });

  it('answer a SelfSubjectRulesReview', () => {
    expect(rulesReview(rbac.rulesOf(eve, 'shop'))).toEqual({
      resourceRules: [
        { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] },
        { verbs: ['update'], apiGroups: [''], resources: ['pods'], resourceNames: ['till'] },
      ],
      nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/metrics'] }],
      incomplete: false,
      evaluationError: 'clusterrole.rbac.authorization.k8s.io "gone" not found',
    });
    expect(rulesReview({ rules: [], missing: [] })).toEqual({
      resourceRules: [],
      nonResourceRules: [],
      incomplete: false,
    });
  });
});
