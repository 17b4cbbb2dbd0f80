import { describe, expect, it } from 'vitest';
import { builtinKinds } from '../../../../../core/apiserver/builtin/builtin-kinds.ts';
import { warnOfNoEffect } from '../../../../../core/apiserver/kinds/effect-warnings.ts';
import { ownKinds } from '../../../../../core/apiserver/kinds/kinds-of-space.ts';
import type { Kind, SpaceType } from '../../../../../core/apiserver/space.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { ApiBench } from '../http/api-bench.ts';
import { testSpace } from './space-support.ts';

const user = { name: 'jo', groups: [] };
const kinds = [...builtinKinds(), ...ownKinds('System'), ...ownKinds('Workload')];

function warned(kind: Kind, type: SpaceType, more: object = {}): string[] {
  const warnings: string[] = [];
  const key = { group: kind.group, resource: kind.resource, namespace: '', name: 'a' };
  const warn = (text: string) => warnings.push(text);
  warnOfNoEffect({ operation: 'create', key, object: {} as KubeObject, user, warn, ...more }, kind, type);
  return warnings;
}

const silentIn = (type: SpaceType) =>
  kinds.filter((kind) => warned(kind, type).length === 0).map((kind) => `${kind.group}/${kind.resource}`);

describe('an object without an effect', () => {
  it.each(['System', 'Inventory'] as const)('gets a warning in a space of type %s, whatever its kind', (type) => {
    const rbac = ['clusterrolebindings', 'clusterroles', 'rolebindings', 'roles'];
    const others = [
      '/configmaps',
      '/events',
      '/namespaces',
      '/secrets',
      'events.k8s.io/events',
      'coordination.k8s.io/leases',
      'apiextensions.k8s.io/customresourcedefinitions',
    ];
    // The system space decides about access at its node, and its ServiceAccounts and the people with its certificates sign in there.
    const ofSystem = [
      '/serviceaccounts',
      'certificates.k8s.io/certificatesigningrequests',
      ...rbac.map((name) => `rbac.authorization.k8s.io/${name}`),
    ];
    const expected = [...others, ...(type === 'System' ? ofSystem : [])];
    const silent = silentIn(type).filter((name) => !name.includes('.banyan.io/'));
    expect(silent.toSorted()).toEqual(expected.toSorted());
  });

  it.each(['Workload', 'Cluster'] as const)(
    'gets none if it has its effect elsewhere, from a space of type %s',
    (type) => {
      const results = ['edge.banyan.io/singleplacementslices', 'edge.banyan.io/statussummaries'];
      const others = kinds.map((kind) => `${kind.group}/${kind.resource}`).filter((name) => !results.includes(name));
      expect(silentIn(type)).toEqual(expect.arrayContaining(others));
    },
  );

  it('gets a warning if it is a result that nodes write', () => {
    const summary = kinds.find(({ kind }) => kind === 'StatusSummary')!;
    expect(warned(summary, 'Workload')).toEqual([
      expect.stringMatching(/^nodes write a StatusSummary from a placement/),
    ]);
  });

  it('gets none when the node writes it, nor when it is deleted', () => {
    const role = kinds.find(({ kind }) => kind === 'Role')!;
    expect(warned(role, 'Inventory')).toHaveLength(1);
    expect(warned(role, 'Inventory', { user: undefined })).toEqual([]);
    expect(warned(role, 'Inventory', { operation: 'delete' })).toEqual([]);
    expect(warned(role, 'Inventory', { operation: 'update', subresource: 'status' })).toEqual([]);
  });
});

it('is named by kubectl: a Warning header of each write, with the way to give rights here instead of a Role', async () => {
  await using api = await ApiBench.start();
  api.server.mount('/spaces/fleet', testSpace('Inventory').space);
  const roles = '/spaces/fleet/apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles';
  const role = { metadata: { name: 'a' }, rules: [] };
  const text =
    '299 - "a Role has no effect in an inventory space: only the system space of the node decides about access at the node; apply it there, or an AccessGrant"';
  const made = await api.call('POST', roles, { body: role });
  expect([made.status, made.warnings]).toEqual([201, text]);
  expect((await api.call('PUT', `${roles}/a`, { body: role })).warnings).toBe(text);
  const applied = {
    body: { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', ...role },
    type: 'application/apply-patch+yaml',
  };
  expect((await api.call('PATCH', `${roles}/a?fieldManager=jo`, applied)).warnings).toBe(text);
  expect((await api.call('DELETE', `${roles}/a`)).warnings).toBe('');
  const [policies, policy] = [
    roles.replace('roles', 'networkpolicies').replace('rbac.authorization', 'networking'),
    { body: { metadata: { name: 'a' }, spec: { podSelector: {} } } },
  ];
  expect((await api.call('POST', policies, policy)).warnings).toBe(
    '299 - "a NetworkPolicy has no effect in an inventory space: apply it in a workload space, with an EdgePlacement, to have it at edge clusters"',
  );
});
