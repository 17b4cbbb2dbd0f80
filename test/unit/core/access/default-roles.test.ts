import { describe, expect, it } from 'vitest';
import { defaultClusterRoleBindings, defaultClusterRoles } from '../../../../core/access/default-roles.ts';
import { Rbac } from '../../../../core/access/rbac.ts';
import { ownKinds } from '../../../../core/apiserver/kinds/kinds-of-space.ts';
import { builtinCauses } from '../../../support/builtin-causes.ts';
import { clusterRoleBinding, user, userSubject } from './rbac-objects.ts';

const rbac = new Rbac();
for (const object of [...defaultClusterRoles, ...defaultClusterRoleBindings]) rbac.put(object);
for (const name of ['admin', 'edit', 'view']) rbac.put(clusterRoleBinding(name, name, userSubject(name)));

/** `list edge.banyan.io/edgeplacements/status` */
function may(name: string, text: string): boolean {
  const [verb = '', what = ''] = text.split(' ');
  const [apiGroup = '', resource = '', subresource = ''] = what.split('/');
  const request = { user: user(name), verb, apiGroup, resource, subresource, namespace: 'shop', name: '' };
  return rbac.decide(request).allowed;
}

const mayGet = (path: string, ...groups: readonly string[]) =>
  rbac.decide({ user: user('joe', ...groups), verb: 'get', path }).allowed;

describe('the default roles', () => {
  it('are valid', () => {
    for (const object of [...defaultClusterRoles, ...defaultClusterRoleBindings]) {
      expect(builtinCauses(object), object.metadata.name).toEqual([]);
    }
  });

  it('let viewers read, but no Secrets', () => {
    expect(may('view', 'list /pods')).toBe(true);
    expect(may('view', 'create /pods')).toBe(false);
    expect(may('view', 'get /secrets')).toBe(false);
    expect(may('view', 'watch edge.banyan.io/edgeplacements')).toBe(true);
    expect(may('view', 'get edge.banyan.io/statussummaries')).toBe(true);
    expect(may('view', 'list inventory.banyan.io/locations')).toBe(true);
    expect(may('view', 'list mesh.banyan.io/nodes')).toBe(true);
    expect(may('view', 'list mesh.banyan.io/jointokens')).toBe(false);
  });

  it('let editors write workloads and placements, but no roles and no inventory', () => {
    for (const resource of [
      'edgeplacements',
      'customizers',
      'statussummarizers',
      'rolloutgates',
      'rolloutgates/status',
    ]) {
      expect(may('edit', `patch edge.banyan.io/${resource}`), resource).toBe(true);
    }
    expect(may('edit', 'get /secrets')).toBe(true);
    expect(may('edit', 'list edge.banyan.io/singleplacementslices')).toBe(true);
    expect(may('edit', 'update edge.banyan.io/statussummaries')).toBe(false);
    expect(may('edit', 'update inventory.banyan.io/synctargets')).toBe(false);
    expect(may('edit', 'create rbac.authorization.k8s.io/roles')).toBe(false);
  });

  it('let administrators write roles of a namespace too, but not the mesh', () => {
    expect(may('admin', 'create rbac.authorization.k8s.io/roles')).toBe(true);
    expect(may('admin', 'create rbac.authorization.k8s.io/clusterroles')).toBe(false);
    expect(may('admin', 'patch edge.banyan.io/edgeplacements')).toBe(true);
    expect(may('admin', 'create mesh.banyan.io/accessgrants')).toBe(false);
    expect(may('admin', 'create mesh.banyan.io/jointokens')).toBe(false);
  });

  it('let everybody see the version, users see the kinds, and a Prometheus see the metrics', () => {
    expect(mayGet('/version', 'system:unauthenticated')).toBe(true);
    expect(mayGet('/apis/apps', 'system:unauthenticated')).toBe(false);
    expect(mayGet('/apis/apps', 'system:authenticated')).toBe(true);
    expect(mayGet('/metrics', 'system:authenticated')).toBe(false);
    expect(mayGet('/metrics', 'banyan:metrics')).toBe(true);
  });

  it('name only resources of the mesh that exist', () => {
    const kinds = [...ownKinds('Workload'), ...ownKinds('Inventory'), ...ownKinds('System')];
    const existing = new Set(kinds.map(({ group, resource }) => `${group}/${resource}`));
    for (const { rules } of defaultClusterRoles) {
      for (const { apiGroups = [], resources = [] } of rules ?? []) {
        for (const group of apiGroups.filter((one) => one.endsWith('.banyan.io'))) {
          for (const resource of resources) expect(existing).toContain(`${group}/${resource.split('/')[0]}`);
        }
      }
    }
  });
});
