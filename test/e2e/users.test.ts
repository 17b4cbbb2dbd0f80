/** Users without system:masters: what roles, bindings and AccessGrants give them at a node, with stock kubectl and certificates of `banyan user add`. */
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { createUserAuthority, issueUser } from '../../core/identity/authority.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { banyan, LocalTree, until } from './local-tree.ts';
import { certificateUser, grant as grantTo, People } from './people.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const [center, retail, ops, copies] = ['node/center', 'space/center/retail', 'space/center/ops', 'fleet/center/retail'];

describe.skipIf(withoutKubectl)(`a user without system:masters${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-users-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  const people = new People(tree, directory);
  const as = people.as.bind(people);
  const add = people.add.bind(people);
  const grant = (name: string, role: string, group: string, scope: object) =>
    grantTo(name, { kind: 'Group', name: group }, role, scope);
  const apply = (context: string, ...items: object[]) =>
    tree.ok(context, 'apply', '-f', file({ apiVersion: 'v1', kind: 'List', items }));
  let files = 0;
  const file = (object: object) => {
    const path = join(directory, `${files++}.yaml`);
    writeFileSync(path, stringify(object));
    return path;
  };

  beforeAll(async () => {
    const topology = {
      apiVersion: 'banyan.io/v1alpha1',
      kind: 'Topology',
      metadata: { name: 'users' },
      spec: {
        center: { spaces: [{ name: 'retail' }, { name: 'ops' }] },
        relays: [{ name: 'eu' }],
        clusters: [{ name: 'rivoli', parent: 'eu', labels: { env: 'prod' } }],
      },
    };
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    await tree.up();
    add('alice', '--group', 'tills');
    add('bob');
    for (const name of ['shop', 'desk']) tree.ok(retail, 'create', 'namespace', name);
    tree.ok(ops, 'create', 'configmap', 'plan', '--from-literal=a=b');
    apply(center, grant('tills', 'edit', 'tills', { space: { name: 'retail', namespaces: ['shop'] } }));
  });
  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('may do nothing anywhere without a grant, and reads which grant is missing', () => {
    for (const context of [center, retail, ops, copies, 'node/eu', 'mailbox/eu:rivoli', 'cluster/eu:rivoli']) {
      const { code, out } = as('bob', context, 'get', 'configmaps', '-A');
      expect([context, code === 0]).toEqual([context, false]);
      expect(out).toContain('User "bob" cannot');
    }
    expect(as('bob', retail, 'get', '--raw', '/spaces/retail/api/v1/configmaps').out).toContain(
      'no AccessGrant of center allows this in the space "retail"',
    );
    expect(as('bob', center, 'get', '--raw', '/metrics').out).toContain('User "bob" cannot get path "/metrics"');
    expect(as('bob', center, 'auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}').out).toBe('bob');
  });

  it('may have a certificate of another authority, as soon as the file of authorities has it', async () => {
    const issuing = { clock: systemClock, random: systemRandom };
    const authority = await createUserAuthority('next', issuing);
    const { certPem, keyPem } = await issueUser(authority, { name: 'bob', groups: [] }, issuing);
    people.identify('next', certificateUser(certPem, keyPem));
    const everywhere = [center, 'node/eu', 'cluster/eu:rivoli'];
    const known = (user: string) =>
      everywhere.map((context) => as(user, context, 'get', '--raw', '/version').code === 0);
    expect(known('next')).toEqual([false, false, false]);
    appendFileSync(join(tree.data, 'pki/users_trusted.crt'), authority.certPem);
    await until('all nodes know the authority', () => !known('next').includes(false));
    expect(known('bob')).toEqual([true, true, true]);
  });

  it('has the rights of the role in the namespaces of the grant, and no others', () => {
    const inShop = (...args: string[]) => as('alice', retail, '-n', 'shop', ...args);
    expect(inShop('create', 'configmap', 'menu', '--from-literal=a=b').out).toContain('created');
    const applied = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'menu', namespace: 'shop' },
      data: { a: 'c' },
    };
    expect(inShop('apply', '--server-side', '--force-conflicts', '-f', file(applied)).code).toBe(0);
    expect(inShop('delete', 'configmap', 'menu').code).toBe(0);
    expect(inShop('get', 'namespace', 'shop').code).toBe(0);
    for (const args of [
      ['-n', 'desk', 'get', 'configmaps'],
      ['get', 'configmaps', '-A'],
      ['get', 'namespaces'],
      ['delete', 'namespace', 'shop'],
      ['-n', 'shop', 'create', 'role', 'r', '--verb=get', '--resource=pods'],
    ]) {
      expect(as('alice', retail, ...args).out).toContain('is forbidden: User "alice" cannot');
    }
    expect(as('alice', ops, 'get', 'configmaps', '-A').code).not.toBe(0);
  });

  it('gets right answers to questions about the rights', () => {
    const can = (...args: string[]) => as('alice', retail, 'auth', 'can-i', ...args).stdout.trim();
    expect(can('create', 'deployments', '-n', 'shop')).toBe('yes');
    expect(can('create', 'deployments', '-n', 'desk')).toBe('no');
    expect(can('--list', '-n', 'shop')).toMatch(/deployments\.apps\s.*create/);
    const review = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        user: 'alice',
        groups: ['tills'],
        resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'shop' },
      },
    };
    const url = '/spaces/retail/apis/authorization.k8s.io/v1/subjectaccessreviews';
    const asked = JSON.parse(tree.kubectl(center, ['create', '--raw', url, '-f', '-'], JSON.stringify(review)).stdout);
    expect(asked.status).toEqual({
      allowed: true,
      reason: 'Banyan: allowed by AccessGrant "tills" of ClusterRole "edit" to Group "tills"',
    });
  });

  it('sees the copies of its namespaces at all clusters', async () => {
    tree.ok(retail, 'create', 'configmap', 'seen', '-n', 'shop', '--from-literal=a=b');
    const downsync = [{ apiGroup: '', resources: ['configmaps'], namespaces: ['shop'] }];
    apply(retail, {
      apiVersion: 'edge.banyan.io/v1alpha1',
      kind: 'EdgePlacement',
      metadata: { name: 'shop' },
      spec: { locationSelectors: [{ matchLabels: { env: 'prod' } }], downsync },
    });
    await until('the copy is seen', () =>
      as('alice', copies, 'get', 'configmaps', '-n', 'shop').stdout.includes('seen'),
    );
    expect(as('alice', copies, 'get', 'configmaps', '-n', 'desk').out).toContain('is forbidden');
  });

  it('can not give away more than it has', () => {
    apply(
      center,
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: 'granter' },
        rules: [{ apiGroups: ['mesh.banyan.io'], resources: ['accessgrants'], verbs: ['*'] }],
      },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'granter' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'granter' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'alice' }],
      },
    );
    const give = (role: string, scope: object) =>
      as('alice', center, 'apply', '-f', file(grant('gift', role, 'friends', scope)));
    expect(give('view', { space: { name: 'retail', namespaces: ['shop'] } }).out).toContain('created');
    for (const [role, scope] of [
      ['admin', { space: { name: 'retail', namespaces: ['shop'] } }],
      ['view', { space: { name: 'retail' } }],
      ['view', { space: { name: 'ops' } }],
      ['view', { subtree: { path: 'center' } }],
    ] as const) {
      expect(give(role, scope).out).toContain('is attempting to grant RBAC permissions not currently held');
    }
  });

  it('may act as others only with the right to do so', () => {
    expect(as('alice', retail, '--as', 'bob', 'get', 'pods', '-n', 'shop').out).toContain(
      'users "bob" is forbidden: User "alice" cannot impersonate resource "users"',
    );
    const acting = (...args: string[]) => tree.kubectl(retail, ['--as', 'bob', '--as-group', 'tills', ...args]);
    expect(acting('get', 'configmaps', '-n', 'shop').code).toBe(0);
    expect(acting('get', 'configmaps', '-n', 'desk').out).toContain('User "bob" cannot');
  });

  it('loses the rights with the grant, at once', () => {
    tree.ok(center, 'delete', 'accessgrant', 'tills');
    expect(as('alice', retail, 'get', 'configmaps', '-n', 'shop').out).toContain('User "alice" cannot');
  });

  it('has a name that Kubernetes does not use itself', () => {
    expect(banyan('user', 'add', 'system:admin', '--data', tree.data)).toMatchObject({
      code: 2,
      out: expect.stringContaining('user: "system:admin": names with system: belong to Kubernetes itself'),
    });
  });
});
