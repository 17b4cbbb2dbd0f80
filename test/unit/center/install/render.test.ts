/** Rendered files: what the programs and the chart are given for a topology, and what can't be rendered. */
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { deploymentProblems } from '../../../../center/install/deployment-problems.ts';
import { deploymentsOf } from '../../../../center/install/deployments.ts';
import { renderedFiles } from '../../../../center/install/render.ts';
import { parseTopology } from '../../../../center/topology/parse.ts';
import { planOf } from '../../../../center/topology/plan.ts';
import { parseConfig } from '../../../../core/runtime/config-file.ts';
import { parseAgentConfig } from '../../../../edge-agent/config/config.ts';
import { nodeConfigSchema } from '../../../../relay/config/config.ts';

const topologyOf = (spec: string) => {
  const parsed = parseTopology(
    `apiVersion: banyan.io/v1alpha1\nkind: Topology\nmetadata: {name: retail}\nspec: ${spec}\n`,
  );
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  return parsed.topology;
};
const render = (spec: string) => {
  const topology = topologyOf(spec);
  return renderedFiles(deploymentsOf(topology, planOf(topology)), { readFile: (file) => `text of ${file}` });
};
const problems = (spec: string) => {
  const topology = topologyOf(spec);
  return deploymentProblems(deploymentsOf(topology, planOf(topology))).map(
    ({ path, message }) => `${path.join('.')}: ${message}`,
  );
};
const node = (text: string) => parseConfig(text, 'file', nodeConfigSchema, 'configuration');
const machine = (names: string) => `deploy: {as: machine, names: [${names}]}`;

describe('the files for a machine', () => {
  const files = render(`
  center:
    ${machine('"fd00::1", center.example.com')}
    labels: {tier: core}
    spaces: [{name: retail, limits: {objects: 5}}]
    audit: {policyFile: policy.yaml}
    listen: {meshPort: 7000}
  relays:
    - {name: eu, labels: {region: eu}, ${machine('eu.example.com')}, access: {fromAbove: grants}, issuer: {certificateSeconds: 3600}, limits: {deletions: {entries: 7}}, link: {proxy: "http://proxy:3128", ca: ca.pem}}
  clusters:
    - {name: shop, parent: eu, accept: [], encryption: {resources: []}}
    - {name: till, parent: eu, deploy: {as: machine}, access: {fromAbove: grants}, provider: {kubeconfig: {path: k, context: prod}}}`);

  it('are configurations that the programs accept, with everything that the topology says', () => {
    expect(node(files.get('center/center.yaml')!)).toMatchObject({
      path: '',
      labels: { tier: 'core' },
      pki: { tree: 'retail', names: ['fd00::1', 'center.example.com'] },
      api: { host: '::', port: 6443 },
      mesh: { host: '::', port: 7000 },
      spaces: [{ name: 'retail', type: 'Workload', limits: { objects: 5 } }],
      audit: { policyFile: '/var/lib/banyan/audit-policy.yaml', path: '/var/lib/banyan/data/audit.log' },
      encryption: { keyFile: '/var/lib/banyan/keys' },
    });
    expect(files.get('center/audit-policy.yaml')).toBe('text of policy.yaml');
    expect(node(files.get('eu/relay.yaml')!)).toMatchObject({
      path: 'eu',
      labels: { region: 'eu' },
      parent: { path: '', address: '[fd00::1]:7000' },
      pki: {
        joinToken: '/var/lib/banyan/join-token',
        names: ['eu.example.com'],
        certificateSeconds: 3600,
      },
      access: { fromAbove: 'grants' },
      limits: { deletions: { entries: 7 } },
      link: { proxy: 'http://proxy:3128', ca: '/var/lib/banyan/link-ca.crt' },
    });
    expect(parseAgentConfig(files.get('eu.shop/agent.yaml')!, 'file')).toMatchObject({
      path: 'eu:shop',
      parent: { path: 'eu', address: 'eu.example.com:7443' },
      accept: [],
      encryption: { resources: [] },
      cluster: { embedded: {} },
    });
    expect(parseAgentConfig(files.get('eu.till/agent.yaml')!, 'file')).toMatchObject({
      access: { fromAbove: 'grants' },
      streams: { cluster: { users: ['*'], groups: ['*'] } },
      cluster: { kubernetes: { kubeconfig: '/var/lib/banyan/cluster.kubeconfig', context: 'prod' } },
    });
  });

  it('have a unit for the program of the package, and no secret', () => {
    expect(files.get('eu/banyan-relay.service')).toContain(
      'ExecStart=/opt/banyan/lib/node /opt/banyan/lib/dist/relay.js --config /var/lib/banyan/relay.yaml',
    );
    expect([...files.keys()].filter((file) => /keys|token$|data/.test(file))).toEqual([]);
  });
});

describe('the values of the chart', () => {
  it('have what the topology says, and name the Secrets that a person makes', () => {
    const files = render(`
  center: {deploy: {names: [center.example.com]}, labels: {tier: core}, audit: {maxBackups: 3}, listen: {apiPort: 443}}
  relays: [{name: eu, spaces: [{name: ops}], limits: {deletions: {entries: 7}}, encryption: {resources: []}, deploy: {names: [eu.example.com]}, link: {transport: websocket, proxy: "http://proxy:3128", ca: ca.pem}}]
  clusters: [{name: till, parent: eu, limits: {deletions: {fraction: 0.5}}, provider: {kubeconfig: {path: k, uid: u-1}}, link: {endpoint: "10.0.0.1:7444"}}]`);
    expect(parse(files.get('center/values.yaml')!)).toMatchObject({
      role: 'center',
      center: { tree: 'retail' },
      names: ['center.example.com'],
      node: {
        labels: { tier: 'core' },
        encryption: { secretName: 'banyan-keys' },
        service: { apiPort: 443, meshPort: 7443 },
        config: { audit: { maxBackups: 3, stdout: true } },
      },
    });
    expect(parse(files.get('eu/values.yaml')!)).toMatchObject({
      role: 'relay',
      relay: {
        path: 'eu',
        parent: { address: 'center.example.com:7443' },
        identity: { joinTokenSecretName: 'banyan-join' },
        link: { transport: 'websocket', ca: 'text of ca.pem' },
        proxy: { url: 'http://proxy:3128' },
      },
      node: { spaces: [{ name: 'ops', type: 'Workload' }], encryption: { secretName: '' } },
    });
    expect(parse(files.get('eu.till/values.yaml')!)).toMatchObject({
      role: 'agent',
      agent: {
        path: 'eu:till',
        parent: { address: '10.0.0.1:7444' },
        deletions: { entries: 50, fraction: 0.5 },
        cluster: { uid: 'u-1' },
      },
    });
  });
});

describe('the README', () => {
  it('has parents before their children, and the command for the token of each', () => {
    const readme = render(`
  center: {${machine('c.example.com')}}
  clusters: [{name: shop, parent: "eu:paris", labels: {env: prod}}]
  relays: [{name: paris, parent: eu, ${machine('p.example.com')}}, {name: eu, ${machine('e.example.com')}}]`).get(
      'README.md',
    )!;
    expect(readme.match(/^## .*$/gm)).toEqual([
      '## The center',
      '## The relay eu',
      '## The relay eu:paris',
      '## The cluster eu:paris:shop',
      '## The rest',
    ]);
    expect(readme).toContain('join-token eu:paris --relay --host p.example.com --kubeconfig admin.kubeconfig');
    expect(readme).toContain('join-token eu:paris:shop --label env=prod --kubeconfig');
  });
});

describe('what can not be installed is named with the field and the remedy', () => {
  const named = 'deploy: {names: [a.example.com]}';
  it.each([
    ['{relays: [{name: eu}]}', 'spec.relays.0.link.endpoint: is missing: nobody knows where center listens'],
    [`{center: {${named}}, relays: [{name: eu, replicas: 2}]}`, 'spec.relays.0.replicas: 2: a relay that joins'],
    [
      `{center: {${named}}, relays: [{name: eu, link: {terminatedTls: true}}]}`,
      'spec.relays.0.link.terminatedTls: true: the node joins with a token',
    ],
    [
      `{center: {${named}}, relays: [{name: eu, link: {proxy: "http://u:p@proxy:1"}}]}`,
      'spec.relays.0.link.proxy: has a password',
    ],
    ['{center: {encryption: {keyFile: k}}}', 'spec.center.encryption.keyFile: keys are made where the node runs'],
    ['{center: {authentication: {file: a}}}', 'spec.center.authentication.file: the chart brings no such file'],
    ['{center: {frontProxy: {clientCA: a}}}', 'spec.center.frontProxy.clientCA: the chart brings no such file'],
    ['{center: {audit: {policyFile: a}}}', 'spec.center.audit.policyFile: the chart brings no such file'],
    ['{center: {encryption: {resources: [configmaps]}}}', 'spec.center.encryption.resources: the chart seals Secrets'],
    ['{center: {issuer: {certificateSeconds: 60}}}', 'spec.center.issuer.certificateSeconds: a center that makes'],
    [
      `{center: {${named}}, clusters: [{name: c, deploy: {as: chart}, audit: {}}]}`,
      'spec.clusters.0.audit: a cluster of the chart',
    ],
  ])('%s', (spec, words) => {
    expect(problems(spec)).toEqual([expect.stringContaining(words)]);
  });
});
