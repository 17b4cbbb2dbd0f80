import { describe, expect, it } from 'vitest';
import { checkRbacWrite } from '../../../../core/access/escalation.ts';
import { Rbac } from '../../../../core/access/rbac.ts';
import { type PolicyRule, rbacGroup } from '../../../../core/access/rbac-objects.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { clusterRole, clusterRoleBinding, role, roleBinding, rule, user, userSubject } from './rbac-objects.ts';

const eve = user('eve', 'ops', 'system:authenticated');

/** An index in which eve has these rules everywhere. */
function rbacWith(rules: readonly PolicyRule[], ...objects: readonly KubeObject[]): Rbac {
  const rbac = new Rbac();
  for (const object of [
    clusterRole('held', rules),
    clusterRoleBinding('held', 'held', userSubject('eve')),
    ...objects,
  ]) {
    rbac.put(object);
  }
  return rbac;
}

/** The error of a write by eve. Undefined if she may write. */
function refusal(rbac: Rbac, object: KubeObject, old?: KubeObject, who = eve): BanyanError | undefined {
  try {
    const requestName = old ? object.metadata.name! : '';
    checkRbacWrite(rbac, { user: who, object, requestName, ...(old ? { old } : {}) });
    return undefined;
  } catch (error) {
    if (error instanceof BanyanError) return error;
    throw error;
  }
}

const authority = (verb: string, resources: string, resourceNames: readonly string[] = []) =>
  rule(verb, resources, { apiGroups: [rbacGroup], resourceNames });
const getPods = rule('get', 'pods');

describe('a write of a role', () => {
  it('needs all rights of the role, and the message names the missing ones', () => {
    expect(refusal(rbacWith([getPods]), clusterRole('x', [getPods]))).toBeUndefined();
    const error = refusal(rbacWith([getPods]), role('shop', 'x', [rule('get list', 'pods')]));
    expect(error?.code).toBe('Forbidden');
    expect(error?.message).toBe(
      'roles.rbac.authorization.k8s.io "x" is forbidden: user "eve" (groups=["ops" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["list"]}',
    );
    expect(error?.details).toEqual({ group: rbacGroup, kind: 'roles', name: 'x' });
  });

  it('needs the rights in the namespace of a Role, and everywhere for a ClusterRole', () => {
    const local = [role('shop', 'local', [getPods]), roleBinding('shop', 'local', 'Role/local', userSubject('eve'))];
    const rbac = rbacWith([], ...local);
    expect(refusal(rbac, role('shop', 'x', [getPods]))).toBeUndefined();
    expect(refusal(rbac, role('web', 'x', [getPods]))?.code).toBe('Forbidden');
    expect(refusal(rbac, clusterRole('x', [getPods]))?.code).toBe('Forbidden');
  });

  it('needs nothing with the verb escalate, or in system:masters', () => {
    const wanted = clusterRole('x', [rule('*', '*')]);
    expect(refusal(rbacWith([authority('escalate', 'clusterroles')]), wanted)).toBeUndefined();
    expect(refusal(rbacWith([authority('escalate', 'roles')]), wanted)?.code).toBe('Forbidden');
    expect(refusal(rbacWith([]), wanted, undefined, user('root', 'system:masters'))).toBeUndefined();
  });

  it('with the verb escalate for a name is allowed only if the URL has the name', () => {
    const rbac = rbacWith([authority('escalate', 'clusterroles', ['x'])]);
    const wanted = clusterRole('x', [rule('*', '*')]);
    expect(refusal(rbac, wanted)?.code).toBe('Forbidden');
    expect(refusal(rbac, wanted, clusterRole('x', []))).toBeUndefined();
    expect(refusal(rbac, clusterRole('y', [rule('*', '*')]), clusterRole('y', []))?.code).toBe('Forbidden');
  });

  it('needs no rights to change only what garbage collectors need', () => {
    const old = clusterRole('x', [rule('*', '*')]);
    const withMetadata = (more: object) => ({ ...old, metadata: { ...old.metadata, ...more } });
    expect(refusal(rbacWith([]), withMetadata({ finalizers: ['a/b'], resourceVersion: '7' }), old)).toBeUndefined();
    expect(refusal(rbacWith([]), withMetadata({ labels: { a: 'b' } }), old)?.code).toBe('Forbidden');
  });

  it('with an aggregation needs all rights, even to take the aggregation away', () => {
    const aggregated = clusterRole('x', [], { selects: [{ to: 'x' }] });
    const error = refusal(rbacWith([getPods]), aggregated);
    expect(error?.message).toBe(
      'clusterroles.rbac.authorization.k8s.io "x" is forbidden: must have cluster-admin privileges to use the aggregationRule',
    );
    expect(refusal(rbacWith([]), clusterRole('x', []), aggregated)?.code).toBe('Forbidden');
    const all = [rule('*', '*', { apiGroups: ['*'] }), { verbs: ['*'], nonResourceURLs: ['*'] }];
    expect(refusal(rbacWith(all), aggregated)).toBeUndefined();
  });

  it('names the missing roles of the user too', () => {
    const rbac = rbacWith([], clusterRoleBinding('a', 'gone', userSubject('eve')));
    expect(refusal(rbac, clusterRole('x', [getPods]))?.message).toContain(
      'Verbs:["get"]}; resolution errors: [clusterrole.rbac.authorization.k8s.io "gone" not found]',
    );
  });
});

describe('a write of a binding', () => {
  const reader = clusterRole('reader', [getPods]);
  const binding = clusterRoleBinding('x', 'reader', userSubject('joe'));

  it('needs all rights of the role', () => {
    expect(refusal(rbacWith([getPods], reader), binding)).toBeUndefined();
    expect(refusal(rbacWith([], reader), binding)?.message).toContain(
      'clusterrolebindings.rbac.authorization.k8s.io "x" is forbidden: user "eve"',
    );
  });

  it('needs nothing with the verb bind on the role', () => {
    expect(refusal(rbacWith([authority('bind', 'clusterroles', ['reader'])], reader), binding)).toBeUndefined();
    expect(refusal(rbacWith([authority('bind', 'clusterroles', ['other'])], reader), binding)?.code).toBe('Forbidden');
    expect(refusal(rbacWith([authority('bind', 'roles')], reader), binding)?.code).toBe('Forbidden');
    expect(refusal(rbacWith([authority('bind', 'clusterroles')]), binding)).toBeUndefined();
  });

  it('in a namespace needs the rights, or the verb bind, only there', () => {
    const local = [
      role('shop', 'local', [authority('bind', 'clusterroles roles')]),
      roleBinding('shop', 'local', 'Role/local', userSubject('eve')),
    ];
    const rbac = rbacWith([], reader, ...local);
    expect(refusal(rbac, roleBinding('shop', 'x', 'ClusterRole/reader', userSubject('joe')))).toBeUndefined();
    expect(refusal(rbac, roleBinding('web', 'x', 'ClusterRole/reader', userSubject('joe')))?.code).toBe('Forbidden');
    expect(refusal(rbac, binding)?.code).toBe('Forbidden');
  });

  it('to a missing role is NotFound, and names the role', () => {
    const error = refusal(rbacWith([]), binding);
    expect(error?.code).toBe('NotFound');
    expect(error?.message).toBe('clusterrole.rbac.authorization.k8s.io "reader" not found');
  });

  it('needs the rights again for every change', () => {
    const labelled = { ...binding, metadata: { ...binding.metadata, labels: { a: 'b' } } };
    expect(refusal(rbacWith([], reader), labelled, binding)?.code).toBe('Forbidden');
    expect(refusal(rbacWith([], reader), binding, binding)).toBeUndefined();
  });
});
