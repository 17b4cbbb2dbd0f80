/**
 * The memory of an idle agent of a real cluster: the bundled program, started as the chart starts it, beside a control plane with many objects of others.
 * Measured once after it has applied its own objects, and once after a restart.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { agentLaunch } from '../../center/supervisor/launch.ts';
import type { Topology } from '../../center/topology/topology.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { accessOf } from '../../edge-agent/cluster/kubernetes/access.ts';
import { ClusterApiClient } from '../../edge-agent/cluster/kubernetes/api-client.ts';
import { defaultLimits } from '../../edge-agent/cluster/kubernetes/client-limits.ts';
import { markSelector } from '../../edge-agent/cluster/mark.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { bundledPrograms } from './bundled.ts';
import type { BenchPorts, Figure } from './figure.ts';
import { clusterOf, LocalNodes } from './local-nodes.ts';
import { type Memory, memoryOf } from './memory.ts';
import { endProcess } from './scratch.ts';

const foreign = 20_000;
const managed = 2_000;
const namespace = 'managed';
const configMaps = `/api/v1/namespaces/${namespace}/configmaps`;
/** The memory of this program, which must not be measured. */
const limits = { ...defaultLimits, requestsPerSecond: 10_000, inFlight: 8 };
const thereMsMax = 300_000;
/** V8 returns memory some seconds after the last work. */
const restMs = 60_000;
/** Certificates that only this machine names: each process that opens TLS would read them all. */
const env = { NODE_EXTRA_CA_CERTS: '' };
/** As the chart starts it. */
const launched = { ...agentLaunch.env, ...env };

export async function bench({ scratch, progress }: BenchPorts): Promise<Figure[]> {
  progress('bundling the programs, starting a control plane and a center');
  const program = bundledPrograms(scratch)('agent');
  const plane = scratch.use(await ControlPlane.start({ directory: scratch.directory() }));
  const topology = topologyWith(plane.kubeconfig);
  const nodes = scratch.use(await LocalNodes.start(scratch.directory(), topology, ({ role }) => role !== 'agent'));
  const cluster = await clientOf(plane.kubeconfig, 'cluster');
  const origin = await clientOf(nodes.kubeconfig, 'space/center/retail');
  progress(`${foreign} objects of others, and ${managed} at the center`);
  await make(cluster, 'others', foreign);
  await place(origin);
  await make(origin, namespace, managed);
  const config = configFor(scratch.directory(), nodes, plane.kubeconfig);
  const bare = scratch.node(['-e', 'setInterval(() => {}, 1_000_000)'], env);
  const agent = () => scratch.node([...agentLaunch.flags, program, '--config', config], launched);
  const first = agent();
  await arrival(cluster);
  const brought = await rested(progress, first, 'after it has brought them');
  await endProcess(first, 'SIGTERM');
  const again = await rested(progress, agent(), 'after a restart');
  const alone = memoryOf(bare.pid!);
  for (const client of [cluster, origin]) client.close();
  return [...figuresOf('having brought them', brought, alone), ...figuresOf('after a restart', again, alone, 80)];
}

function figuresOf(when: string, memory: Memory, alone: Memory, bound?: number): Figure[] {
  const megabytes = (what: string, key: keyof Memory): Figure => ({
    name: `${what}, ${when}`,
    value: memory[key] / 1e6,
    unit: 'MB',
    baseline: { name: 'node alone', value: alone[key] / 1e6 },
  });
  const resident = megabytes('resident', 'resident');
  return [
    bound === undefined ? resident : { ...resident, goal: { of: 'value', is: '≤', bound } },
    megabytes('of which its own', 'own'),
    megabytes('of which its share', 'proportional'),
    { name: `of which the store, ${when}`, value: memory.store / 1e6, unit: 'MB' },
  ];
}

async function rested(progress: (line: string) => void, agent: ChildProcess, when: string): Promise<Memory> {
  progress(`waiting ${restMs / 1_000} s, ${when}`);
  const ended = once(agent, 'exit').then(([code]) => {
    throw new Error(`the agent ended with ${code}`);
  });
  await Promise.race([delay(restMs), ended]);
  return memoryOf(agent.pid!);
}

// ------------------------------------------------------------------------------------------------------- the agent

function configFor(directory: string, nodes: LocalNodes, kubeconfig: string): string {
  const { caPem, certPem, keyPem } = nodes.credentials('edge');
  const file = (name: string, content: Uint8Array | string) => {
    writeFileSync(join(directory, name), content, { mode: 0o600 });
    return join(directory, name);
  };
  const data = join(directory, 'data');
  mkdirSync(data);
  const config = {
    path: 'edge',
    data,
    logFile: join(directory, 'log'),
    parent: { address: nodes.meshAddress(''), path: '' },
    pki: { ca: file('ca.crt', caPem), cert: file('tls.crt', certPem), key: file('tls.key', keyPem) },
    cluster: { kubernetes: { kubeconfig } },
  };
  // YAML is a superset of JSON.
  return file('agent.yaml', JSON.stringify(config));
}

// ------------------------------------------------------------------------------------------------------- the objects

function topologyWith(path: string): Topology {
  const edge = clusterOf('', 'edge', { env: 'prod' });
  return {
    name: 'bench',
    center: { labels: {}, spaces: [{ name: 'retail', type: 'Workload' }] },
    relays: [],
    clusters: [{ ...edge, provider: { kubeconfig: { path } } }],
  };
}

async function clientOf(kubeconfig: string, context: string): Promise<ClusterApiClient> {
  const nowhere = { host: undefined, port: undefined, directory: '' };
  return new ClusterApiClient(await accessOf({ kubeconfig, context }, nowhere), systemClock, limits);
}

async function place(origin: ClusterApiClient): Promise<void> {
  const spec = {
    locationSelectors: [{ matchLabels: { env: 'prod' } }],
    downsync: [{ apiGroup: '*', resources: ['*'], namespaces: [namespace] }],
  };
  const metadata = { name: namespace };
  const body = { apiVersion: 'edge.banyan.io/v1alpha1', kind: 'EdgePlacement', metadata, spec };
  await origin.json({ method: 'POST', path: '/apis/edge.banyan.io/v1alpha1/edgeplacements', body });
}

async function make(at: ClusterApiClient, into: string, count: number): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: into } };
  await at.json({ method: 'POST', path: '/api/v1/namespaces', body });
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const i = next++;
      const metadata = { name: `c${i}`, namespace: into, labels: { part: 'bulk' } };
      const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { text: `object ${i} `.repeat(20) } };
      await at.json({ method: 'POST', path: `/api/v1/namespaces/${into}/configmaps`, body: configMap });
    }
  };
  await Promise.all(Array.from({ length: limits.inFlight }, worker));
}

/** Until the cluster has all of them. */
async function arrival(cluster: ClusterApiClient): Promise<void> {
  const late = performance.now() + thereMsMax;
  for (;;) {
    const query = { labelSelector: markSelector };
    const list = (await cluster.json({ path: configMaps, query })) as { items: readonly KubeObject[] };
    if (list.items.length >= managed) return;
    if (performance.now() > late) throw new Error(`${list.items.length} of ${managed} objects came in time`);
    await delay(1_000);
  }
}
