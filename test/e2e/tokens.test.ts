/** Tokens of ServiceAccounts at a node, with stock kubectl: a robot without a certificate. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { withoutKubectl } from '../support/kubectl.ts';
import { LocalTree, until } from './local-tree.ts';
import { People } from './people.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const center = 'node/center';

describe.skipIf(withoutKubectl)(`the token of a ServiceAccount${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-tokens-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  const people = new People(tree, directory);
  const account = '{kind: ServiceAccount, name: robot, namespace: robots}';
  const apply = (context: string, text: string) => {
    const { code, out } = tree.kubectl(context, ['apply', '-f', '-'], text);
    expect(code, out).toBe(0);
  };
  const create = (...args: string[]) =>
    tree.kubectl(center, ['create', 'token', 'robot', '-n', 'robots', ...args]).stdout.trim();
  /** kubectl with a token, and without a certificate. */
  const as = (token: string, context: string, ...args: string[]) =>
    people.as('bare', context, '--token', token, ...args);

  beforeAll(async () => {
    const topology = {
      apiVersion: 'banyan.io/v1alpha1',
      kind: 'Topology',
      metadata: { name: 'tokens' },
      spec: {
        center: { spaces: [{ name: 'retail' }] },
        relays: [
          { name: 'eu' },
          { name: 'us', replicas: 2 },
          { name: 'asia', access: { fromAbove: 'grants' } },
          { name: 'moon', access: { fromAbove: 'none' } },
        ],
        clusters: [{ name: 'rivoli', parent: 'eu', labels: { env: 'prod' } }],
      },
    };
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    await tree.up();
    people.identify('bare', {});
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
    expect(review(['other', 'vault'])).toMatchObject({ authenticated: true, audiences: ['vault'] });
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

  it('is in a Secret of its type, without an end, until the Secret or the account is deleted', async () => {
    const secret = (name: string, account = 'robot') => `apiVersion: v1
kind: Secret
type: kubernetes.io/service-account-token
metadata: {name: ${name}, namespace: robots, annotations: {kubernetes.io/service-account.name: ${account}}}
`;
    apply(center, secret('held'));
    const field = (path: string) => {
      const { stdout } = tree.kubectl(center, ['get', 'secret', 'held', '-n', 'robots', '-o', `jsonpath=${path}`]);
      return Buffer.from(stdout, 'base64').toString();
    };
    await until('the Secret has a token', () => field('{.data.token}') !== '');
    const token = field('{.data.token}');
    expect(field('{.data.namespace}')).toBe('robots');
    expect(field('{.data.ca\\.crt}')).toBe(readFileSync(join(tree.data, 'pki/ca.crt'), 'utf8'));
    expect(as(token, center, 'auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}').out).toBe(
      'system:serviceaccount:robots:robot',
    );
    tree.ok(center, 'delete', 'secret', 'held', '-n', 'robots');
    expect(as(token, center, 'auth', 'whoami').out).toMatch(/Unauthorized|logged in/);
    expect(tree.kubectl(center, ['apply', '-f', '-'], secret('lost', 'nobody')).out).toContain(
      'Warning: there is no ServiceAccount robots/nobody',
    );
    await until('the Secret is deleted', () => !tree.ok(center, 'get', 'secrets', '-n', 'robots').includes('lost'));
    tree.ok(center, 'create', 'serviceaccount', 'brief', '-n', 'robots');
    apply(center, secret('brief', 'brief'));
    tree.ok(center, 'delete', 'serviceaccount', 'brief', '-n', 'robots');
    await until('it goes with its account', () => !tree.ok(center, 'get', 'secrets', '-n', 'robots').includes('brief'));
  });

  it('is good at an embedded cluster, where the roles of the cluster decide', async () => {
    const cluster = 'cluster/eu:rivoli';
    tree.ok(cluster, 'create', 'namespace', 'shop');
    tree.ok(cluster, 'create', 'serviceaccount', 'till', '-n', 'shop');
    tree.ok(cluster, 'create', 'rolebinding', 'till', '-n', 'shop', '--clusterrole=view', '--serviceaccount=shop:till');
    const token = tree.ok(cluster, 'create', 'token', 'till', '-n', 'shop', '--duration', '10m').trim();
    expect(as(token, cluster, 'auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}').out).toBe(
      'system:serviceaccount:shop:till',
    );
    expect(as(token, cluster, 'get', 'configmaps', '-n', 'shop').code).toBe(0);
    expect(as(token, cluster, 'get', 'configmaps', '-n', 'default').out).toContain(
      'User "system:serviceaccount:shop:till" cannot list resource "configmaps"',
    );
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
    const url = '/apis/authentication.k8s.io/v1/tokenreviews';
    const reviewed = tree.kubectl(cluster, ['create', '--raw', url, '-f', '-'], JSON.stringify(review)).stdout;
    expect(JSON.parse(reviewed).status).toMatchObject({
      authenticated: true,
      user: { username: 'system:serviceaccount:shop:till' },
    });
    // Through the tree, people make tokens of the cluster too.
    const create = () => tree.kubectlAt('center', '/tree/eu:rivoli/cluster', ['create', 'token', 'till', '-n', 'shop']);
    // An earlier test has killed the center.
    await until('eu is attached again', () => create().code === 0);
    const through = create();
    expect(as(through.stdout.trim(), cluster, 'get', 'configmaps', '-n', 'shop').code, through.out).toBe(0);
    // Each API has a key of its own.
    for (const context of [center, 'node/eu'])
      expect(as(token, context, 'get', 'nodes').out).toMatch(/Unauthorized|logged in/);
    apply(
      cluster,
      `apiVersion: v1
kind: Secret
type: kubernetes.io/service-account-token
metadata: {name: till, namespace: shop, annotations: {kubernetes.io/service-account.name: till}}
`,
    );
    const held = () => tree.ok(cluster, 'get', 'secret', 'till', '-n', 'shop', '-o', 'jsonpath={.data.token}');
    await until('the Secret of the cluster has a token', () => held() !== '');
    expect(as(Buffer.from(held(), 'base64').toString(), cluster, 'get', 'configmaps', '-n', 'shop').code).toBe(0);
    tree.ok(cluster, 'delete', 'serviceaccount', 'till', '-n', 'shop');
    expect(as(token, cluster, 'auth', 'whoami').out).toMatch(/Unauthorized|logged in/);
  });

  it('for metrics is good at /metrics of all nodes, and for nothing else', async () => {
    tree.ok(center, 'create', 'namespace', 'monitoring');
    tree.ok(center, 'create', 'serviceaccount', 'prometheus', '-n', 'monitoring');
    const name = 'system:serviceaccount:monitoring:prometheus';
    const binding = ['--clusterrole=banyan:metrics', '--serviceaccount=monitoring:prometheus'];
    tree.ok(center, 'create', 'clusterrolebinding', 'prometheus', ...binding);
    const token = tree
      .ok(center, 'create', 'token', 'prometheus', '-n', 'monitoring', '--audience', 'urn:banyan:metrics')
      .trim();
    const metrics = (context: string) => as(token, context, 'get', '--raw', '/metrics').out;
    const open = [center, 'node/eu', 'node/us', 'node/us~1', 'cluster/eu:rivoli'];
    await until('all nodes know the token', () => open.every((context) => metrics(context).includes('banyan_')));
    for (const context of open)
      expect(as(token, context, 'get', '--raw', '/version').out).toMatch(/Unauthorized|logged in/);
    // A region that gives nothing away says what it gives, and one that gives nothing does not know the token.
    await until('the region knows the token', () => !/Unauthorized|logged in/.test(metrics('node/asia')));
    expect(metrics('node/asia')).toContain(`User "center:${name}" cannot get path "/metrics"`);
    tree.ok('node/asia', 'create', 'clusterrolebinding', 'p', '--clusterrole=banyan:metrics', `--user=center:${name}`);
    expect(metrics('node/asia')).toContain('banyan_');
    expect(metrics('node/moon')).toMatch(/Unauthorized|logged in/);
    tree.ok(center, 'delete', 'serviceaccount', 'prometheus', '-n', 'monitoring');
    await until('no node knows the token any more', () =>
      [...open, 'node/asia'].every((context) => /Unauthorized|logged in/.test(metrics(context))),
    );
  });

  it('of a replica is good at the others if they have an account of the name, until they delete it', async () => {
    const [one, two] = ['node/us', 'node/us~1'];
    for (const context of [one, two]) tree.ok(context, 'create', 'serviceaccount', 'twin', '-n', 'default');
    const who = (token: string, context: string) =>
      as(token, context, 'auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}').out;
    const make = (context: string) => tree.ok(context, 'create', 'token', 'twin', '-n', 'default').trim();
    await until('a token is younger than both accounts', () => who(make(one), two).endsWith(':twin'));
    const token = make(two);
    expect([one, two].map((context) => who(token, context))).toEqual(
      Array.from({ length: 2 }, () => 'system:serviceaccount:default:twin'),
    );
    tree.ok(one, 'delete', 'serviceaccount', 'twin', '-n', 'default');
    expect(who(token, one)).toMatch(/Unauthorized|logged in/);
    expect(who(token, two)).toBe('system:serviceaccount:default:twin');
    tree.ok(one, 'create', 'serviceaccount', 'twin', '-n', 'default');
    expect(who(token, one)).toMatch(/Unauthorized|logged in/);
  });

  function emptyReview(): string {
    const file = join(directory, 'review.json');
    writeFileSync(file, JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }));
    return file;
  }
});
