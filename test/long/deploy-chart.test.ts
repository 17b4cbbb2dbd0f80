/** The chart: the values that it refuses, the API server's answer to its objects, and that the rights in it are those that an agent needs. */
import type { ChildProcess } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { createAuthority, issueJoined } from '../../core/identity/authority.ts';
import { judgeRequest, requestFor } from '../../core/identity/certificate-request.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { parseAgentConfig } from '../../edge-agent/config/config.ts';
import { identityFiles, startInstalled } from '../e2e/installed-agent.ts';
import { banyan, fixture, kubectlBy, LocalTree, until } from '../e2e/local-tree.ts';
import { placedInProduction } from '../e2e/placements.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { type Audited, ControlPlane } from '../support/control-plane/control-plane.ts';
import { furnish } from '../support/control-plane/furniture.ts';
import { Helm, withoutHelm } from '../support/helm.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const missing = withoutKubectl ?? withoutControlPlane() ?? withoutHelm;
const why = missing ? ` [not run: ${missing}]` : '';
/** The programs may have to be built first. */
const buildMsMax = 3_600_000;
const chart = fixture('deploy/chart');
const [release, namespace] = ['banyan-agent', 'banyan'];
const path = 'eu:rivoli';
const pem = '-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n';
const token = `banyan-join-1.0123456789.${'s'.repeat(43)}.${'p'.repeat(43)}`;
/** The least number of values. */
const least = {
  path,
  parent: { address: 'relay.example.com:7443' },
  identity: { secretName: 'banyan-identity' },
};
const kind = (apiGroup: string, ...resources: string[]) => ({ apiGroups: [apiGroup], resources });

interface Manifest {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly data?: Readonly<Record<string, string>>;
  readonly rules?: readonly { readonly verbs: readonly string[] }[];
  readonly spec?: { readonly template?: { readonly spec: object } };
}

describe.skipIf(missing)(`the chart${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-chart-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  let helm: Helm;
  let plane: ControlPlane;
  let agent: ChildProcess | undefined;
  let second: ChildProcess | undefined;
  let valueFiles = 0;

  const withValues = (agentValues: object, values: object = {}): string[] => {
    const file = join(directory, `values-${valueFiles++}.yaml`);
    writeFileSync(file, stringify({ ...values, agent: agentValues }));
    return ['-f', file];
  };
  const render = (agentValues: object): Manifest[] => {
    const { code, out, stdout } = helm.run('template', release, chart, '-n', namespace, ...withValues(agentValues));
    if (code !== 0) throw new Error(out);
    return parseAllDocuments(stdout).map((document) => document.toJS() as Manifest);
  };
  const configOf = (manifests: readonly Manifest[]) =>
    parseAgentConfig(manifests.find((one) => one.kind === 'ConfigMap')?.data?.['agent.yaml'] ?? '', 'agent.yaml');
  const site = (args: readonly string[], input?: string): string => {
    const { code, out } = kubectlBy(plane.kubeconfig, args, input);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${out}`);
    return out;
  };
  const toCluster = (...args: string[]) => helm.run(...args, '-n', namespace, '--kubeconfig', plane.kubeconfig);
  const failures = () =>
    tree.json<{ status?: { failures?: { path: string; reason: string; message: string }[] } }>(
      'space/center/retail',
      'epl',
      'shop',
    )?.status?.failures ?? [];

  beforeAll(async () => {
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    helm = await Helm.find(join(directory, 'helm'));
    [plane] = await Promise.all([ControlPlane.start({ directory: join(directory, 'plane'), audit: true }), tree.up()]);
    furnish(plane, { nodes: 2, volumes: 0 });
    site(['create', 'namespace', namespace]);
  }, buildMsMax);
  afterAll(async () => {
    agent?.kill('SIGKILL');
    second?.kill('SIGKILL');
    await tree[Symbol.asyncDispose]();
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('passes helm lint, and has the version of the package', () => {
    const { code, out } = helm.run('lint', '--strict', chart, ...withValues(least));
    expect([code, out]).toEqual([0, expect.stringContaining('0 chart(s) failed')]);
    const { version, appVersion } = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8')) as Record<string, string>;
    const program = JSON.parse(readFileSync(fixture('package.json'), 'utf8')) as { version: string };
    expect([version, appVersion]).toEqual([program.version, program.version]);
  });

  it.each([
    [{}, /agent\.path is missing.*--set agent\.path=/],
    [{ ...least, path: 'EU' }, /agent\.path: "EU" is no path.*such as eu:paris:store-17/],
    [{ ...least, parent: {} }, /agent\.parent\.address is missing/],
    [
      { ...least, parent: { address: 'https://a:1' } },
      /agent\.parent\.address: "https:\/\/a:1" is no address: host:port/,
    ],
    [{ ...least, parent: { address: 'a:1', replicas: ['b'] } }, /agent\.parent\.replicas\[0\]: "b" is no address/],
    [{ ...least, identity: {} }, /agent\.identity is missing: give the token .*or name the Secret/],
    [{ ...least, identity: { ca: pem, cert: pem } }, /agent\.identity is missing/],
    [{ ...least, identity: { secretName: 'a', ca: pem } }, /agent\.identity has a secretName and certificates too/],
    [{ ...least, identity: { ca: pem, cert: '/a/file', key: pem } }, /agent\.identity\.cert is no PEM.*--set-file/],
    [{ ...least, identity: { secretName: 'a', joinToken: token } }, /agent\.identity has a join token and a cert/],
    [{ ...least, identity: { joinToken: token, joinTokenSecretName: 'a' } }, /a joinToken and a joinTokenSecretName/],
    [{ ...least, identity: { joinToken: token.slice(0, -1) } }, /joinToken is no join token, or not all of it/],
    [{ ...least, identity: { joinToken: token }, link: { terminatedTls: true } }, /agent\.link\.terminatedTls: with a/],
    [{ ...least, link: { ca: 'x' } }, /agent\.link\.ca is no PEM/],
    [{ ...least, link: { transport: 'http' } }, /agent\/link\/transport.*'auto', 'grpc', 'websocket'/],
    [
      { ...least, proxy: { url: 'proxy:3128' } },
      /agent\.proxy\.url is no URL of a proxy: write http:\/\/user:password@host:port/,
    ],
    [{ ...least, proxy: { url: 'http://a:1', secretName: 'b' } }, /agent\.proxy has a url and a secretName/],
    [{ ...least, data: { hostPath: 'relative' } }, /agent\.data\.hostPath: "relative" is no folder/],
    [{ ...least, data: { hostPath: '/a/../../etc' } }, /agent\.data\.hostPath.*has a \.\. in it/],
    [{ ...least, rights: { kinds: [] } }, /agent\.rights\.kinds is empty.*clusterAdmin/],
    [{ ...least, rights: { kinds: [{ resources: ['pods'] }] } }, /agent\/rights\/kinds\/0.*apiGroups/],
    [{ ...least, rights: { kinds: [kind('', 'Pods')] } }, /agent\/rights\/kinds\/0\/resources\/0.*Pods/],
    [{ ...least, replicas: 2 }, /agent.*'replicas' not allowed/],
    [{ ...least, api: { port: 443 } }, /agent\.api\.port: 443: the program runs without root.*1024 or more/],
    [{ ...least, lease: { name: 'Not A Name' } }, /agent\/lease\/name/],
    [{ ...least, users: { ca: 'x' } }, /agent\.users\.ca is no PEM.*--set-file agent\.users\.ca=/],
    [{ ...least, encryption: { resources: ['Secrets'] } }, /agent\/encryption\/resources\/0.*Secrets/],
    [{ ...least, access: { metrics: [''] } }, /agent\/access\/metrics\/0/],
  ])('refuses %j with the field and what to do', (values, message) => {
    const { code, out } = helm.run('template', release, chart, '-n', namespace, ...withValues(values));
    expect([code, out.replaceAll('\n', ' ')]).toEqual([1, expect.stringMatching(message)]);
  });

  it('gives the agent a configuration that it accepts, with the agent’s own defaults for all other fields', () => {
    const config = configOf(render(least));
    const bare = parseAgentConfig(
      stringify({
        path,
        data: '/data',
        parent: { address: 'relay.example.com:7443', path: 'eu' },
        pki: {
          ca: '/etc/banyan/identity/ca.crt',
          cert: '/etc/banyan/identity/tls.crt',
          key: '/etc/banyan/identity/tls.key',
          secret: { namespace, name: 'banyan-identity' },
        },
        limits: {},
        api: { host: '0.0.0.0', port: 8443 },
        cluster: { kubernetes: { lease: { namespace, name: release } } },
      }),
      'bare.yaml',
    );
    expect(config).toEqual(bare);
    // The pods do not renew a certificate that others write, or that an upgrade would restore.
    const kept = render({ ...least, identity: { ...least.identity, renew: false } });
    for (const fixed of [kept, render({ ...least, identity: { ca: pem, cert: pem, key: pem } })]) {
      expect(Object.keys(configOf(fixed).pki)).toEqual(['ca', 'cert', 'key']);
      expect(fixed.filter((one) => one.kind === 'Role').map(({ metadata }) => metadata.name)).toEqual([release]);
    }
    expect(bare).not.toHaveProperty('accept');
    expect(configOf(render({ ...least, accept: [] })).accept).toEqual([]);
    const full = configOf(
      render({
        ...least,
        path: 'hq',
        parent: { address: '[2001:db8::1]:7443', replicas: ['10.0.0.2:7443'] },
        link: { transport: 'websocket', terminatedTls: true, ca: pem },
        cluster: { uid: '0b8a', requestsPerSecond: 12.5, inFlight: 4, inFlightBytes: '32Mi' },
        streams: { users: ['center:jo', 'eu:kim'], groups: ['center:ops'] },
        access: { fromAbove: 'none', metrics: ['center:system:serviceaccount:monitoring:prometheus'] },
        users: { ca: pem },
        encryption: { secretName: 'keys-of-the-store', resources: ['secrets', 'widgets.example.com'] },
        accept: [{ source: 'center.*', namespaces: ['shop-*'] }],
        deletions: { entries: 2_000_000, fraction: 0 },
        lease: { name: 'one', namespace: 'kube-system' },
        logLevel: 'debug',
        api: { host: '::', port: 9443 },
      }),
    );
    expect(full).toMatchObject({
      path: 'hq',
      logLevel: 'debug',
      parent: { address: '[2001:db8::1]:7443', path: '', replicas: ['10.0.0.2:7443'] },
      link: { transport: 'websocket', terminatedTls: true, ca: '/etc/banyan/config/link-ca.crt' },
      limits: { deletions: { entries: 2_000_000, fraction: 0 } },
      api: { host: '::', port: 9443 },
      pki: { users: { ca: '/etc/banyan/config/users-ca.crt' } },
      access: { fromAbove: 'none', metrics: ['center:system:serviceaccount:monitoring:prometheus'] },
      encryption: { keyFile: '/etc/banyan/encryption/keys', resources: ['secrets', 'widgets.example.com'] },
      accept: [{ source: 'center.*', namespaces: ['shop-*'], clusterScoped: [] }],
      streams: { cluster: { users: ['center:jo', 'eu:kim'], groups: ['center:ops'] } },
      cluster: {
        kubernetes: {
          uid: '0b8a',
          lease: { name: 'one', namespace: 'kube-system' },
          limits: { requestsPerSecond: 12.5, inFlight: 4, inFlightBytes: 33_554_432 },
        },
      },
    });
  });

  it('accepts names that YAML would read as numbers, and an image by its digest', () => {
    const digest = `sha256:${'0a'.repeat(32)}`;
    const image = ['--set', `image.digest=${digest}`];
    const values = withValues({ ...least, lease: { name: '7', namespace: '1e3' } });
    const { code, out, stdout } = helm.run('template', '42', chart, '-n', '123', ...values, ...image);
    expect([code, code === 0 ? '' : out]).toEqual([0, '']);
    const manifests = parseAllDocuments(stdout).map((document) => document.toJS() as Manifest);
    const named = manifests.flatMap(({ kind, metadata: { name, namespace: of, labels } }) =>
      [name, of ?? '', labels?.['app.kubernetes.io/instance']].filter((one) => typeof one !== 'string').map(() => kind),
    );
    expect(named).toEqual([]);
    expect(configOf(manifests).cluster).toMatchObject({ kubernetes: { lease: { namespace: '1e3', name: '7' } } });
    expect(stdout).toContain(`image: "banyan@${digest}"`);
    const { code: wrong, out: message } = helm.run(
      'template',
      release,
      chart,
      ...withValues(least),
      '--set',
      'image.digest=1',
    );
    expect([wrong, message]).toEqual([1, expect.stringMatching(/image[./]digest/)]);
  });

  it('lets the agent impersonate the listed people from above, and nobody else', () => {
    const rules = (streams: object, access: object = {}) =>
      render({ ...least, streams, access })
        .find((one) => one.kind === 'ClusterRole')!
        .rules!.filter(({ verbs }) => verbs.includes('impersonate'));
    const users = (more: object) => ({ apiGroups: [''], resources: ['users'], ...more, verbs: ['impersonate'] });
    const groups = { apiGroups: [''], resources: ['groups'], verbs: ['impersonate'] };
    expect(rules({})).toEqual([]);
    expect(rules({ groups: ['system:masters'] })).toEqual([]);
    expect(rules({ users: ['center:jo'], groups: ['center:ops'] })).toEqual([
      users({ resourceNames: ['center:jo'] }),
      { ...groups, resourceNames: ['center:ops'] },
    ]);
    expect(rules({ users: ['*'] })).toEqual([users({})]);
    expect(rules({}, { fromAbove: 'none' })).toEqual([]);
    expect(rules({}, { fromAbove: 'cluster-admin' })).toEqual([
      users({}),
      { ...groups, resourceNames: ['system:masters'] },
    ]);
  });

  it('is accepted by the API server without a warning, object by object, with few values and with all', async () => {
    const { certPem, keyPem } = await createAuthority('chart', { clock: systemClock, random: systemRandom });
    const all = {
      ...least,
      identity: { ca: certPem, cert: certPem, key: keyPem },
      link: { ca: certPem },
      users: { ca: certPem },
      encryption: { secretName: 'keys-of-the-store' },
      proxy: { url: 'http://user:secret@proxy.example.com:3128', noProxy: '.example.com' },
      rights: { clusterAdmin: true },
      data: { type: 'emptyDir' },
      tolerations: [{ operator: 'Exists' }],
      affinity: { nodeAffinity: {} },
      hostNetwork: true,
      podLabels: { team: 'platform' },
      podAnnotations: { 'example.com/note': 'seen' },
      priorityClassName: '',
    };
    const byToken = { ...least, identity: { joinToken: token } };
    const visited = { ...least, streams: { users: ['center:jo'], groups: ['center:system:masters'] } };
    for (const values of [least, all, byToken, visited]) {
      for (const manifest of render(values)) {
        const args = ['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'];
        const { code, out } = kubectlBy(plane.kubeconfig, args, JSON.stringify(manifest));
        const { kind: what, metadata } = manifest;
        expect([code, out.trim()]).toEqual([0, expect.stringMatching(`^\\S+/${metadata.name} serverside-applied.*$`)]);
        // Neither a password nor a token is in another object.
        if (what !== 'Secret') expect(JSON.stringify(manifest)).not.toMatch(/secret@|banyan-join-1/);
      }
    }
  });

  it('installs, with the files from banyan enroll', async () => {
    const enrolled = banyan('enroll', path, '--label', 'env=prod', '--data', tree.data);
    expect(enrolled.code).toBe(0);
    site(['apply', '-n', namespace, '-f', '-'], enrolled.out);
    const rights = { kinds: [kind('', 'namespaces', 'configmaps'), kind('apps', 'deployments')] };
    const values = withValues({ ...least, rights });
    const installed = toCluster('install', release, chart, ...values, '--wait', '--timeout', '60s');
    expect([installed.code, installed.out]).toEqual([0, expect.stringContaining(`The agent of ${path} begins`)]);
    const ready = ['get', 'daemonset', release, '-n', namespace, '-o', 'jsonpath={.status.numberReady}'];
    // Simulated by kwok; test/long/deploy-kubelet.test.ts has real pods. Helm is content with one pod less than all.
    await until('both pods are ready', () => site(ready) === '2');
    expect(banyan('enroll', path, '--data', tree.data)).toMatchObject({
      code: 1,
      out: expect.stringMatching(/"eu:rivoli" is taken at node\/eu/),
    });
  });

  it('makes pods that the strictest policy of a namespace accepts, if data is an emptyDir', () => {
    site(['create', 'namespace', 'strict']);
    site(['label', 'namespace', 'strict', 'pod-security.kubernetes.io/enforce=restricted']);
    site(['create', 'serviceaccount', release, '-n', 'strict']);
    const pod = (data: object) => {
      const { spec } = render({ ...least, data }).find((one) => one.kind === 'DaemonSet')!;
      const metadata = { name: 'agent', namespace: 'strict' };
      const manifest = { apiVersion: 'v1', kind: 'Pod', metadata, spec: spec!.template!.spec };
      const args = ['create', '--dry-run=server', '--validate=strict', '-f', '-'];
      return kubectlBy(plane.kubeconfig, args, JSON.stringify(manifest));
    };
    expect(pod({ type: 'emptyDir' })).toMatchObject({ code: 0 });
    const refused = pod({ type: 'hostPath' });
    // Data on the node need this: the folder, and the container that gives it to the agent.
    expect(refused.out).toMatch(/restricted volume types \(volume "data" uses restricted volume type "hostPath"\)/);
    expect(refused.out).toMatch(/container "give-data" must not include "CHOWN"/);
    expect(refused.out).not.toMatch(/container "agent"|seccompProfile/);
  });

  it('gives the agent the rights for the listed kinds, and for no others', async () => {
    agent = startInstalled({
      ...{ tree, plane, namespace, release, directory: join(directory, 'agent'), identity: 'the-first' },
      pki: identityFiles(plane, namespace, least.identity.secretName),
    });
    tree.ok('space/center/retail', 'create', 'namespace', 'shop');
    for (const args of [
      ['configmap', 'prices', '--from-literal=bread=1'],
      ['secret', 'generic', 'till', '--from-literal=pin=1'],
      ['deployment', 'till', '--image=registry.example.com/till'],
    ])
      tree.ok('space/center/retail', 'create', ...args, '-n', 'shop');
    expect(tree.apply('space/center/retail', placement).code).toBe(0);
    await until(
      'what is listed has come',
      () => kubectlBy(plane.kubeconfig, ['get', 'cm/prices', 'deploy/till', '-n', 'shop']).code === 0,
    );
    const holder = site(['get', 'lease', release, '-n', namespace, '-o', 'jsonpath={.spec.holderIdentity}']);
    expect(holder).toMatch(/^the-first_/);
    await until('it is said of the other one', () => failures().some(({ reason }) => reason === 'Forbidden'));
    expect(failures()).toEqual([
      expect.objectContaining({
        path,
        reason: 'Forbidden',
        message: expect.stringMatching(
          /User "system:serviceaccount:banyan:banyan-agent" cannot \w+ resource "secrets" in API group ""/,
        ),
      }),
    ]);
    expect(failures()[0]?.message).toContain('till');
    // The kubeconfig of the tree has no contexts of enrolled agents. Their parent shows changes of them within a second.
    const shown = /^NODE .*\nrivoli +Agent +Connected/;
    await until('the tree shows it connected', () => shown.test(banyan('tree', path, '--data', tree.data).out));
    const asked = ['configmap/prices', '-n', 'shop', '--at', path, '--space', 'space/center/retail'];
    expect(banyan('why', ...asked, '--data', tree.data)).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /mailbox\/eu:rivoli: it is in the mailbox[\s\S]*cluster\/eu:rivoli: it (is there, uid|can't be read through the tree)/,
      ),
    });
    // The description of the cluster needs no more rights than the chart gives.
    const described = () => tree.json<{ status?: Described }>('node/eu', 'synctarget', 'rivoli')?.status;
    await until('the cluster is described', () => described()?.nodes === 2);
    const status = described();
    expect(status).toMatchObject({ kubernetesVersion: expect.stringMatching(/^v1\./), nodes: 2 });
    expect(status?.conditions?.map(({ type }) => type)).toEqual(['Ready']);
  });

  it('brings an object whose kind was forbidden once an upgrade lists the kind', async () => {
    const rights = { kinds: [kind('', 'namespaces', 'configmaps', 'secrets'), kind('apps', 'deployments')] };
    const upgraded = toCluster('upgrade', release, chart, ...withValues({ ...least, rights }));
    expect([upgraded.code, upgraded.out]).toEqual([0, expect.stringContaining('has been upgraded')]);
    await until(
      'the secret has come',
      () => kubectlBy(plane.kubeconfig, ['get', 'secret/till', '-n', 'shop']).code === 0,
      90,
    );
    await until('nothing is wrong any more', () => failures().length === 0);
    // It never asked for anything else without a right, except once for objects of an earlier store.
    const own = plane.audited().filter(({ user }) => user.username === `system:serviceaccount:${namespace}:${release}`);
    const isStockTaking = ({ requestURI }: Audited) => /\?labelSelector=banyan\.io.*limit=/.test(requestURI);
    const forbidden = own.filter((one) => one.responseStatus?.code === 403 && !isStockTaking(one));
    expect([...new Set(forbidden.map(({ objectRef }) => objectRef?.resource))]).toEqual(['secrets']);
    expect(new Set(own.map(({ objectRef }) => objectRef?.resource))).toContain('leases');
    // Everything is removed again as well.
    tree.ok('space/center/retail', 'delete', 'epl', 'shop');
    await until('the shop has gone', () => kubectlBy(plane.kubeconfig, ['get', 'namespace', 'shop']).code !== 0);
  });

  it('lets the pods renew the certificate in their own Secret, and change no other Secret', async () => {
    const { secretName } = least.identity;
    const secret = () =>
      JSON.parse(site(['get', 'secret', secretName, '-n', namespace, '-o', 'json'])) as {
        data: Record<string, string>;
      };
    const partOf = (part: string) => Buffer.from(secret().data[part] ?? '', 'base64').toString();
    // Two thirds of three minutes are over in some seconds. The last third is long enough for an agent that starts on a busy machine.
    const clock = { ...systemClock, wallMs: () => Date.now() - 115_000 };
    const read = (file: string) => readFileSync(join(tree.data, 'pki', file), 'utf8');
    const authority = { certPem: read('ca.crt'), keyPem: read('ca.key') };
    const request = await requestFor(path, partOf('tls.key'));
    const judged = await judgeRequest(request, {
      path,
      id: 'spiffe://chart/node/agent/eu/rivoli',
      role: 'agent',
      hosts: [],
    });
    const old = await issueJoined(authority, judged, { clock, random: systemRandom }, { lifeMs: 180_000 });
    const patch = { data: { 'tls.crt': Buffer.from(old).toString('base64') } };
    site(['patch', 'secret', secretName, '-n', namespace, '--type=merge', '-p', JSON.stringify(patch)]);
    const before = secret().data;
    second = startInstalled({
      ...{ tree, plane, namespace, release, directory: join(directory, 'second'), identity: 'the-second' },
      pki: identityFiles(plane, namespace, secretName),
    });
    await until('there is another certificate', () => secret().data['tls.crt'] !== before['tls.crt'], 40);
    expect(new X509Certificate(partOf('tls.crt'))).toMatchObject({
      issuer: expect.stringContaining('OU=banyan-issuer'),
      subjectAltName: 'URI:spiffe://chart/node/agent/eu/rivoli',
    });
    expect(secret().data).toMatchObject({ 'ca.crt': before['ca.crt'], 'tls.key': before['tls.key'] });
    const user = `system:serviceaccount:${namespace}:${release}`;
    const can = (name: string) =>
      kubectlBy(plane.kubeconfig, ['auth', 'can-i', 'update', `secrets/${name}`, '-n', namespace, '--as', user]);
    expect([can(secretName).out.trim(), can('other').out.trim()]).toEqual(['yes', 'no']);
  });

  it('uninstalls without leaving rights behind', () => {
    expect(toCluster('uninstall', release, '--wait').code).toBe(0);
    const kinds = 'clusterroles,clusterrolebindings,roles,rolebindings,serviceaccounts,daemonsets,configmaps';
    const left = ['get', kinds, '-A', '-l', 'app.kubernetes.io/instance=banyan-agent', '-o', 'name'];
    expect(site(left).trim()).toBe('');
  });
});

interface Described {
  readonly nodes?: number;
  readonly conditions?: readonly { readonly type: string }[];
}

const topology = {
  apiVersion: 'banyan.io/v1alpha1',
  kind: 'Topology',
  metadata: { name: 'chart' },
  spec: { center: { spaces: [{ name: 'retail', type: 'Workload' }] }, relays: [{ name: 'eu' }], clusters: [] },
};

const placement = placedInProduction('shop');
