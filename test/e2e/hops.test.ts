/** Requests through other nodes (`/tree/PATH`) for users without system:masters: each node on the way decides. */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { kubectlProgram, withoutKubectl } from '../support/kubectl.ts';
import { banyan, kubectlBy, LocalTree, until } from './local-tree.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';

describe.skipIf(withoutKubectl)(`a user of the center at other nodes${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-hops-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));

  /** kubectl as this user, at a node of the tree, by way of the center. */
  const through = (user: string, path: string, ...args: string[]) => {
    const [, , , , , url] = tree.kubectlArgs('center', `/tree/${path}`);
    return kubectlBy(join(directory, user, 'kubeconfig'), ['--context', 'node/center', '-s', url!, ...args]);
  };
  const add = (name: string, ...args: string[]) => {
    const { code, stdout, out } = banyan('user', 'add', name, ...args, '--data', tree.data);
    expect(code, out).toBe(0);
    mkdirSync(join(directory, name));
    writeFileSync(join(directory, name, 'kubeconfig'), stdout, { mode: 0o600 });
  };
  const rbac = 'rbac.authorization.k8s.io';
  const grant = (name: string, role: string, subject: object, scope: object) => ({
    apiVersion: 'mesh.banyan.io/v1alpha1',
    kind: 'AccessGrant',
    metadata: { name },
    spec: { subjects: [subject], roleRef: { kind: 'ClusterRole', name: role }, scope },
  });
  const apply = (context: string, ...items: object[]) => {
    const { code, out } = tree.apply(context, { apiVersion: 'v1', kind: 'List', items });
    expect(code, out).toBe(0);
  };

  beforeAll(async () => {
    const labels = { env: 'prod' };
    const topology = {
      apiVersion: 'banyan.io/v1alpha1',
      kind: 'Topology',
      metadata: { name: 'hops' },
      spec: {
        center: { spaces: [{ name: 'retail' }] },
        relays: [
          { name: 'eu', spaces: [{ name: 'ops' }] },
          { name: 'us', access: { fromAbove: 'grants' }, spaces: [{ name: 'ops' }] },
          { name: 'asia', access: { fromAbove: 'none' } },
        ],
        clusters: [
          { name: 'rivoli', parent: 'eu', labels },
          { name: 'market', parent: 'us', labels, access: { fromAbove: 'grants' } },
        ],
      },
    };
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    await tree.up();
    add('alice', '--group', 'tills');
    add('bob');
    for (const path of ['eu', 'us', 'asia'])
      apply('node/center', grant(`tills-${path}`, 'edit', { kind: 'Group', name: 'tills' }, { subtree: { path } }));
  });
  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('may do what the grants of the center say, where the other node gives everything to users of nodes above', () => {
    expect(
      through('alice', 'eu/spaces/ops', 'create', 'configmap', 'a', '-n', 'default', '--from-literal=a=b').out,
    ).toBe('configmap/a created\n');
    expect(through('alice', 'eu/spaces/ops', 'create', 'role', 'r', '--verb=get', '--resource=pods').out).toContain(
      'User "alice" cannot create resource "roles"',
    );
    expect(through('alice', 'eu:rivoli/cluster', 'create', 'namespace', 'shop').out).toContain('User "alice" cannot');
    expect(through('alice', 'eu:rivoli/cluster', 'get', 'configmaps', '-n', 'kube-system').code).toBe(0);
    expect(through('bob', 'eu/spaces/ops', 'get', 'configmaps', '-n', 'default').out).toContain('User "bob" cannot');
  });

  it('is known to the other node by the path of the center, and has the groups of nobody there', () => {
    const who = (...more: string[]) =>
      JSON.parse(through('alice', 'eu', 'auth', 'whoami', '-o', 'json', ...more).stdout).status.userInfo;
    expect(who()).toMatchObject({ username: 'center:alice' });
    expect(who().groups.toSorted()).toEqual(['banyan:from-above', 'center:tills', 'system:authenticated']);
  });

  it('needs a grant of the other node too, where that node decides by its grants', async () => {
    const maps = () => through('alice', 'us/spaces/ops', 'get', 'configmaps', '-n', 'default');
    expect(maps().out).toContain('User "center:alice" cannot get path "/api"');
    expect(maps().out).toContain('no AccessGrant of us allows this in the space "ops"');
    apply('node/us', grant('guests', 'view', { kind: 'Group', name: 'center:tills' }, { space: { name: 'ops' } }));
    await until('the grant counts', () => maps().code === 0);
    expect(through('alice', 'us/spaces/ops', 'create', 'configmap', 'b', '-n', 'default').out).toContain(
      'User "center:alice" cannot create resource "configmaps"',
    );
  });

  it('passes a node on the way only with a right at the end, and has there what the roles of the cluster give', async () => {
    const pods = () => through('alice', 'us:market/cluster', 'get', 'pods', '-n', 'default');
    expect(pods().out).toContain('no AccessGrant of us gives User \\"center:alice\\" a right at us:market');
    apply('node/us', grant('on', 'view', { kind: 'User', name: 'center:alice' }, { clusters: { path: 'us:market' } }));
    await until('the request reaches the cluster', () =>
      pods().out.includes('User "center:alice" cannot list resource "pods" in API group "" in the namespace "default"'),
    );
    apply('cluster/us:market', {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata: { name: 'guests', namespace: 'default' },
      subjects: [{ kind: 'User', apiGroup: rbac, name: 'center:alice' }],
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'view' },
    });
    expect(pods().code).toBe(0);
    expect(through('alice', 'us:market/cluster', 'get', 'secrets', '-n', 'default').out).toContain(
      'User "center:alice" cannot list resource "secrets"',
    );
  });

  it('has no rights at a node that gives none to users of nodes above, not even the administrator', () => {
    apply(
      'node/asia',
      grant('all', 'cluster-admin', { kind: 'User', name: 'center:alice' }, { subtree: { path: 'asia' } }),
    );
    const refused = 'asia gives no rights to users of nodes above: access.fromAbove of its configuration is none';
    expect(through('alice', 'asia', 'get', 'nodes').out).toContain(refused);
    expect(tree.kubectlAt('center', '/tree/asia', ['get', 'nodes']).out).toContain(refused);
  });

  it('acts as another user only with the right to impersonate at the center, and is that user at the other node', () => {
    expect(through('alice', 'eu', 'get', 'nodes', '--as', 'carol').out).toContain('User "alice" cannot impersonate');
    const { stdout } = tree.kubectlAt('center', '/tree/eu', [
      'auth',
      'whoami',
      '-o',
      'json',
      '--as',
      'alice',
      '--as-group',
      'tills',
    ]);
    expect(JSON.parse(stdout).status.userInfo.username).toBe('center:alice');
  });

  it('is refused everywhere after a revocation, also in open watches, until it has a new certificate', async () => {
    const direct = (context: string) =>
      kubectlBy(join(directory, 'alice', 'kubeconfig'), ['--context', context, 'auth', 'whoami']);
    const contexts = ['node/center', 'node/us', 'cluster/us:market'];
    expect(contexts.map((context) => direct(context).code)).toEqual([0, 0, 0]);
    const file = join(directory, 'alice', 'kubeconfig');
    const url = '/tree/us/spaces/ops/api/v1/namespaces/default/configmaps?watch=true';
    const watch = spawn(kubectlProgram, ['--kubeconfig', file, '--context', 'node/center', 'get', '--raw', url]);
    let ended = false;
    watch.once('exit', () => {
      ended = true;
    });
    watch.stdout.resume();
    watch.stderr.resume();
    await delay(1_000);
    expect(ended).toBe(false);
    const { code, out } = banyan('user', 'revoke', 'alice', '--data', tree.data);
    expect([code, out]).toEqual([0, expect.stringContaining('at center and below')]);
    await until('all nodes refuse the user', () => contexts.every((context) => direct(context).code !== 0), 5);
    await until('the watch has ended', () => ended, 5);
    expect(direct('node/center').out).toMatch(/Unauthorized|must be logged in|revoked/);
    rmSync(join(directory, 'alice'), { recursive: true });
    add('alice', '--group', 'tills');
    await until('the new certificate counts', () => contexts.every((context) => direct(context).code === 0), 5);
  });
});
