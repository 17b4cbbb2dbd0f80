/**
 * The fleet of 1,000 simulated clusters of 20 Deployments each: a center, two relays, five relays below each, and 100 agents below each of these, as real
 * processes with sessions. All pods flip at once. Then one client lists the first page and everything, and ten clients list everything at once.
 */
import { NodeApiClient } from '../../center/cli/api-client.ts';
import type { Topology } from '../../center/topology/topology.ts';
import type { BenchPorts, Figure } from './figure.ts';
import type { FleetChildrenRequest } from './fleet-children.ts';
import { FleetListClient } from './fleet-client.ts';
import { flipFigures } from './fleet-flip.ts';
import { clusterOf, LocalNodes, relayOf } from './local-nodes.ts';
import { median, timed } from './measure.ts';
import { memoryOf } from './memory.ts';
import { ask } from './scratch.ts';

const regions = ['r0', 'r1'];
const relaysOfRegion = ['s0', 's1', 's2', 's3', 's4'];
const agentsPerRelay = 100;
const objects = 20;
const parents = regions.flatMap((region) => relaysOfRegion.map((relay) => `${region}:${relay}`));
const agents = Array.from({ length: agentsPerRelay }, (_, i) => `a${i}`);
const copies = parents.length * agentsPerRelay * objects;
const clients = 10;
const rounds = 20;
/** The size of pages of kubectl. */
const limit = 500;
const space = 'space/center/retail';
const list = '/apis/apps/v1/deployments';
const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const reportedWithinMs = 180_000;

const topology: Topology = {
  name: 'bench',
  center: { labels: {}, spaces: [{ name: 'retail', type: 'Workload' }] },
  relays: [
    ...regions.map((region) => relayOf('', region)),
    ...regions.flatMap((region) => relaysOfRegion.map((relay) => relayOf(region, relay))),
  ],
  clusters: parents.flatMap((parent) => agents.map((name) => clusterOf(parent, name, { env: 'prod' }))),
};

export async function bench({ scratch, progress }: BenchPorts): Promise<Figure[]> {
  progress(`starting ${1 + regions.length + parents.length} nodes`);
  const nodes = scratch.use(await LocalNodes.start(scratch.directory(), topology, ({ role }) => role !== 'agent'));
  await placeObjects(nodes.kubeconfig);
  const processes = parents.map((path) => {
    const child = scratch.fork(new URL('fleet-children.ts', import.meta.url));
    return { path, child };
  });
  for (const [i, { path, child }] of processes.entries()) {
    progress(`attaching ${agentsPerRelay} agents to relay ${i + 1} of ${parents.length}`);
    const parent = { address: nodes.meshAddress(path), path };
    await ask(child, { authority: nodes.authority(), parent, names: agents } satisfies FleetChildrenRequest);
  }
  progress('the agents report');
  const untilMs = performance.now() + reportedWithinMs;
  const reported = () => Promise.all(processes.map(({ child }) => ask<number>(child, 'reported')));
  while ((await reported()).reduce((sum, one) => sum + one, 0) < copies) {
    if (performance.now() > untilMs)
      throw new Error(`not all states were reported within ${reportedWithinMs / 1_000} s`);
    await new Promise((done) => setTimeout(done, 200));
  }
  await new Promise((done) => setTimeout(done, 3_000));
  const flips = await flipFigures({
    kubeconfig: nodes.kubeconfig,
    space,
    deployments: '/apis/apps/v1/namespaces/shop/deployments',
    placement: '/apis/edge.banyan.io/v1alpha1/edgeplacements/shop',
    clusters: parents.length * agentsPerRelay,
    processes: processes.map(({ child }) => child),
    progress,
  });
  return [...(await measure(nodes, progress)), ...flips];
}

async function measure(nodes: LocalNodes, progress: (line: string) => void): Promise<Figure[]> {
  const fleet = 'fleet/center/retail';
  const client = new FleetListClient(nodes.kubeconfig, fleet);
  const pageMs = (accept?: string) => timed(() => client.page(`${list}?limit=${limit}`, accept));
  progress('one client');
  const coldMs = await pageMs();
  const firstMs: number[] = [];
  const tableMs: number[] = [];
  for (let round = 0; round < rounds; round++) {
    firstMs.push(await pageMs());
    tableMs.push(await pageMs(table));
  }
  const wholeMs: number[] = [];
  const atOnceMs: number[] = [];
  let bytes = 0;
  for (let round = 0; round < 3; round++) {
    const wholeList = async () => {
      bytes = (await client.whole(list, limit)).bytes;
    };
    wholeMs.push(await timed(wholeList));
    atOnceMs.push(await timed(() => client.page(list)));
  }
  progress(`${clients} clients`);
  const pid = nodes.pid('');
  const before = memoryOf(pid).own;
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, memoryOf(pid).own);
  }, 50);
  const others = Array.from({ length: clients }, () => new FleetListClient(nodes.kubeconfig, fleet));
  const tenMs = await timed(() => Promise.all(others.map((other) => other.whole(list, limit))));
  const tenAtOnceMs = await timed(() => Promise.all(others.map((other) => other.page(list))));
  clearInterval(timer);
  for (const one of [client, ...others]) one.close();
  const seconds = (ms: number) => ms / 1_000;
  return [
    figure(`first page of ${limit}, nothing asked before`, coldMs, 'ms'),
    figure(`first page of ${limit}`, median(firstMs), 'ms'),
    figure(`first page of ${limit} as a Table`, median(tableMs), 'ms'),
    figure(`${copies} copies in pages of ${limit} (${Math.round(bytes / 1e6)} MB)`, seconds(median(wholeMs)), 's'),
    figure(`${copies} copies in one answer`, seconds(median(atOnceMs)), 's'),
    figure(`the same in pages, ${clients} clients at once`, seconds(tenMs), 's'),
    figure(`the same in one answer, ${clients} clients at once`, seconds(tenAtOnceMs), 's'),
    figure(`memory of the center before`, before / 1e6, 'MB'),
    figure(`most memory of the center with ${clients} clients`, most / 1e6, 'MB'),
  ];
}

function figure(name: string, value: number, unit: string): Figure {
  return { name, value, unit };
}

async function placeObjects(kubeconfig: string): Promise<void> {
  const api = new NodeApiClient(kubeconfig);
  const apply = (path: string, object: object) =>
    api.apply(space, path, object as Parameters<NodeApiClient['apply']>[2]);
  try {
    await apply('/api/v1/namespaces/shop', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
    for (let i = 0; i < objects; i++) await apply(`/apis/apps/v1/namespaces/shop/deployments/web-${i}`, deployment(i));
    await apply('/apis/edge.banyan.io/v1alpha1/edgeplacements/shop', {
      apiVersion: 'edge.banyan.io/v1alpha1',
      kind: 'EdgePlacement',
      metadata: { name: 'shop' },
      spec: {
        locationSelectors: [{ matchLabels: { env: 'prod' } }],
        downsync: [{ apiGroup: 'apps', resources: ['deployments'], namespaces: ['shop'] }],
      },
    });
  } finally {
    api.close();
  }
}

function deployment(i: number) {
  const labels = { app: `web-${i}` };
  const env = Array.from({ length: 20 }, (_, k) => ({ name: `SETTING_${k}`, value: `the value of setting ${k}` }));
  const containers = [{ name: 'web', image: `registry.example.com/web-${i}:1.0`, env }];
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: `web-${i}`, namespace: 'shop', labels },
    spec: { replicas: 2, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
  };
}
