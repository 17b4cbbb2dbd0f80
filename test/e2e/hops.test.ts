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
import { placedInProduction } from './placements.ts';

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

  describe('and a space of the center', () => {
    const shop = (name: string) => [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'till', namespace: name } },
      placedInProduction(name),
    ];
    const maps = (namespace: string) => `/api/v1/namespaces/${namespace}/configmaps`;

    it('is read at a relay by whom the relay grants it there, and nothing else is', async () => {
      apply('space/center/retail', ...shop('shop'));
      add('rita');
      const as = (...args: string[]) => kubectlBy(join(directory, 'rita', 'kubeconfig'), args);
      const get = (context: string, namespace: string) =>
        as('--context', context, 'get', 'configmaps', '-n', namespace);
      const copy = 'space/eu/center.retail';
      expect(get(copy, 'shop').out).toContain('no AccessGrant of eu allows this in the space "center.retail"');
      const rita = { kind: 'User', name: 'rita' };
      apply('node/eu', grant('rita', 'view', rita, { space: { name: 'center.retail', namespaces: ['shop'] } }));
      await until('the copy is at eu', () => get(copy, 'shop').out.includes('till'));
      expect(as('--context', 'fleet/eu/center.retail', 'get', 'configmaps', '-n', 'shop').out).toContain('eu:rivoli');
      expect(as('--context', copy, 'auth', 'can-i', '--list', '-n', 'shop').out).toContain('configmaps');
      expect(as('--context', copy, 'delete', 'configmap', 'till', '-n', 'shop').out).toContain('cannot delete');
      for (const [context, namespace] of [
        [copy, 'default'],
        ['space/eu/ops', 'shop'],
        ['space/center/retail', 'shop'],
      ])
        expect(get(context!, namespace!).out).toContain('User "rita" cannot');
      const wrong = tree.apply('node/eu', grant('wrong', 'view', rita, { space: { name: 'us.ops' } }));
      expect(wrong.out).toContain(
        'spec.scope.space.name: Invalid value: "us.ops": no node above eu can have this space',
      );
      const misspelt = tree.apply('node/eu', grant('wrong', 'view', rita, { space: { name: 'center.retial' } }));
      expect(misspelt.out).toContain('Warning: spec.scope.space.name: this node has no space "center.retial"');
    });

    it('ends all watches with Expired at every node when it is removed, and is not found there afterwards', async () => {
      const team = { apiVersion: 'mesh.banyan.io/v1alpha1', kind: 'Space', metadata: { name: 'team' } };
      apply('node/center', { ...team, spec: { type: 'Workload' } });
      tree.ok('node/center', 'wait', 'space/team', '--for=condition=Ready', '--timeout=30s');
      const items = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: shop('team') });
      const made = tree.kubectlAt('center', '/spaces/team', ['apply', '-f', '-'], items);
      expect(made.code, made.out).toBe(0);
      const places = [
        ['center', `/spaces/team${maps('team')}`],
        ['center', `/fleet/team${maps('team')}`],
        ['eu', `/spaces/center.team${maps('team')}`],
        ['eu', `/fleet/center.team${maps('team')}`],
      ] as const;
      const raw = (node: string, url: string) => tree.kubectl(`node/${node}`, ['get', '--raw', url]);
      for (const [node, url] of places) await until(`${url} has it`, () => raw(node, url).out.includes('"till"'));
      const watches = places.map(([node, url]) => {
        const args = [...tree.kubectlArgs(node, ''), 'get', '--raw', `${url}?watch=true`];
        const child = spawn(kubectlProgram, args);
        const watch = { text: '', ended: false };
        child.stdout.on('data', (chunk) => {
          watch.text += chunk;
        });
        child.stderr.resume();
        child.once('exit', () => {
          watch.ended = true;
        });
        return watch;
      });
      await until('all watches have begun', () => watches.every(({ text }) => text.includes('"till"')));
      tree.ok('node/center', 'delete', 'space', 'team', '--timeout=60s');
      await until('all watches have ended', () => watches.every(({ ended }) => ended), 30);
      for (const { text } of watches) {
        const { type, object } = JSON.parse(text.trim().split('\n').at(-1)!);
        expect([type, object]).toMatchObject(['ERROR', { code: 410, reason: 'Expired' }]);
        expect(object.message).toMatch(/the space "(center\.)?team" was removed/);
      }
      for (const [node, url] of places) expect(raw(node, url).out).toMatch(/NotFound|could not find|there is no space/);
    });
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
