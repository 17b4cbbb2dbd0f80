import { describe, expect, it } from 'vitest';
import { type AccessGrantObject, checkAccessGrant } from '../../../../core/access/access-grant.ts';
import { AccessGrants } from '../../../../core/access/access-grants.ts';
import { checkRbacWrite } from '../../../../core/access/escalation.ts';
import { checkGrantedRole, checkGrantWrite } from '../../../../core/access/grant-escalation.ts';
import type { AccessPlace, GrantScope } from '../../../../core/access/grant-scope.ts';
import { Rbac } from '../../../../core/access/rbac.ts';
import { type ClusterRoleObject, type RbacSubject, rbacGroup } from '../../../../core/access/rbac-objects.ts';
import { systemRights } from '../../../../core/access/system-rights.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { clusterRole, clusterRoleBinding, groupSubject, rule, user, userSubject } from './rbac-objects.ts';

const eve = user('eve', 'ops');

function grant(name: string, role: string, scope: GrantScope, ...subjects: readonly RbacSubject[]): AccessGrantObject {
  const roleRef = { apiGroup: rbacGroup, kind: 'ClusterRole', name: role };
  return {
    apiVersion: 'mesh.banyan.io/v1alpha1',
    kind: 'AccessGrant',
    metadata: { name },
    spec: { subjects: subjects.length > 0 ? subjects : [userSubject('eve')], roleRef, scope },
  };
}

const roles = [
  clusterRole('all', [rule('*', '*', { apiGroups: ['*'] }), { verbs: ['*'], nonResourceURLs: ['*'] }]),
  clusterRole('reader', [rule('get list watch', 'pods namespaces'), { verbs: ['get'], nonResourceURLs: ['/metrics'] }]),
  clusterRole('pods', [rule('get', 'pods')]),
];

/** The roles above, and these grants, at the node `path`. */
function grantsAt(path: string, ...objects: readonly AccessGrantObject[]) {
  const rbac = new Rbac();
  for (const role of roles) rbac.put(role);
  const grants = new AccessGrants(rbac, path);
  for (const object of objects) grants.put(object);
  return { rbac, grants };
}

/** `get /pods shop till`: verb, group and resource, namespace, name. */
function request(text: string, who = eve) {
  const [verb = '', what = '', namespace = '', name = ''] = text.split(' ');
  const [apiGroup = '', resource = ''] = what.split('/');
  return { user: who, verb, apiGroup, resource, subresource: '', namespace: namespace === '-' ? '' : namespace, name };
}

const retail = { space: 'retail' };
const readPods = request('list /pods shop');

/** Whether a grant with the scope, at the node `eu`, gives a right at the place. */
const gives = (scope: GrantScope, place: AccessPlace) =>
  grantsAt('eu', grant('g', 'reader', scope)).grants.decide(readPods, place).allowed;

describe('a grant', () => {
  it('allows by its role, and the reason names grant, role and subject', () => {
    const { grants } = grantsAt(
      '',
      grant('tills', 'reader', { space: { name: 'retail' } }, userSubject('joe'), groupSubject('ops')),
    );
    expect(grants.decide(readPods, retail)).toEqual({
      allowed: true,
      reason: 'Banyan: allowed by AccessGrant "tills" of ClusterRole "reader" to Group "ops"',
    });
    expect(grants.decide(request('delete /pods shop'), retail)).toEqual({ allowed: false, reason: '' });
    expect(grants.decide(request('list /pods shop', user('ann')), retail).allowed).toBe(false);
  });

  it('for a space is for this space only', () => {
    const scope = { space: { name: 'retail' } };
    expect(gives(scope, retail)).toBe(true);
    for (const place of [{ space: 'retail2' }, { mailbox: 'retail' }, { node: 'eu' }, { cluster: 'eu' }]) {
      expect(gives(scope, place), JSON.stringify(place)).toBe(false);
    }
  });

  it('for mailboxes is for these children, with all their replicas', () => {
    const scope = { mailboxes: { children: ['paris', 'lyon'] } };
    for (const mailbox of ['paris', 'lyon', 'lyon~2']) expect(gives(scope, { mailbox }), mailbox).toBe(true);
    for (const place of [{ mailbox: 'paris2' }, { space: 'paris' }, { node: 'eu:paris' }, { cluster: 'eu:paris' }]) {
      expect(gives(scope, place), JSON.stringify(place)).toBe(false);
    }
  });

  it('for a subtree is for the node, everything below, and the edge clusters there', () => {
    const scope = { subtree: { path: 'eu:paris' } };
    for (const place of [{ node: 'eu:paris' }, { node: 'eu:paris:store-1' }, { cluster: 'eu:paris:store-1' }]) {
      expect(gives(scope, place), JSON.stringify(place)).toBe(true);
    }
    for (const place of [
      { node: 'eu' },
      { node: 'eu:paris-2' },
      { cluster: 'eu:paris-2' },
      retail,
      { mailbox: 'paris' },
    ]) {
      expect(gives(scope, place), JSON.stringify(place)).toBe(false);
    }
  });

  it('for a subtree with this node is for its spaces and mailboxes too', () => {
    const scope = { subtree: { path: 'eu' } };
    for (const place of [retail, { mailbox: 'paris' }, { node: 'eu' }]) expect(gives(scope, place)).toBe(true);
    expect(gives(scope, { node: 'eu-west' })).toBe(false);
  });

  it('for the center is for the whole tree', () => {
    const { grants } = grantsAt('', grant('g', 'reader', { subtree: { path: 'center' } }));
    for (const place of [retail, { node: '' }, { node: 'eu:paris' }, { cluster: 'us' }]) {
      expect(grants.decide(readPods, place).allowed, JSON.stringify(place)).toBe(true);
    }
  });

  it('for clusters is for the edge clusters at and below the path', () => {
    const scope = { clusters: { path: 'eu:paris' } };
    for (const cluster of ['eu:paris', 'eu:paris:store-1']) expect(gives(scope, { cluster }), cluster).toBe(true);
    for (const place of [{ cluster: 'eu:paris-2' }, { cluster: 'eu' }, { node: 'eu:paris' }, retail]) {
      expect(gives(scope, place), JSON.stringify(place)).toBe(false);
    }
  });

  it('with namespaces reaches only these, and reads exactly these Namespaces', () => {
    const scope = { space: { name: 'retail', namespaces: ['shop'] } };
    const { grants } = grantsAt('', grant('g', 'all', scope));
    const may = (text: string) => grants.decide(request(text), retail).allowed;
    expect(['delete /pods shop till', 'create apps/deployments shop'].map(may)).toEqual([true, true]);
    expect(
      ['list /pods web', 'list /pods -', 'get /nodes - a', 'create edge.banyan.io/edgeplacements -'].map(may),
    ).toEqual([false, false, false, false]);
    // The attributes of a request for one Namespace have the namespace.
    expect(['get /namespaces shop shop', 'list /namespaces - shop', 'watch /namespaces - shop'].map(may)).toEqual([
      true,
      true,
      true,
    ]);
    const refused = [
      'get /namespaces web web',
      'list /namespaces -',
      'delete /namespaces shop shop',
      'patch /namespaces shop shop',
      'create /namespaces -',
      'get example.com/namespaces shop shop',
    ];
    expect(refused.filter(may)).toEqual([]);
    expect(grants.decide({ user: eve, verb: 'get', path: '/metrics' }, retail).allowed).toBe(false);
  });

  it('without namespaces reaches paths and everything in no namespace', () => {
    const { grants } = grantsAt('', grant('g', 'reader', { space: { name: 'retail' } }));
    expect(grants.decide({ user: eve, verb: 'get', path: '/metrics' }, retail).allowed).toBe(true);
    expect(grants.decide(request('list /namespaces -'), retail).allowed).toBe(true);
  });

  it('with a missing role gives nothing and names the role', () => {
    const { grants, rbac } = grantsAt('', grant('g', 'gone', { space: { name: 'retail' } }));
    expect(grants.decide(readPods, retail)).toEqual({
      allowed: false,
      reason: 'Banyan: clusterrole.rbac.authorization.k8s.io "gone" not found',
    });
    expect(grants.decide(readPods, { space: 'other' }).reason).toBe('');
    rbac.put(clusterRole('gone', [rule('list', 'pods')]));
    expect(grants.decide(readPods, retail).allowed).toBe(true);
  });

  it('with a mistake gives nothing', () => {
    const both = { space: { name: 'other' }, subtree: { path: 'center' } };
    const { grants } = grantsAt(
      '',
      grant('g', 'reader', both),
      grant('h', 'reader', { space: { name: 'retail', namespaces: [] } }),
    );
    expect(grants.decide(readPods, retail).allowed).toBe(false);
  });

  it('is forgotten when it is removed or changed', () => {
    const { grants } = grantsAt('', grant('g', 'reader', { space: { name: 'retail' } }));
    grants.put(grant('g', 'reader', { space: { name: 'retail' } }, userSubject('joe')));
    expect(grants.decide(readPods, retail).allowed).toBe(false);
    expect(grants.decide(request('list /pods shop', user('joe')), retail).allowed).toBe(true);
    grants.remove('g');
    expect(grants.decide(request('list /pods shop', user('joe')), retail).allowed).toBe(false);
    expect(grants.decide(request('list /pods shop', user('root', 'system:masters')), retail).allowed).toBe(true);
  });

  it('is in the list of the rules of a user at a place', () => {
    const { grants } = grantsAt(
      '',
      grant('a', 'reader', { space: { name: 'retail', namespaces: ['shop'] } }),
      grant('b', 'pods', { space: { name: 'retail' } }),
      grant('c', 'gone', { space: { name: 'retail' } }),
    );
    const pods = rule('get', 'pods');
    expect(grants.rulesAt(eve, retail, 'shop').rules).toEqual([roles[1]!.rules![0], pods]);
    expect(grants.rulesAt(eve, retail, 'web').rules).toEqual([pods]);
    expect(grants.rulesAt(eve, { space: 'other' }, 'shop')).toEqual({ rules: [], missing: [] });
    expect(grants.rulesAt(eve, retail, 'web').missing).toEqual([
      'clusterrole.rbac.authorization.k8s.io "gone" not found',
    ]);
  });
});

describe('the check of a grant', () => {
  const flaws = (object: AccessGrantObject, path = '') =>
    checkAccessGrant(object, path).map(({ field, message }) => `${field}: ${message}`);
  const scopeFlaws = (scope: object, path = '') => flaws(grant('g', 'view', scope as GrantScope), path);

  it('accepts each scope, and a grant without the fields that have defaults, which stays as it is', () => {
    const scopes = [
      { space: { name: 'retail', namespaces: ['shop'] } },
      { mailboxes: { children: ['eu'] } },
      { subtree: { path: 'eu:paris' } },
      { clusters: { path: 'center' } },
    ];
    for (const scope of scopes) expect(scopeFlaws(scope)).toEqual([]);
    const bare = grant('g', 'view', scopes[0]!, { kind: 'User', name: 'eve' });
    const object = { ...bare, spec: { ...bare.spec, roleRef: { kind: 'ClusterRole', name: 'view' } } };
    expect(flaws(object)).toEqual([]);
    expect(object.spec.roleRef).toEqual({ kind: 'ClusterRole', name: 'view' });
  });

  it('requires subjects, a ClusterRole and one scope', () => {
    const object = grant('g', 'view', {});
    const spec = { subjects: [], roleRef: { kind: 'Role', name: 'x', apiGroup: rbacGroup }, scope: {} };
    expect(flaws({ ...object, spec })).toEqual([
      'spec.subjects: Required value: name at least one subject',
      'spec.roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
      'spec.scope: Required value: write exactly one of space, mailboxes, subtree, clusters',
    ]);
    expect(flaws(grant('g', 'view', { subtree: { path: 'eu' } }, { kind: 'ServiceAccount', name: 'till' }))).toEqual([
      'spec.subjects[0].namespace: Required value',
    ]);
    expect(scopeFlaws({ space: { name: 'retail' }, subtree: { path: 'eu' } })).toEqual([
      'spec.scope: Invalid value: ["space","subtree"]: write exactly one of space, mailboxes, subtree, clusters',
    ]);
  });

  it('refuses empty and wrong names', () => {
    const detail = 'Required value: name a namespace, or leave the field out for all namespaces';
    expect(scopeFlaws({ space: { name: '', namespaces: [] } })).toEqual([
      'spec.scope.space.name: Required value',
      `spec.scope.space.namespaces: ${detail}`,
    ]);
    expect(
      scopeFlaws({ clusters: { path: 'eu', namespaces: ['shop', 'shop', '*', ''] } }).map((flaw) => flaw.slice(0, 60)),
    ).toEqual(
      [
        'spec.scope.clusters.namespaces[2]: Invalid value: "*": a lowercase',
        'spec.scope.clusters.namespaces[3]: Required value',
        'spec.scope.clusters.namespaces[1]: Duplicate value: "shop"',
      ].map((flaw) => flaw.slice(0, 60)),
    );
    expect(scopeFlaws({ mailboxes: { children: [] } })).toEqual([
      'spec.scope.mailboxes.children: Required value: name a child',
    ]);
    expect(scopeFlaws({ mailboxes: { children: ['eu~1'] } })[0]).toContain(
      'spec.scope.mailboxes.children[0]: Invalid value: "eu~1"',
    );
  });

  it('accepts the source of a space above, and no other name with a dot', () => {
    const flawsOf = (name: string, path: string) => scopeFlaws({ space: { name } }, path);
    expect(flawsOf('center.retail', 'eu')).toEqual([]);
    expect(flawsOf('eu.ops', 'eu:paris')).toEqual([]);
    const field = 'spec.scope.space.name: Invalid value';
    for (const name of ['eu.ops', 'us.ops', '.ops'])
      expect(flawsOf(name, 'eu')).toEqual([
        `${field}: "${name}": no node above eu can have this space: write the name of a space of this node, or the space of a node above, such as center.retail`,
      ]);
    expect(flawsOf('center.retail', '')).toEqual([
      `${field}: "center.retail": no node above center can have this space: write the name of a space of this node`,
    ]);
    expect(flawsOf('center.', 'eu')[0]).toContain(`${field}: "center.": `);
  });

  it('refuses an empty path, and a path that is not at or below this node', () => {
    expect(scopeFlaws({ subtree: { path: '' } })).toEqual([
      'spec.scope.subtree.path: Required value: write center for the whole tree',
    ]);
    expect(scopeFlaws({ clusters: {} })).toEqual([
      'spec.scope.clusters.path: Required value: write center for the whole tree',
    ]);
    expect(scopeFlaws({ subtree: { path: 'eu::paris' } })[0]).toContain('name 2 of 3 is empty');
    expect(scopeFlaws({ subtree: { path: 'eu:paris' } }, 'eu')).toEqual([]);
    for (const path of ['eu-west', 'center', 'us:eu']) {
      expect(scopeFlaws({ subtree: { path } }, 'eu')).toEqual([
        `spec.scope.subtree.path: Invalid value: "${path}": this node has only eu and what is below: grant it at ${path}, or name eu or a path below`,
      ]);
    }
  });
});

describe('a write of a grant', () => {
  const own = grant('own', 'reader', { space: { name: 'retail', namespaces: ['shop', 'web'] } });

  function refusal(object: AccessGrantObject, access = grantsAt('', own), old?: AccessGrantObject): string | undefined {
    try {
      checkGrantWrite({ rights: access.rbac, grants: access.grants }, { user: eve, object, ...(old ? { old } : {}) });
      return undefined;
    } catch (error) {
      if (error instanceof BanyanError) return error.message;
      throw error;
    }
  }

  it('needs the rights of the role in all parts of the scope', () => {
    expect(refusal(grant('x', 'pods', { space: { name: 'retail', namespaces: ['web'] } }))).toBeUndefined();
    expect(refusal(grant('x', 'reader', { space: { name: 'retail', namespaces: ['web', 'shop'] } }))).toBeUndefined();
    expect(refusal(grant('x', 'pods', { space: { name: 'retail', namespaces: ['web', 'bar'] } }))).toBe(
      'accessgrants.mesh.banyan.io "x" is forbidden: in the namespace "bar" of the space "retail", user "eve" (groups=["ops"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["get"]}',
    );
    expect(refusal(grant('x', 'pods', { space: { name: 'retail' } }))).toContain('in the space "retail"');
    expect(refusal(grant('x', 'pods', { space: { name: 'other', namespaces: ['web'] } }))).toContain('"other"');
    expect(refusal(grant('x', 'all', { space: { name: 'retail', namespaces: ['web'] } }))).toContain('Verbs:["*"]');
  });

  it('may join what several grants give', () => {
    const access = grantsAt(
      '',
      grant('a', 'pods', { space: { name: 'retail', namespaces: ['shop'] } }),
      grant('b', 'pods', { space: { name: 'retail', namespaces: ['web'] } }),
      grant('c', 'pods', { mailboxes: { children: ['eu', 'us'] } }),
    );
    expect(
      refusal(grant('x', 'pods', { space: { name: 'retail', namespaces: ['shop', 'web'] } }), access),
    ).toBeUndefined();
    expect(refusal(grant('x', 'pods', { mailboxes: { children: ['us'] } }), access)).toBeUndefined();
    expect(refusal(grant('x', 'pods', { mailboxes: { children: ['us', 'asia'] } }), access)).toContain(
      'the mailbox of "asia"',
    );
  });

  it('about paths needs a grant at or above the path', () => {
    const access = grantsAt(
      '',
      grant('a', 'pods', { subtree: { path: 'eu' } }),
      grant('b', 'pods', { clusters: { path: 'us' } }),
    );
    expect(refusal(grant('x', 'pods', { subtree: { path: 'eu:paris' } }), access)).toBeUndefined();
    expect(refusal(grant('x', 'pods', { clusters: { path: 'eu:paris', namespaces: ['a'] } }), access)).toBeUndefined();
    expect(refusal(grant('x', 'pods', { clusters: { path: 'us:ny' } }), access)).toBeUndefined();
    expect(refusal(grant('x', 'pods', { subtree: { path: 'us' } }), access)).toContain('in the subtree of us');
    expect(refusal(grant('x', 'pods', { subtree: { path: 'center' } }), access)).toContain('in the subtree of center');
    expect(refusal(grant('x', 'pods', { clusters: { path: 'eu-west' } }), access)).toContain(
      'in the edge clusters of eu-west',
    );
  });

  it('does not count rights in the system space, except all rights and the verb bind', () => {
    const access = grantsAt('');
    const wanted = grant('x', 'pods', { space: { name: 'retail' } });
    access.rbac.put(clusterRoleBinding('a', 'pods', userSubject('eve')));
    expect(refusal(wanted, access)).toContain('in the space "retail"');
    access.rbac.put(
      clusterRole('binder', [rule('bind', 'clusterroles', { apiGroups: [rbacGroup], resourceNames: ['pods'] })]),
    );
    access.rbac.put(clusterRoleBinding('b', 'binder', userSubject('eve')));
    expect(refusal(wanted, access)).toBeUndefined();
    expect(refusal(grant('x', 'reader', { space: { name: 'retail' } }), access)).toContain('"retail"');
    access.rbac.put(clusterRoleBinding('c', 'all', userSubject('eve')));
    expect(refusal(grant('x', 'reader', { subtree: { path: 'center' } }), access)).toBeUndefined();
  });

  it('names a missing role, and lets garbage collectors work', () => {
    expect(refusal(grant('x', 'gone', { space: { name: 'retail' } }))).toBe(
      'clusterrole.rbac.authorization.k8s.io "gone" not found',
    );
    const old = grant('x', 'all', { subtree: { path: 'center' } });
    const finalized = { ...old, metadata: { ...old.metadata, finalizers: ['a/b'] } };
    expect(refusal(finalized, grantsAt(''), old)).toBeUndefined();
    expect(refusal(old, grantsAt(''))).toContain('in the subtree of center');
  });
});

describe('a write of a ClusterRole that grants have', () => {
  /** Eve holds the role `pods` everywhere in the system space, and in the namespace `shop` of the space `retail`. */
  function access() {
    const { rbac, grants } = grantsAt(
      '',
      grant('own', 'pods', { space: { name: 'retail', namespaces: ['shop'] } }),
      grant('web', 'web-team', { space: { name: 'retail', namespaces: ['web'] } }),
      grant('shop', 'shop-team', { space: { name: 'retail', namespaces: ['shop'] } }, userSubject('joe')),
    );
    rbac.put(clusterRoleBinding('a', 'pods', userSubject('eve')));
    rbac.put(clusterRole('web-team', [], { selects: [{ to: 'web' }] }));
    return { rbac, grants };
  }

  function refusal(role: ClusterRoleObject, { rbac, grants } = access(), who = eve): string | undefined {
    const write = { user: who, object: role, requestName: role.metadata.name! };
    checkRbacWrite(rbac, write);
    try {
      checkGrantedRole({ rights: rbac, grants }, write);
      return undefined;
    } catch (error) {
      if (error instanceof BanyanError) return error.message;
      throw error;
    }
  }

  const getPods = rule('get', 'pods');

  it('needs the rights at the places of the grants too', () => {
    expect(refusal(clusterRole('other', [getPods]))).toBeUndefined();
    expect(refusal(clusterRole('shop-team', [getPods]))).toBeUndefined();
    expect(refusal(clusterRole('web-team', [getPods]))).toBe(
      'clusterroles.rbac.authorization.k8s.io "web-team" is forbidden: AccessGrant "web" has the role: in the namespace "web" of the space "retail", user "eve" (groups=["ops"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["get"]}',
    );
  });

  it('counts the aggregated roles that would choose the role', () => {
    expect(refusal(clusterRole('x', [getPods], { labels: { to: 'shop' } }))).toBeUndefined();
    expect(refusal(clusterRole('x', [getPods], { labels: { to: 'web' } }))).toContain('AccessGrant "web" has the role');
    const nested = access();
    nested.rbac.put(clusterRole('middle', [], { selects: [{ to: 'middle' }], labels: { to: 'web' } }));
    expect(refusal(clusterRole('x', [getPods], { labels: { to: 'middle' } }), nested)).toContain('AccessGrant "web"');
  });

  it('needs nothing with all rights, with the verb escalate, or for garbage collectors', () => {
    const escalating = access();
    const escalate = rule('escalate', 'clusterroles', { apiGroups: [rbacGroup], resourceNames: ['web-team'] });
    escalating.rbac.put(clusterRole('b', [escalate]));
    escalating.rbac.put(clusterRoleBinding('b', 'b', userSubject('eve')));
    expect(refusal(clusterRole('web-team', [getPods]), escalating)).toBeUndefined();
    expect(refusal(clusterRole('web-team', [getPods]), access(), user('root', 'system:masters'))).toBeUndefined();
    const old = clusterRole('web-team', [getPods]);
    const object = { ...old, metadata: { ...old.metadata, finalizers: ['a/b'] } };
    const { rbac: rights, grants } = access();
    expect(() => checkGrantedRole({ rights, grants }, { user: eve, object, old, requestName: '' })).not.toThrow();
  });
});

describe('the rights in the system space', () => {
  it('come from its roles, and from grants for the node', () => {
    const { rbac, grants } = grantsAt('eu', grant('g', 'reader', { subtree: { path: 'eu' } }));
    const rights = systemRights(rbac, grants, 'eu');
    expect(rights.decide(readPods).reason).toBe(
      'Banyan: allowed by AccessGrant "g" of ClusterRole "reader" to User "eve"',
    );
    rbac.put(clusterRoleBinding('a', 'all', userSubject('joe')));
    expect(rights.decide(request('delete /pods shop', user('joe'))).reason).toContain('ClusterRoleBinding "a"');
    expect(rights.rulesOf(eve, 'shop').rules).toEqual(roles[1]!.rules);
    expect(rights.rulesOfRole({ kind: 'ClusterRole', name: 'pods' }, '')).toEqual(roles[2]!.rules);
    expect(rights.rolesThatGet(roles[2]!)).toEqual(['pods']);
  });

  it('name the missing roles of both', () => {
    const { rbac, grants } = grantsAt('eu', grant('g', 'gone', { subtree: { path: 'eu' } }));
    const rights = systemRights(rbac, grants, 'eu');
    expect(rights.decide(readPods)).toEqual({
      allowed: false,
      reason: 'Banyan: clusterrole.rbac.authorization.k8s.io "gone" not found',
    });
    rbac.put(clusterRoleBinding('a', 'lost', userSubject('eve')));
    expect(rights.decide(readPods).reason).toBe(
      'RBAC: clusterrole.rbac.authorization.k8s.io "lost" not found; Banyan: clusterrole.rbac.authorization.k8s.io "gone" not found',
    );
    expect(rights.rulesOf(eve, '').missing).toHaveLength(2);
  });

  it('let whoever has all rights at the node write roles there', () => {
    const { rbac, grants } = grantsAt('eu', grant('g', 'all', { subtree: { path: 'eu' } }));
    const rights = systemRights(rbac, grants, 'eu');
    const object = clusterRole('x', [rule('*', '*', { apiGroups: ['*'] })]);
    expect(() => checkRbacWrite(rbac, { user: eve, object, requestName: '' })).toThrow('is attempting to grant');
    expect(() => checkRbacWrite(rights, { user: eve, object, requestName: '' })).not.toThrow();
    expect(() =>
      checkGrantWrite({ rights, grants }, { user: eve, object: grant('x', 'all', { subtree: { path: 'eu' } }) }),
    ).not.toThrow();
  });
});
