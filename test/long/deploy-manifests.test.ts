/**
 * Every manifest of the chart, in all roles and in combinations of values, judged by a real API server: a server-side dry run with strict field validation.
 * The API server has the definitions of the Gateway API and of the Prometheus operator.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { fixture, kubectlBy, until } from '../e2e/local-tree.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { Helm, withoutHelm } from '../support/helm.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { otherKinds, withoutOtherKinds } from '../support/other-kinds.ts';
import { TestTree } from '../support/test-tree.ts';

const missing = withoutKubectl ?? withoutControlPlane() ?? withoutHelm ?? withoutOtherKinds;
const why = missing ? ` [not run: ${missing}]` : '';
/** The programs may have to be built first. */
const buildMsMax = 3_600_000;
/** Some two hundred runs of helm, of which each takes a tenth of a second on an idle machine. */
const renderMsMax = 900_000;
const chart = fixture('deploy/chart');
const namespace = 'mesh';
const token = `banyan-join-1.0123456789.${'s'.repeat(43)}.${'p'.repeat(43)}`;
const { caPem, certPem, keyPem } = await (await TestTree.create()).credentials('eu:shop', 'agent');
const pem = caPem.toString();

type Values = Readonly<Record<string, unknown>>;
interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
}

const from = [{ namespaceSelector: { matchLabels: { team: 'ops' } } }, { ipBlock: { cidr: '10.0.0.0/8' } }];
/** The Gateway API still serves the former versions of TLSRoute, and says so. */
const isOldVersion = (line: string) => /^Warning: The v1alpha[23] version of TLSRoute has been deprecated/.test(line);
/** Values of the objects around the pods, which all roles have. */
const guards: readonly Values[] = [
  {},
  {
    podDisruptionBudget: { enabled: false },
    networkPolicy: { enabled: true },
    serviceMonitor: { enabled: true, tokenSecretName: 't' },
  },
  {
    podDisruptionBudget: { maxUnavailable: '50%' },
    networkPolicy: { enabled: true, api: from, mesh: from },
    serviceMonitor: {
      enabled: true,
      interval: '1m',
      labels: { release: 'prometheus' },
      tokenSecretName: 't',
      caSecretName: 'ca',
      serverName: 'api.example.com',
    },
  },
];
/** Values of the pods, which all roles have. */
const placed = {
  priorityClassName: 'system-cluster-critical',
  nodeSelector: { disk: 'fast' },
  tolerations: [{ key: 'dedicated', operator: 'Equal', value: 'mesh', effect: 'NoSchedule' }],
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] }],
      },
    },
  },
  resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { memory: '2Gi' } },
  podLabels: { team: 'ops' },
  podAnnotations: { 'example.com/note': 'true' },
  encryption: { secretName: 'keys' },
  logLevel: 'debug',
};
const image = { digest: `sha256:${'a'.repeat(64)}`, pullPolicy: 'Always', pullSecrets: [{ name: 'registry' }] };
const hosts = { enabled: true, apiHost: 'api.example.com', meshHost: 'mesh.example.com' };
const gateway = { ...hosts, parentRefs: [{ name: 'public', namespace: 'gateways', sectionName: 'tls' }] };
const terminated = { mesh: { terminatedTls: true } };
/** The ways into a center or a relay. */
const ways: readonly Values[] = [
  {},
  { ingress: { ...hosts, className: 'nginx', annotations: { 'nginx.ingress.kubernetes.io/ssl-passthrough': 'true' } } },
  { ...terminated, ingress: { ...hosts, tlsSecretName: 'tls' } },
  ...['v1', 'v1alpha3', 'v1alpha2'].map((tlsRouteVersion) => ({ gateway: { ...gateway, tlsRouteVersion } })),
  { ...terminated, gateway, ingress: { ...hosts, meshHost: '' } },
];
const pods: readonly Values[] = [
  {},
  {
    ...placed,
    api: { host: '::', port: 8443 },
    labels: { region: 'eu' },
    spaces: [{ name: 'retail', type: 'Workload' }],
    config: { audit: { stdout: true } },
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'zone',
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: { a: 'b' } },
      },
    ],
    service: {
      type: 'LoadBalancer',
      apiPort: 443,
      annotations: { 'example.com/internal': 'true' },
      loadBalancerClass: 'example.com/lb',
      loadBalancerSourceRanges: ['10.0.0.0/8'],
      ipFamilyPolicy: 'SingleStack',
    },
    persistence: { size: '1Gi', storageClassName: 'fast', retain: false },
  },
];
const names = ['api.example.com', '203.0.113.7', '2001:db8::1'];
const advertise = { api: '[2001:db8::1]:443', mesh: 'mesh.example.com:443' };
const centers: readonly Values[] = [
  { role: 'center', names, center: { tree: 'retail' } },
  { role: 'center', names, advertise, image, center: { authority: { secretName: 'authority' } } },
];
const parent = { address: 'center.example.com:7443' };
const relays: readonly Values[] = [
  { role: 'relay', names, relay: { path: 'eu', parent, identity: { joinToken: token } } },
  {
    role: 'relay',
    names,
    advertise,
    image,
    relay: {
      path: 'eu:paris',
      parent: { address: '[2001:db8::1]:7443', replicas: ['b.example.com:7443'] },
      identity: { joinTokenSecretName: 'token' },
      link: { transport: 'websocket', ca: pem },
      proxy: { url: 'http://proxy.example.com:3128', noProxy: '.local' },
    },
  },
];
const agent = { path: 'eu:shop', parent };
const agents: readonly Values[] = [
  { ...agent, identity: { joinToken: token } },
  {
    ...agent,
    identity: { joinTokenSecretName: 'token' },
    rights: { clusterAdmin: true },
    access: { fromAbove: 'cluster-admin' },
  },
  {
    ...agent,
    ...placed,
    identity: { secretName: 'identity', renew: false },
    streams: { users: ['*'], groups: ['center:ops'] },
    lease: { name: 'active', namespace: 'kube-system' },
    hostNetwork: true,
    data: { type: 'emptyDir' },
  },
  {
    ...agent,
    identity: { ca: pem, cert: certPem.toString(), key: keyPem.toString() },
    streams: { users: ['center:jo'] },
    access: { metrics: ['center:prometheus'] },
    users: { ca: pem },
    accept: [{ source: 'center.retail', namespaces: ['shop-*'] }],
    proxy: { secretName: 'proxy' },
    data: { giveToAgent: false },
  },
];

/** Every value of each list with every value of the others. */
const nodes = [...centers, ...relays].flatMap((own) =>
  ways.flatMap((way) => pods.map((pod) => ({ ...own, node: { ...pod, ...way } }))),
);
const combinations = [...nodes, ...agents.map((one) => ({ agent: one }))].flatMap((own) =>
  guards.map((guard): Values => ({ ...own, ...guard })),
);

describe.skipIf(missing)(`the manifests of the chart${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-manifests-'));
  let helm: Helm;
  let plane: ControlPlane;
  /** Keyed by the text, because most combinations differ in one manifest. */
  const manifests = new Map<string, Manifest>();

  const judged = (text: string) =>
    kubectlBy(plane.kubeconfig, ['apply', '--dry-run=server', '--validate=strict', '-f', '-'], text);

  beforeAll(async () => {
    helm = await Helm.find(join(directory, 'helm'));
    plane = await ControlPlane.start({ directory: join(directory, 'plane') });
    const defined = (await otherKinds()).flatMap((file) => ['-f', file]);
    const { code, out } = kubectlBy(plane.kubeconfig, ['apply', '--server-side', ...defined]);
    expect(code, out).toBe(0);
    kubectlBy(plane.kubeconfig, ['create', 'namespace', namespace]);
    await until('the kinds are served', () => {
      const served = kubectlBy(plane.kubeconfig, ['api-resources', '-o', 'name']).out;
      return ['httproutes', 'tlsroutes', 'servicemonitors'].every((kind) => served.includes(kind));
    });
  }, buildMsMax);
  afterAll(async () => {
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it(
    'can be made for all combinations of values',
    async () => {
      const values = join(directory, 'values.yaml');
      for (const combination of combinations) {
        writeFileSync(values, stringify(combination));
        const { code, out, stdout } = await helm.runBeside('template', 'banyan', chart, '-n', namespace, '-f', values);
        expect(code, `${stringify(combination)}${out}`).toBe(0);
        for (const document of parseAllDocuments(stdout)) manifests.set(String(document), document.toJS() as Manifest);
      }
      const kinds = new Set([...manifests.values()].map(({ apiVersion, kind }) => `${kind} ${apiVersion}`));
      expect([...kinds].sort()).toEqual(expect.arrayContaining(optionalKinds));
    },
    renderMsMax,
  );

  it(
    'are accepted as they are by a real API server, without a warning',
    () => {
      const all = [...manifests.values()];
      const { code, out, stdout } = judged(all.map((one) => stringify(one)).join('---\n'));
      const remarks = out.split('\n').filter((line) => !/\((server )?dry run\)$|^$/.test(line));
      expect([code, remarks.filter((line) => !isOldVersion(line))]).toEqual([0, []]);
      expect(stdout.trim().split('\n')).toHaveLength(all.length);
    },
    renderMsMax,
  );

  it.each([
    ['a route', 'TLSRoute', 'spec', /unknown field "spec\.hosts"/],
    ['a ServiceMonitor', 'ServiceMonitor', 'spec', /unknown field "spec\.hosts"/],
    ['a NetworkPolicy', 'NetworkPolicy', 'spec', /unknown field "spec\.hosts"/],
  ])('would not be accepted with a wrong field: %s', (_what, kind, field, message) => {
    const found = [...manifests.values()].find((one) => one.kind === kind) as unknown as Record<string, object>;
    const { code, out } = judged(stringify({ ...found, [field]: { ...found[field], hosts: ['a'] } }));
    expect([code, out]).toEqual([1, expect.stringMatching(message)]);
  });
});

const optionalKinds = [
  'HTTPRoute gateway.networking.k8s.io/v1',
  'Ingress networking.k8s.io/v1',
  'NetworkPolicy networking.k8s.io/v1',
  'PodDisruptionBudget policy/v1',
  'ServiceMonitor monitoring.coreos.com/v1',
  'TLSRoute gateway.networking.k8s.io/v1',
  'TLSRoute gateway.networking.k8s.io/v1alpha2',
  'TLSRoute gateway.networking.k8s.io/v1alpha3',
];
