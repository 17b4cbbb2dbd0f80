/** Values that `banyan topology render` writes, given to helm and the chart: its schema takes them, and the programs take the configurations in the manifests. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { parseConfig } from '../../core/runtime/config-file.ts';
import { parseAgentConfig } from '../../edge-agent/config/config.ts';
import { nodeConfigSchema } from '../../relay/config/config.ts';
import { banyan, fixture } from '../e2e/local-tree.ts';
import { Helm, withoutHelm } from '../support/helm.ts';

const why = withoutHelm ? ` [not run: ${withoutHelm}]` : '';
/** helm may have to be built first. */
const buildMsMax = 3_600_000;

const topology = `apiVersion: banyan.io/v1alpha1
kind: Topology
metadata: {name: retail}
spec:
  center:
    labels: {tier: core}
    spaces: [{name: retail, type: Workload, limits: {objects: 100}}]
    audit: {maxBackups: 3}
    deploy: {names: [center.example.com, "2001:db8::1"]}
  relays:
    - name: eu
      labels: {region: eu}
      spaces: [{name: ops, delivery: {namespaces: ["shop-*"]}}]
      listen: {meshPort: 443}
      access: {fromAbove: grants}
      limits: {deletions: {entries: 7}}
      egress: {allow: [10.0.0.0/8]}
      encryption: {resources: []}
      link: {transport: websocket, proxy: "http://proxy.example.com:3128", ca: ca.pem}
      deploy: {names: [eu.example.com]}
  clusters:
    - {name: till, parent: eu, deploy: {as: chart}}
    - name: lab
      parent: eu
      provider: {kubeconfig: {path: lab.kubeconfig, uid: u-1}}
      access: {fromAbove: cluster-admin, metrics: ["center:jo"]}
      accept: [{source: center.retail, namespaces: ["shop-*"]}]
      limits: {deletions: {fraction: 0.5}}
      encryption: {resources: [secrets, configmaps]}
`;

interface Manifest {
  readonly kind: string;
  readonly data?: Readonly<Record<string, string>>;
}

describe.skipIf(withoutHelm)(`rendered values of the chart${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-rendered-'));
  const at = (file: string) => join(directory, file);
  let helm: Helm;
  const manifests = (name: string, more: readonly string[] = []): Manifest[] => {
    const args = ['template', 'banyan', fixture('deploy/chart'), '-n', 'banyan', '-f', at(`out/${name}/values.yaml`)];
    const { code, out, stdout } = helm.run(...args, ...more);
    if (code !== 0) throw new Error(out);
    return parseAllDocuments(stdout).map((document) => document.toJS() as Manifest);
  };
  const configIn = (all: readonly Manifest[], file: string) =>
    all.find(({ kind, data }) => kind === 'ConfigMap' && data?.[file])?.data?.[file] ?? '';
  const node = (name: string) =>
    parseConfig(configIn(manifests(name), 'node.yaml'), name, nodeConfigSchema, 'configuration of a node');
  const agent = (name: string) => parseAgentConfig(configIn(manifests(name), 'agent.yaml'), name);

  beforeAll(async () => {
    helm = await Helm.find(at('helm'));
    writeFileSync(at('tree.yaml'), topology);
    writeFileSync(at('ca.pem'), '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
    writeFileSync(at('lab.kubeconfig'), '');
    const { code, out } = banyan('topology', 'render', '-f', at('tree.yaml'), '-o', at('out'));
    expect(code, out).toBe(0);
  }, buildMsMax);
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it('give a center its names, its spaces and the further fields of its configuration', () => {
    expect(node('center')).toMatchObject({
      path: '',
      labels: { tier: 'core' },
      spaces: [{ name: 'retail', type: 'Workload', limits: { objects: 100 } }],
      audit: { maxBackups: 3, stdout: true },
      pki: { tree: 'retail', names: expect.arrayContaining(['center.example.com', '2001:db8::1']) },
      encryption: { keyFile: expect.any(String) },
    });
  });

  it('give a relay its parent, its link and its limits', () => {
    expect(node('eu')).toMatchObject({
      path: 'eu',
      parent: { path: '', address: 'center.example.com:7443' },
      labels: { region: 'eu' },
      access: { fromAbove: 'grants' },
      limits: { deletions: { entries: 7 } },
      egress: { allow: ['10.0.0.0/8'] },
      link: { transport: 'websocket', ca: expect.any(String) },
      spaces: [{ name: 'ops', delivery: { namespaces: ['shop-*'] } }],
    });
    expect(JSON.stringify(manifests('eu'))).toContain('"port":443');
  });

  it('give agents what the topology says about their clusters', () => {
    expect(agent('eu.till')).toMatchObject({
      path: 'eu:till',
      parent: { path: 'eu', address: 'eu.example.com:443' },
      access: { fromAbove: 'grants' },
    });
    expect(agent('eu.lab')).toMatchObject({
      access: { fromAbove: 'cluster-admin', metrics: ['center:jo'] },
      accept: [{ source: 'center.retail', namespaces: ['shop-*'] }],
      limits: { deletions: { entries: 50, fraction: 0.5 } },
      encryption: { resources: ['secrets', 'configmaps'] },
      streams: { cluster: { users: ['*'], groups: ['*'] } },
      cluster: { kubernetes: { uid: 'u-1' } },
    });
  });

  it('are refused by the schema of the chart when somebody adds a value that it does not have', () => {
    const file = at('out/center/values.yaml');
    writeFileSync(file, `${readFileSync(file, 'utf8')}nods: {}\n`);
    expect(() => manifests('center')).toThrow(/nods/);
  });
});
