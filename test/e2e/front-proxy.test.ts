/** A front proxy that names users to the center in headers, with stock kubectl. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { createAuthority, issueNode } from '../../core/identity/authority.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import type { ProxyFile } from './identity-proxy.ts';
import { banyan, kubectlBy, LocalTree } from './local-tree.ts';
import { grant } from './people.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const issuing = { clock: systemClock, random: systemRandom };

describe.skipIf(withoutKubectl)(`a front proxy${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-proxy-'));
  const topologyFile = join(directory, 'topology.yaml');
  const tree = new LocalTree(topologyFile);
  const processes: ChildProcess[] = [];
  const topology = (frontProxy: object) => ({
    apiVersion: 'banyan.io/v1alpha1',
    kind: 'Topology',
    metadata: { name: 'proxies' },
    spec: { center: { spaces: [{ name: 'retail' }], frontProxy } },
  });
  let proxyAuthority: Awaited<ReturnType<typeof createAuthority>>;
  let node = '';

  /** Starts a proxy with a certificate of this common name, and returns a kubectl that goes through it. */
  async function proxied(commonName: string) {
    const folder = mkdtempSync(join(directory, 'proxy-'));
    const host = { tree: 'proxies', role: 'relay' as const, path: commonName, hosts: ['127.0.0.1'] };
    const { certPem, keyPem } = await issueNode(proxyAuthority, host, issuing);
    const file: ProxyFile = {
      certPem,
      keyPem,
      caPem: readFileSync(join(tree.data, 'pki/ca.crt'), 'utf8'),
      node,
      people: { alice: ['tills', 'not, system:masters'], root: ['system:masters'] },
    };
    writeFileSync(join(folder, 'proxy.json'), JSON.stringify(file), { mode: 0o600 });
    const child = spawn(process.execPath, [join(import.meta.dirname, 'identity-proxy.ts'), folder]);
    processes.push(child);
    const url = await new Promise<string>((done) => child.stdout!.once('data', (text) => done(String(text).trim())));
    const contexts = ['', '/spaces/retail'].map((path) => ({ name: path === '' ? 'node' : 'retail', path }));
    const config = (user: object) =>
      stringify({
        apiVersion: 'v1',
        kind: 'Config',
        clusters: contexts.map(({ name, path }) => ({
          name,
          cluster: {
            server: `${url}${path}`,
            'certificate-authority-data': Buffer.from(proxyAuthority.certPem).toString('base64'),
          },
        })),
        users: [{ name: 'one', user }],
        contexts: contexts.map(({ name }) => ({ name, context: { cluster: name, user: 'one' } })),
      });
    return (user: object, context: 'node' | 'retail', ...args: string[]) => {
      writeFileSync(join(folder, 'kubeconfig'), config(user));
      return kubectlBy(join(folder, 'kubeconfig'), ['--context', context, ...args]);
    };
  }
  const person = (username: string) => ({ username, password: username });

  beforeAll(async () => {
    proxyAuthority = await createAuthority('proxies', issuing);
    writeFileSync(join(directory, 'proxies.crt'), proxyAuthority.certPem);
    writeFileSync(topologyFile, stringify(topology({ clientCA: 'proxies.crt', allowedNames: ['front'] })));
    await tree.up();
    const { clusters } = parse(readFileSync(join(tree.data, 'kubeconfig'), 'utf8')) as {
      clusters: { name: string; cluster: { server: string } }[];
    };
    node = clusters.find(({ name }) => name === 'node/center')!.cluster.server;
    const tills = { kind: 'Group', name: 'tills' };
    const { code, out } = tree.apply('node/center', grant('tills', tills, 'view', { space: { name: 'retail' } }));
    expect(code, out).toBe(0);
  });
  afterAll(async () => {
    for (const child of processes) child.kill();
    await tree[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('names users, who have the rights of their groups and no more, and leaves tokens as they are', async () => {
    const via = await proxied('front');
    expect(JSON.parse(via(person('alice'), 'node', 'auth', 'whoami', '-o', 'json').stdout).status.userInfo).toEqual({
      username: 'alice',
      groups: ['tills', 'not, system:masters', 'system:authenticated'],
      extra: { 'acme.io/desk': ['7'] },
    });
    expect(via(person('alice'), 'retail', 'get', 'configmaps', '-A').code).toBe(0);
    expect(via(person('alice'), 'retail', 'create', 'namespace', 'x').out).toContain('User "alice" cannot create');
    expect(via(person('root'), 'retail', 'create', 'namespace', 'x').out).toBe('namespace/x created\n');
    expect(via(person('stranger'), 'node', 'auth', 'whoami').out).toMatch(/Unauthorized|logged in/);
    tree.ok('node/center', 'create', 'serviceaccount', 'robot', '-n', 'default');
    const token = tree.ok('node/center', 'create', 'token', 'robot', '-n', 'default').trim();
    expect(via({ token }, 'node', 'auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}').out).toBe(
      'system:serviceaccount:default:robot',
    );
  });

  it('with another name, and a user with a certificate, can not name anybody', async () => {
    const via = await proxied('other');
    expect(via(person('root'), 'node', 'auth', 'whoami').out).toMatch(/Unauthorized|logged in/);
    expect(tree.ok('node/center', 'auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}')).toBe('admin');
  });

  it('is refused at the start if every user would be a proxy', async () => {
    await tree.down();
    writeFileSync(topologyFile, stringify(topology({ clientCA: join(tree.data, 'pki/users_trusted.crt') })));
    const ran = banyan('up', '-f', topologyFile, '--data', tree.data, '--detach', '--timeout', '10');
    expect(ran.code).not.toBe(0);
    const log = readFileSync(join(tree.data, 'logs', 'center.log'), 'utf8');
    expect(`${ran.out}${log}`).toMatch(/frontProxy\.clientCA: .* has an authority of pki\.users\.ca/);
  });
});
