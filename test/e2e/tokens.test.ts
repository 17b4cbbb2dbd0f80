/** Tokens of ServiceAccounts at a node, with stock kubectl: a robot without a certificate. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { withoutKubectl } from '../support/kubectl.ts';
import { kubectlBy, LocalTree, until } from './local-tree.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const center = 'node/center';

describe.skipIf(withoutKubectl)(`the token of a ServiceAccount${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-tokens-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  const account = '{kind: ServiceAccount, name: robot, namespace: robots}';
  const apply = (context: string, text: string) => {
    const { code, out } = tree.kubectl(context, ['apply', '-f', '-'], text);
    expect(code, out).toBe(0);
  };
  const create = (...args: string[]) =>
    tree.kubectl(center, ['create', 'token', 'robot', '-n', 'robots', ...args]).stdout.trim();
  /** kubectl with a token, and without a certificate. */
  const as = (token: string, context: string, ...args: string[]) =>
    kubectlBy(join(directory, 'bare'), ['--context', context, '--token', token, ...args]);

  beforeAll(async () => {
    const topology = {
      apiVersion: 'banyan.io/v1alpha1',
      kind: 'Topology',
      metadata: { name: 'tokens' },
      spec: {
        center: { spaces: [{ name: 'retail' }] },
        relays: [{ name: 'eu' }],
        clusters: [{ name: 'rivoli', parent: 'eu', labels: { env: 'prod' } }],
      },
    };
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    await tree.up();
    const config = parse(readFileSync(join(tree.data, 'kubeconfig'), 'utf8')) as { users: { user: object }[] };
    for (const one of config.users) one.user = {};
    writeFileSync(join(directory, 'bare'), stringify(config));
    tree.ok(center, 'create', 'namespace', 'robots');
    tree.ok(center, 'create', 'serviceaccount', 'robot', '-n', 'robots');
    tree.ok('space/center/retail', 'create', 'namespace', 'shop');
    apply(
      center,
      `apiVersion: mesh.banyan.io/v1alpha1
kind: AccessGrant
metadata: {name: robot}
spec: {subjects: [${account}], roleRef: {kind: ClusterRole, name: edit}, scope: {space: {name: retail}}}
---
apiVersion: mesh.banyan.io/v1alpha1
kind: AccessGrant
metadata: {name: robot-below}
spec: {subjects: [${account}], roleRef: {kind: ClusterRole, name: view}, scope: {subtree: {path: eu}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: robot-metrics}
subjects: [${account}]
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "banyan:metrics"}
`,
    );
  });
  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('is good for what roles and grants give to the account, also at nodes below, and for nothing else', () => {
    const token = create();
    const in_ = (...args: string[]) => as(token, 'space/center/retail', '-n', 'shop', ...args);
    expect(in_('create', 'configmap', 'menu', '--from-literal=a=b').out).toBe('configmap/menu created\n');
    expect(in_('create', 'role', 'r', '--verb=get', '--resource=pods').out).toContain(
      'User "system:serviceaccount:robots:robot" cannot create resource "roles"',
    );
    expect(as(token, center, 'auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}').out).toBe(
      'system:serviceaccount:robots:robot',
    );
    expect(as(token, 'space/center/retail', 'auth', 'can-i', 'create', 'deployments', '-n', 'shop').out).toBe('yes\n');
    expect(as(token, center, 'get', '--raw', '/metrics').out).toContain('banyan_');
    const { username } = JSON.parse(
      as(
        token,
        center,
        ...['create', '--raw', '/tree/eu/apis/authentication.k8s.io/v1/selfsubjectreviews', '-f', emptyReview()],
      ).stdout,
    ).status.userInfo;
    expect(username).toBe('center:system:serviceaccount:robots:robot');
    // Another node has other keys.
    expect(as(token, 'node/eu', 'get', 'nodes').out).toMatch(/Unauthorized|logged in/);
  });

  it('is not good with another audience, and TokenReview knows the audiences', () => {
    const token = create('--audience', 'vault', '--duration', '15m');
    expect(as(token, center, 'auth', 'whoami').code).not.toBe(0);
    const review = (audiences: string[]) =>
      JSON.parse(
        tree.kubectl(
          center,
          ['create', '--raw', '/apis/authentication.k8s.io/v1/tokenreviews', '-f', '-'],
          JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token, audiences } }),
        ).stdout,
      ).status;
    expect(review(['vault'])).toMatchObject({
      authenticated: true,
      audiences: ['vault'],
      user: { username: 'system:serviceaccount:robots:robot' },
    });
    expect(review(['other']).authenticated).toBe(false);
    expect(review([]).authenticated).toBe(false);
  });

  it('is refused with the words of Kubernetes if the request for it is wrong', () => {
    const refused = (...args: string[]) => tree.kubectl(center, ['create', 'token', ...args, '-n', 'robots']).out;
    expect(refused('robot', '--duration', '1m')).toContain('may not specify a duration less than 10 minutes');
    expect(refused('nobody')).toContain('serviceaccounts "nobody" not found');
    expect(tree.kubectl('space/center/retail', ['create', 'token', 'default', '-n', 'shop']).out).toMatch(
      /NotFound|could not find|not found/,
    );
  });

  it('ends with the account, at once, also after the node has started again', async () => {
    const [token, other] = [create(), create()];
    tree.kill('center');
    await until('the center is back', () => as(token, center, 'auth', 'whoami').code === 0);
    tree.ok(center, 'delete', 'serviceaccount', 'robot', '-n', 'robots');
    for (const one of [token, other]) expect(as(one, center, 'auth', 'whoami').out).toMatch(/Unauthorized|logged in/);
    tree.ok(center, 'create', 'serviceaccount', 'robot', '-n', 'robots');
    expect(as(token, center, 'auth', 'whoami').code).not.toBe(0);
    expect(as(create(), center, 'auth', 'whoami').code).toBe(0);
  });

  function emptyReview(): string {
    const file = join(directory, 'review.json');
    writeFileSync(file, JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }));
    return file;
  }
});
