/** The command line with kubeconfigs that `banyan up` did not write: one context, any name, a token; and the contexts that `banyan kubeconfig` prints. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { banyan, fixture, kubectlBy, LocalTree } from '../e2e/local-tree.ts';
import { withoutKubectl } from '../support/kubectl.ts';

interface Kubeconfig {
  readonly clusters: readonly { name: string; cluster: { server: string; 'certificate-authority-data': string } }[];
  readonly contexts: readonly { name: string }[];
}

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';

describe.skipIf(withoutKubectl)(`the command line at a tree that only a kubeconfig reaches${why}`, () => {
  const tree = new LocalTree('deploy/topologies/shop.yaml');
  const foreign = join(tree.data, 'foreign.kubeconfig');
  const at = (context: string, ...args: string[]) => banyan(...args, '--kubeconfig', foreign, '--context', context);
  const object = ['deployment/frontend', '-n', 'guestbook', '--at', 'eu:paris:rivoli'];

  beforeAll(async () => {
    await tree.up();
    tree.ok('space/center/retail', 'apply', '-f', fixture('docs/examples/guestbook.yaml'));
    tree.ok('space/center/retail', 'wait', 'epl/guestbook', '--for=condition=Ready', '--timeout=60s');
    tree.ok('node/center', 'create', 'serviceaccount', 'operator');
    tree.ok(
      'node/center',
      'create',
      'clusterrolebinding',
      'operator',
      '--clusterrole=cluster-admin',
      '--serviceaccount=default:operator',
    );
    tree.apply('node/center', {
      apiVersion: 'mesh.banyan.io/v1alpha1',
      kind: 'AccessGrant',
      metadata: { name: 'operator' },
      spec: {
        subjects: [{ kind: 'ServiceAccount', name: 'operator', namespace: 'default' }],
        roleRef: { kind: 'ClusterRole', name: 'cluster-admin' },
        scope: { subtree: { path: 'center' } },
      },
    });
    const token = tree.ok('node/center', 'create', 'token', 'operator').trim();
    const { clusters } = parse(readFileSync(join(tree.data, 'kubeconfig'), 'utf8')) as Kubeconfig;
    const { server, 'certificate-authority-data': ca } = clusters.find(({ name }) => name === 'node/center')!.cluster;
    writeFileSync(join(tree.data, 'ca.crt'), Buffer.from(ca, 'base64'));
    const cluster = (path: string) => ({ server: `${server}${path}`, 'certificate-authority': 'ca.crt' });
    const context = (name: string) => ({ name, context: { cluster: name, user: 'operator', namespace: 'guestbook' } });
    writeFileSync(
      foreign,
      stringify({
        'current-context': 'prod',
        users: [{ name: 'operator', user: { token } }],
        clusters: [
          { name: 'prod', cluster: cluster('') },
          { name: 'prod-retail', cluster: cluster('/spaces/retail') },
          { name: 'elsewhere', cluster: cluster('/fleet/retail/tree') },
        ],
        contexts: ['prod', 'prod-retail', 'elsewhere'].map(context),
      }),
    );
  });
  afterAll(() => tree[Symbol.asyncDispose]());

  it.each<[string, string[], RegExp]>([
    ['prod', ['tree'], /center +Center[\s\S]*paris +Relay +Connected[\s\S]*rivoli +Agent +Connected/],
    ['prod', ['tree', 'eu:paris'], /^NODE.*\nparis +Relay[\s\S]*rivoli +Agent/],
    ['prod-retail', ['tree', 'us'], /market +Agent/],
    ['prod', ['ping', 'eu:paris:rivoli'], /agent .*, ready/],
    ['prod', ['status', '--space', 'space/center/retail'], /guestbook +Ready +available 5\/5/],
    ['prod-retail', ['status', 'epl/guestbook'], /Ready=True/],
    [
      'prod-retail',
      ['why', ...object],
      /space\/eu\/center\.retail: it is cached here[\s\S]*cluster\/eu:paris:rivoli: it is there, uid/,
    ],
    ['prod-retail', ['plan', '--at', 'hq'], /# EdgePlacement guestbook matches hq/],
    ['prod-retail', ['history', 'epl/guestbook'], /^REVISION/],
    ['prod-retail', ['undo', 'epl/guestbook', '--to', '1', '--dry-run'], /its objects are as in revision 1/],
    ['prod', ['approve-deletions', 'eu:paris', '--dry-run'], /eu:paris: nothing is held/],
    ['prod', ['join-token', 'eu:paris:new'], /^banyan-join-1\./],
    ['prod', ['revoke', 'eu:paris:new'], /are refused at center, eu, eu:paris and below/],
    ['prod', ['user', 'add', 'carol'], /name: carol[\s\S]*client-certificate-data/],
    ['prod', ['user', 'revoke', 'carol'], /all certificates of the user carol are refused/],
  ])('at the context %s, %j works', (context, args, output) => {
    expect(at(context, ...args)).toEqual({ code: 0, out: expect.stringMatching(output), stdout: expect.any(String) });
  });

  it.each<[string, string[], RegExp]>([
    ['prod', ['tree', 'eu:pariss'], /there is no node "eu:pariss": did you mean "eu:paris"/],
    [
      'prod-retail',
      ['why', 'deployment/frontend', '-n', 'guestbook', '--at', 'eu:paris:rivol'],
      /did you mean "eu:paris:rivoli"\?; known: eu:berlin:lab, /,
    ],
    ['prd', ['tree'], /--context: there is no context "prd": did you mean "prod"/],
    ['elsewhere', ['tree'], /elsewhere \(https:.*\) is no node of a tree/],
    ['prod', ['kubeconfig', '--at', 'eu:pariss'], /--at: there is no node "eu:pariss": did you mean "eu:paris"/],
  ])('at the context %s, %j ends with 1 and the remedy', (context, args, output) => {
    expect(at(context, ...args)).toMatchObject({ code: 1, out: expect.stringMatching(output) });
  });

  it('needs an authority for a join token, and names the field', () => {
    const { clusters, ...config } = parse(readFileSync(foreign, 'utf8')) as Kubeconfig;
    const open = clusters.map(({ name, cluster: { server } }) => ({
      name,
      cluster: { server, 'insecure-skip-tls-verify': true },
    }));
    const file = join(tree.data, 'insecure.kubeconfig');
    writeFileSync(file, stringify({ ...config, clusters: open }));
    expect(banyan('tree', '--kubeconfig', file).code).toBe(0);
    expect(banyan('join-token', 'eu:paris:newer', '--kubeconfig', file)).toMatchObject({
      code: 1,
      out: expect.stringMatching(/node\/eu:paris has no certificate-authority-data: add/),
    });
    expect(tree.ok('node/eu:paris', 'get', 'synctargets', '-o', 'name')).not.toContain('newer');
  });

  it('prints contexts of the whole tree for kubectl, all through one node', () => {
    const { code, stdout } = at('prod', 'kubeconfig');
    expect(code).toBe(0);
    const written = parse(stdout) as Kubeconfig;
    const own = parse(readFileSync(join(tree.data, 'kubeconfig'), 'utf8')) as Kubeconfig;
    const names = (config: Kubeconfig) => config.contexts.map(({ name }) => name).sort();
    expect(names(written)).toEqual(expect.arrayContaining(names(own)));
    expect(new Set(written.clusters.map(({ cluster }) => new URL(cluster.server).origin)).size).toBe(1);
    const file = join(tree.data, 'whole.kubeconfig');
    writeFileSync(file, stdout);
    const get = (context: string, ...args: string[]) => kubectlBy(file, ['--context', context, 'get', ...args]);
    expect(get('node/eu:paris', 'synctargets', '-o', 'name').out).toContain('/rivoli');
    expect(get('space/center/retail', 'epl').out).toContain('available 5/5');
    expect(get('space/eu/center.retail', 'epl').out).toContain('available 3/3');
    expect(get('fleet/eu/center.retail', 'deploy', '-A').out).toContain('eu:paris:rivoli');
    expect(get('mailbox/eu:paris:rivoli', 'deploy', '-A').out).toContain('frontend');
    expect(get('cluster/eu:paris:rivoli', 'deploy', '-A').out).toContain('frontend');
  });

  it('prints only the contexts that somebody asks for, for the URL of another machine', () => {
    const { code, stdout } = at(
      'prod',
      'kubeconfig',
      '--at',
      'eu:paris',
      '--spaces',
      '--server',
      'https://mesh.example/',
    );
    expect(code).toBe(0);
    const { clusters } = parse(stdout) as Kubeconfig;
    expect(clusters.map(({ name, cluster }) => [name, cluster.server])).toEqual(
      expect.arrayContaining([
        ['node/eu:paris', 'https://mesh.example/tree/eu%3Aparis'],
        ['space/eu:paris/center.retail', 'https://mesh.example/tree/eu%3Aparis/spaces/center.retail'],
      ]),
    );
    expect(clusters.every(({ name }) => /^(node|space|fleet)\/eu:paris(\/|$)/.test(name))).toBe(true);
  });
});
