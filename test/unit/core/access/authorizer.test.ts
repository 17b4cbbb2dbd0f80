import { describe, expect, it } from 'vitest';
import type { AccessGrantObject } from '../../../../core/access/access-grant.ts';
import { NodeAuthorizer } from '../../../../core/access/authorizer.ts';
import { Rbac } from '../../../../core/access/rbac.ts';
import { rbacGroup } from '../../../../core/access/rbac-objects.ts';
import { clusterRole, clusterRoleBinding, groupSubject, rule, user, userSubject } from './rbac-objects.ts';

const all = rule('*', '*', { apiGroups: ['*'] });
const reviews = rule('create', 'selfsubjectreviews', { apiGroups: ['authentication.k8s.io'] });
const discovery = { verbs: ['get'], nonResourceURLs: ['/api', '/apis/*'] };
const pods = rule('get', 'pods');

function authorizer(): NodeAuthorizer {
  const rbac = new Rbac();
  const bound = [
    ['cluster-admin', 'system:masters', all],
    ['basic-user', 'system:authenticated', reviews],
    ['discovery', 'system:authenticated', discovery],
    ['reader', 'ops', rule('get', 'nodes', { apiGroups: ['mesh.banyan.io'] })],
  ] as const;
  for (const [name, group, one] of bound) {
    rbac.put(clusterRole(name, [one]));
    rbac.put(clusterRoleBinding(name, name, groupSubject(group)));
  }
  rbac.put(clusterRole('pods', [pods]));
  const made = new NodeAuthorizer(rbac, '');
  made.grants.put({
    apiVersion: 'mesh.banyan.io/v1alpha1',
    kind: 'AccessGrant',
    metadata: { name: 'pods' },
    spec: {
      subjects: [userSubject('eve')],
      roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: 'pods' },
      scope: { space: { name: 'retail' } },
    },
  } satisfies AccessGrantObject);
  return made;
}

describe('the rules of a user in a space', () => {
  const rulesOf = (name: string, ...groups: string[]) =>
    authorizer().rulesAt(user(name, 'system:authenticated', ...groups), { space: 'retail' }, 'shop').rules;

  it('are those of the grants, and those for everybody who reaches the space', () => {
    expect(rulesOf('eve', 'ops')).toEqual([reviews, discovery, pods]);
  });

  it('are the questions about oneself for a user without a grant', () => {
    expect(rulesOf('joe', 'ops')).toEqual([reviews]);
  });

  it('are all rules of the node for a member of system:masters', () => {
    expect(rulesOf('root', 'system:masters')).toEqual(expect.arrayContaining([all, reviews, discovery]));
  });
});
