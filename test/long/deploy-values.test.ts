/** The chart with the roles center and relay: the values that it refuses, and what it renders. helm alone, without a cluster. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { parseConfig } from '../../core/runtime/config-file.ts';
import { nodeConfigSchema } from '../../relay/config/config.ts';
import { fixture } from '../e2e/local-tree.ts';
import { Helm, withoutHelm } from '../support/helm.ts';

const why = withoutHelm ? ` [not run: ${withoutHelm}]` : '';
/** helm may have to be built first. */
const buildMsMax = 3_600_000;
const chart = fixture('deploy/chart');
const token = `banyan-join-1.0123456789.${'s'.repeat(43)}.${'p'.repeat(43)}`;
const center = { role: 'center', center: { tree: 'retail' } };
const agent = { path: 'eu:shop', parent: { address: 'a:1' }, identity: { joinToken: token } };
const relayOf = (more: object = {}) => ({
  role: 'relay',
  relay: { path: 'eu:paris', parent: { address: '[fd00::1]:7443' }, identity: { joinToken: token }, ...more },
});

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>>;
}

describe.skipIf(withoutHelm)(`the chart for a center and a relay${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-values-'));
  let helm: Helm;
  const run = (command: readonly string[], values: object) => {
    const file = join(directory, 'values.yaml');
    writeFileSync(file, stringify(values));
    return helm.run(...command, '-f', file, '-n', 'mesh');
  };
  const render = (values: object): Manifest[] => {
    const { code, out, stdout } = run(['template', 'banyan', chart], values);
    if (code !== 0) throw new Error(out);
    return parseAllDocuments(stdout).map((document) => document.toJS() as Manifest);
  };
  const configOf = (manifests: readonly Manifest[]) => {
    const text = manifests.find(({ kind }) => kind === 'ConfigMap')?.data?.['node.yaml'] ?? '';
    return parseConfig(text, 'node.yaml', nodeConfigSchema, 'configuration of a node');
  };
  const kinds = (manifests: readonly Manifest[]) => manifests.map(({ kind }) => kind).sort();

  beforeAll(async () => {
    helm = await Helm.find(join(directory, 'helm'));
  }, buildMsMax);
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it.each([center, relayOf()])('passes helm lint: $role', (values) => {
    const { code, out } = run(['lint', '--strict', chart], values);
    expect([code, out]).toEqual([0, expect.stringContaining('0 chart(s) failed')]);
  });

  it('gives a center a configuration that its program accepts, with the names of the Service', () => {
    const manifests = render({
      ...center,
      names: ['center.example.com', '2001:db8::1'],
      node: { config: { audit: { stdout: true } } },
    });
    expect(configOf(manifests)).toMatchObject({
      path: '',
      pki: { tree: 'retail', names: ['center.example.com', '2001:db8::1', 'banyan', 'banyan.mesh', 'banyan.mesh.svc'] },
      advertise: { api: 'center.example.com:6443', mesh: 'center.example.com:7443' },
      audit: { stdout: true },
    });
    expect(kinds(manifests)).toEqual(['ConfigMap', 'Pod', 'PodDisruptionBudget', 'Service', 'StatefulSet']);
  });

  it('gives a relay its parent, its token and its names', () => {
    const manifests = render({
      ...relayOf({ proxy: { url: 'http://proxy.example.com:3128' } }),
      names: ['paris.example.com'],
    });
    expect(configOf(manifests)).toMatchObject({
      path: 'eu:paris',
      parent: { path: 'eu', address: '[fd00::1]:7443' },
      pki: { joinToken: '/etc/banyan/join/token', names: ['paris.example.com'] },
      access: { fromAbove: 'cluster-admin' },
    });
    expect(manifests.filter(({ kind }) => kind === 'Secret').map(({ metadata }) => metadata.name)).toEqual([
      'banyan-join-token',
      'banyan-proxy',
    ]);
  });

  it('leads an Ingress and routes of the Gateway API to the port that each host is for', () => {
    const hosts = { enabled: true, apiHost: 'api.example.com', meshHost: 'mesh.example.com' };
    const gateway = { ...hosts, parentRefs: [{ name: 'public' }] };
    const passed = render({ ...center, names: ['api.example.com'], node: { ingress: hosts, gateway } });
    const hostsOf = (manifest: Manifest) => manifest.spec?.hostnames;
    const routes = (manifests: readonly Manifest[], kind: string) =>
      manifests.filter((one) => one.kind === kind).map(hostsOf);
    expect(routes(passed, 'TLSRoute')).toEqual([['api.example.com'], ['mesh.example.com']]);
    expect(JSON.stringify(passed.find(({ kind }) => kind === 'Ingress')?.spec)).toMatch(
      /api\.example\.com.*"name":"api".*mesh\.example\.com.*"name":"mesh"/,
    );
    const ended = render({ ...center, node: { mesh: { terminatedTls: true }, gateway } });
    expect(routes(ended, 'HTTPRoute')).toEqual([['api.example.com'], ['mesh.example.com']]);
    expect(configOf(ended).mesh.terminatedTls).toBe(true);
    const atHosts = { api: 'api.example.com:443', mesh: 'mesh.example.com:443' };
    expect([passed, ended].map((manifests) => configOf(manifests).advertise)).toEqual([atHosts, atHosts]);
  });

  it.each([
    ['the first name, in brackets if it is an IPv6 address', { names: ['2001:db8::1', 'a'] }, '[2001:db8::1]:6443'],
    ['the Service, without names', {}, 'banyan.mesh.svc:6443'],
    [
      'the given address before all others',
      { names: ['a', 'lb.example.com'], advertise: { api: 'lb.example.com:443' } },
      'lb.example.com:443',
    ],
  ])('advertises %s', (_what, values, address) => {
    expect(configOf(render({ ...center, ...values })).advertise?.api).toBe(address);
  });

  it.each([
    ['an unknown role', { role: 'hub' }, /role.*'agent', 'relay', 'center'/],
    ['an unknown value', { ...center, node: { port: 1 } }, /node.*'port' not allowed/],
    ['a center without a tree', { role: 'center' }, /center\.tree is missing.*--set center\.tree=retail/],
    [
      'a tree and an authority',
      { role: 'center', center: { tree: 'a', authority: { secretName: 'b' } } },
      /center has a tree and authority\.secretName/,
    ],
    [
      'a wrong name of a tree',
      { role: 'center', center: { tree: 'My Tree' } },
      /center\.tree: "My Tree" is no name of a tree/,
    ],
    [
      'values of another role',
      { ...center, agent: { path: 'eu:shop' } },
      /agent\.path is a value of the role agent, and role is center, where it has no effect: remove the value, or set role=agent/,
    ],
    [
      'the parent of a center',
      { ...center, relay: { parent: { address: 'a:1' } } },
      /relay\.parent\.address is a value of the role relay, and role is center/,
    ],
    [
      'the authority of a relay',
      { ...relayOf(), center: { authority: { secretName: 'a' } } },
      /center\.authority\.secretName is a value of the role center, and role is relay/,
    ],
    ['names of an agent', { agent, names: ['a'] }, /names is a value of the role center or relay, and role is agent/],
    [
      'labels of an agent in the place of those of a relay',
      { agent, node: { labels: { region: 'eu' } } },
      /node\.labels is a value of the role center or relay, and role is agent.*set role=center/,
    ],
    ['replicas of a relay', relayOf({ replicas: 2 }), /relay\.replicas: 2: a relay that joins with a token is one pod/],
    ['no pod of a relay', relayOf({ replicas: 0 }), /relay.*replicas.*minimum: got 0, want 1/],
    [
      'a share that is none',
      { ...center, podDisruptionBudget: { maxUnavailable: 'half' } },
      /podDisruptionBudget.*maxUnavailable.*'half' does not match pattern/,
    ],
    [
      'a URL as a name',
      { ...center, names: ['https://a.example.com'] },
      /names\[0\]: "https:\/\/a\.example\.com" is neither a DNS name nor an IP address/,
    ],
    [
      'an address without a port',
      { ...center, advertise: { api: 'a.example.com' } },
      /advertise\.api: "a\.example\.com" is no address: host:port/,
    ],
    [
      'a port that no machine has',
      { ...center, advertise: { mesh: 'a.example.com:70000' } },
      /advertise\.mesh: "a\.example\.com:70000" is no address: host:port/,
    ],
    [
      'an address without its name in the certificate',
      { ...center, names: ['a'], advertise: { api: '[2001:db8::1]:443' } },
      /advertise\.api: "2001:db8::1" is not in names, so kubectl would refuse the certificate/,
    ],
    [
      'a port of root',
      { ...center, node: { api: { port: 443 } } },
      /node\.api\.port: 443: the program runs without root.*1024 or more.*node\.service\.apiPort/,
    ],
    [
      'one port twice',
      { ...center, node: { mesh: { port: 6443 } } },
      /node\.mesh\.port: 6443 is the port of the API too/,
    ],
    ['a relay without a path', { role: 'relay' }, /relay\.path is missing.*--set relay\.path=eu/],
    ['a relay without a parent', relayOf({ parent: {} }), /relay\.parent\.address is missing/],
    [
      'a relay without a token',
      relayOf({ identity: {} }),
      /relay\.identity is missing: give the token that `banyan join-token --relay eu:paris` prints/,
    ],
    [
      'half a token',
      relayOf({ identity: { joinToken: token.slice(0, -1) } }),
      /relay\.identity\.joinToken is no join token, or not all of it/,
    ],
    [
      'a token where TLS ends',
      relayOf({ link: { terminatedTls: true } }),
      /relay\.link\.terminatedTls: a relay joins with a token/,
    ],
    [
      'an Ingress to nowhere',
      { ...center, node: { ingress: { enabled: true } } },
      /node\.ingress is enabled and leads nowhere/,
    ],
    [
      'a host that is no name',
      { ...center, node: { ingress: { enabled: true, apiHost: 'a.example.com' } } },
      /node\.ingress\.apiHost: "a\.example\.com" is not in names/,
    ],
    [
      'TLS that ends and passes',
      { ...center, node: { ingress: { enabled: true, meshHost: 'a', tlsSecretName: 'b' } } },
      /node\.ingress\.tlsSecretName: TLS would end at the Ingress/,
    ],
    [
      'routes without a Gateway',
      { ...center, node: { gateway: { enabled: true, meshHost: 'a' } } },
      /node\.gateway\.parentRefs is empty/,
    ],
    [
      'a field of the chart',
      { ...center, node: { config: { labels: {} } } },
      /node\.config\.labels: the chart writes this field/,
    ],
    [
      'authorities of users at a center',
      { ...center, node: { users: { ca: 'x' } } },
      /node\.users\.ca and node\.access are for relays/,
    ],
    [
      'metrics without a token',
      { ...center, serviceMonitor: { enabled: true } },
      /serviceMonitor\.tokenSecretName is missing/,
    ],
  ])('refuses %s, and names field, value and remedy', (_what, values, message) => {
    const { code, out } = run(['template', 'banyan', chart], values);
    expect(code).not.toBe(0);
    expect(out).toMatch(message);
  });
});
