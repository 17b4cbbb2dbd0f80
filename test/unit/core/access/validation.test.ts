import { describe, expect, it } from 'vitest';
import { rbacGroup } from '../../../../core/access/rbac-objects.ts';
import { fillSubjectDefaults } from '../../../../core/access/validation.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { builtinCauses } from '../../../support/builtin-causes.ts';
import { clusterRole, clusterRoleBinding, role, roleBinding, rule, userSubject } from './rbac-objects.ts';

const flaws = (object: KubeObject, old?: KubeObject) =>
  builtinCauses(object, old).map(({ field, message }) => `${field}: ${message}`);

describe('the check of a role', () => {
  it('accepts a role without rules, and names with colons', () => {
    expect(flaws({ ...clusterRole('system:x', []), rules: null })).toEqual([]);
    expect(flaws(role('shop', 'x', [rule('get', 'pods')]))).toEqual([]);
    expect(flaws(clusterRole('x', [{ verbs: ['get'], nonResourceURLs: ['/x'] }]))).toEqual([]);
  });

  it('refuses names that no URL can contain', () => {
    expect(flaws(clusterRole('a/b%', []))).toEqual([
      `metadata.name: Invalid value: "a/b%": may not contain '/'`,
      `metadata.name: Invalid value: "a/b%": may not contain '%'`,
    ]);
    expect(flaws(clusterRole('..', []))).toEqual([`metadata.name: Invalid value: "..": may not be '..'`]);
  });

  it('refuses rules that allow nothing', () => {
    expect(flaws(clusterRole('x', [{ verbs: [] }]))).toEqual([
      'rules[0].verbs: Required value: verbs must contain at least one value',
      'rules[0].apiGroups: Required value: resource rules must supply at least one api group',
      'rules[0].resources: Required value: resource rules must supply at least one resource',
    ]);
  });

  it('refuses paths in a Role, and beside resources', () => {
    const paths = { verbs: ['get'], nonResourceURLs: ['/x'] };
    expect(flaws(role('shop', 'x', [paths]))).toEqual([
      'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs',
    ]);
    expect(flaws(clusterRole('x', [{ ...paths, resources: ['pods'] }]))).toEqual([
      'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs',
    ]);
  });

  it('refuses an aggregation that chooses nothing, or by a wrong selector', () => {
    expect(flaws(clusterRole('x', [], { selects: [] }))).toEqual([
      'aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil',
    ]);
    const selector = { matchExpressions: [{ key: 'a', operator: 'Foo' as 'In', values: [] }] };
    const object = { ...clusterRole('x', []), aggregationRule: { clusterRoleSelectors: [selector] } };
    expect(flaws(object)).toEqual([
      'aggregationRule.clusterRoleSelectors[0].matchExpressions[0].operator: Invalid value: "Foo": not a valid selector operator',
      'aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label selector.',
    ]);
  });
});

describe('the check of a binding', () => {
  const account = { kind: 'ServiceAccount', name: 'till' };

  it('accepts every kind of subject, and no subjects', () => {
    expect(flaws(roleBinding('shop', 'x', 'Role/x', account, userSubject('Eve <eve@example.com>')))).toEqual([]);
    expect(flaws({ ...clusterRoleBinding('x', 'x'), subjects: null })).toEqual([]);
  });

  it('refuses a wrong role', () => {
    const object = { ...roleBinding('shop', 'x', 'Role/x'), roleRef: { apiGroup: 'a', kind: 'b', name: '' } };
    expect(flaws(object)).toEqual([
      `roleRef.apiGroup: Unsupported value: "a": supported values: "${rbacGroup}"`,
      'roleRef.kind: Unsupported value: "b": supported values: "Role", "ClusterRole"',
      'roleRef.name: Required value',
    ]);
    expect(flaws({ ...roleBinding('shop', 'x', 'Role/x'), kind: 'ClusterRoleBinding' })).toEqual([
      'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
    ]);
  });

  it('refuses wrong subjects', () => {
    const subjects = [
      { ...account, name: 'A_b', apiGroup: rbacGroup },
      { ...userSubject(''), apiGroup: 'other' },
      { kind: 'Team', name: 'x' },
    ];
    expect(flaws(clusterRoleBinding('x', 'x', ...subjects)).map((flaw) => flaw.slice(0, 50))).toEqual(
      [
        'subjects[0].name: Invalid value: "A_b": a lowercase',
        'subjects[0].apiGroup: Unsupported value: "rbac.aut',
        'subjects[0].namespace: Required value',
        'subjects[1].name: Required value',
        'subjects[1].apiGroup: Unsupported value: "other": supported',
        'subjects[2].kind: Unsupported value: "Team": suppor',
      ].map((flaw) => flaw.slice(0, 50)),
    );
  });

  it('refuses another role for an existing binding', () => {
    expect(flaws(clusterRoleBinding('x', 'b'), clusterRoleBinding('x', 'a'))).toEqual([
      `roleRef: Invalid value: {"APIGroup":"${rbacGroup}","Kind":"ClusterRole","Name":"b"}: cannot change roleRef`,
    ]);
    expect(flaws(clusterRoleBinding('x', 'a', userSubject('eve')), clusterRoleBinding('x', 'a'))).toEqual([]);
  });

  it('comes after the defaults', () => {
    const object = {
      apiVersion: `${rbacGroup}/v1`,
      kind: 'RoleBinding',
      metadata: { name: 'x', namespace: 'shop' },
      roleRef: { kind: 'Role', name: 'x' },
      subjects: [{ kind: 'User', name: 'eve' }, { kind: 'Group', name: 'ops' }, { ...account }],
    };
    fillSubjectDefaults(object);
    expect(flaws(object)).toEqual([]);
    expect(object.subjects[2]).toEqual(account);
    fillSubjectDefaults(role('shop', 'x', []));
  });
});
