/**
 * From a write at the center to a real cluster and back, beside the same write directly to that cluster: the time until the cluster has it and until its
 * controller's status can be read where it was written, one after the other; and the time of 2,000 objects by kubectl, with the processor time of the
 * processes. Center, agent and a control plane are real processes; this process watches both ends, so there is one clock.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Topology } from '../../center/topology/topology.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { silentLogger } from '../../core/runtime/logger.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { accessOf } from '../../edge-agent/cluster/kubernetes/access.ts';
import { ClusterApiClient } from '../../edge-agent/cluster/kubernetes/api-client.ts';
import { ResourceWatch } from '../../edge-agent/cluster/kubernetes/resource-watch.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { cpuSecondsOf } from './cpu.ts';
import type { BenchPorts, Figure } from './figure.ts';
import { clusterOf, LocalNodes } from './local-nodes.ts';
import { percentile } from './measure.ts';

const center = 'space/center/retail';
const rounds = 200;
const warmUpRounds = 20;
const objects = 2_000;
const withinMs = 60_000;
const bulkWithinMs = 300_000;
const deployments = { group: 'apps', resource: 'deployments', kind: 'Deployment', versions: ['v1'], namespaced: true };
const configMaps = { group: '', resource: 'configmaps', kind: 'ConfigMap', versions: ['v1'], namespaced: true };

/** Milliseconds since the write was sent. */
interface Took {
  readonly there: number[];
  readonly back: number[];
}

export async function bench({ scratch, progress }: BenchPorts): Promise<Figure[]> {
  progress('starting a control plane, a center and an agent');
  const plane = scratch.use(await ControlPlane.start({ directory: scratch.directory() }));
  const topology = topologyWith(plane.kubeconfig);
  const nodes = scratch.use(await LocalNodes.start(scratch.directory(), topology, () => true));
  const cluster = await End.open(plane.kubeconfig, 'cluster');
  const origin = await End.open(nodes.kubeconfig, center);
  for (const end of [cluster, origin]) scratch.use({ [Symbol.asyncDispose]: async () => end.close() });
  for (const kind of ['deployments', 'bulk']) await place(origin, kind);
  await cluster.apply('/api/v1/namespaces/direct', namespace('direct'));
  const direct: Took = { there: [], back: [] };
  const mesh: Took = { there: [], back: [] };
  for (let round = 1; round <= warmUpRounds + rounds; round++) {
    if (round % 50 === 0) progress(`round ${round} of ${warmUpRounds + rounds}`);
    const [straight, through] = [
      await once(cluster, cluster, 'direct', round),
      await once(origin, cluster, 'deployments', round),
    ];
    if (round <= warmUpRounds) continue;
    note(direct, straight);
    note(mesh, through);
  }
  progress(`${objects} objects by kubectl, straight to the cluster`);
  const usage = () => ({
    center: cpuSecondsOf(nodes.pid('')),
    agent: cpuSecondsOf(nodes.pid('edge')),
    apiServer: cpuSecondsOf(plane.pid('kube-apiserver')),
    etcd: cpuSecondsOf(plane.pid('etcd')),
  });
  const straight = await bulk(plane.kubectl, scratch.directory(), usage, {
    kubeconfig: plane.kubeconfig,
    context: 'cluster',
    to: 'direct',
    cluster,
  });
  progress(`${objects} objects by kubectl, to the center`);
  const through = await bulk(plane.kubectl, scratch.directory(), usage, {
    kubeconfig: nodes.kubeconfig,
    context: center,
    to: 'bulk',
    cluster,
  });
  return [
    ...latencies('on the cluster', mesh.there, direct.there),
    ...latencies('status back', mesh.back, direct.back),
    ...throughput(through, straight),
  ];
}

function note(took: Took, { thereMs, backMs }: { readonly thereMs: number; readonly backMs: number }): void {
  took.there.push(thereMs);
  took.back.push(backMs);
}

function latencies(what: string, values: readonly number[], direct: readonly number[]): Figure[] {
  const of = (shown: string, fraction: number) => ({
    name: `${what}, ${shown}`,
    value: percentile(values, fraction),
    unit: 'ms',
    baseline: { name: 'straight to the cluster', value: percentile(direct, fraction) },
  });
  const [p50, p99] = [of('p50', 0.5), of('p99', 0.99)];
  const over = { name: `${what}, p99 over direct`, value: p99.value - p99.baseline.value, unit: 'ms' };
  return [p50, p99, { ...over, goal: { of: 'value', is: '≤', bound: 250 } }];
}

function throughput(through: Bulk, straight: Bulk): Figure[] {
  const cpu = (of: keyof Usage) => ({ name: `… CPU of ${nameOf[of]}`, value: through.cpu[of], unit: 's' });
  const beside = (of: keyof Usage) => ({ baseline: { name: 'straight to the cluster', value: straight.cpu[of] } });
  return [
    {
      name: `${objects} objects by kubectl apply`,
      value: through.tookMs / 1_000,
      unit: 's',
      baseline: { name: 'straight to the cluster', value: straight.tookMs / 1_000 },
      goal: { of: 'ratio', is: '≤', bound: 1.5 },
    },
    cpu('center'),
    cpu('agent'),
    { ...cpu('apiServer'), ...beside('apiServer') },
    { ...cpu('etcd'), ...beside('etcd') },
  ];
}

// ---------------------------------------------------------------------------------------------------------- one write

/** A Deployment without pods, in which one number changes; the controller reports when it has observed the change. */
async function once(from: End, cluster: End, name: string, round: number) {
  const seconds = 600 + round;
  const there = cluster.deployment((found) => isOf(found, name) && secondsOf(found) === seconds);
  const back = from.deployment((found) => isOf(found, name) && secondsOf(found) === seconds && isObserved(found));
  const sentMs = performance.now();
  await from.apply(`/apis/apps/v1/namespaces/${name}/deployments/${name}`, deployment(name, seconds));
  return { thereMs: (await there) - sentMs, backMs: (await back) - sentMs };
}

function isOf({ metadata }: KubeObject, name: string): boolean {
  return metadata.namespace === name && metadata.name === name;
}

function secondsOf({ spec }: KubeObject): unknown {
  return (spec as { progressDeadlineSeconds?: number } | undefined)?.progressDeadlineSeconds;
}

function isObserved({ metadata, status }: KubeObject): boolean {
  return (status as { observedGeneration?: number } | undefined)?.observedGeneration === metadata.generation;
}

// ------------------------------------------------------------------------------------------------------- many objects

interface BulkTarget {
  readonly kubeconfig: string;
  readonly context: string;
  /** The namespace, also on the cluster. */
  readonly to: string;
  readonly cluster: End;
}

/** Seconds. */
type Usage = Readonly<Record<keyof typeof nameOf, number>>;

interface Bulk {
  /** From the start of kubectl until the cluster has all of them. */
  readonly tookMs: number;
  /** During this time. */
  readonly cpu: Usage;
}

const nameOf = { center: 'the center', agent: 'the agent', apiServer: 'the API server', etcd: 'etcd' };

async function bulk(
  kubectl: string,
  directory: string,
  usage: () => Usage,
  { kubeconfig, context, to, cluster }: BulkTarget,
): Promise<Bulk> {
  const file = join(directory, 'bulk.json');
  const items = Array.from({ length: objects }, (_, i) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `c${i}`, namespace: to, labels: { part: 'bulk' } },
    data: { text: `object ${i} `.repeat(20) },
  }));
  writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  const all = cluster.configMaps(to, objects);
  const before = usage();
  const startMs = performance.now();
  const applied = run(kubectl, ['--kubeconfig', kubeconfig, '--context', context, 'apply', '-f', file]);
  const [atMs] = await Promise.all([all, applied]);
  const after = usage();
  const since = (of: keyof Usage) => after[of] - before[of];
  const cpu = { center: since('center'), agent: since('agent'), apiServer: since('apiServer'), etcd: since('etcd') };
  return { tookMs: atMs - startMs, cpu };
}

function run(program: string, args: readonly string[]): Promise<void> {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`${program} ended with ${code}`))));
  });
}

// ---------------------------------------------------------------------------------------------------------- the ends

/** An API server: writes to it, and the first moment at which it reports a change. */
class End {
  readonly #client: ClusterApiClient;
  readonly #watches: readonly ResourceWatch[];
  readonly #waiting = new Set<(found: KubeObject) => void>();

  static async open(kubeconfig: string, context: string): Promise<End> {
    const nowhere = { host: undefined, port: undefined, directory: '' };
    const client = new ClusterApiClient(await accessOf({ kubeconfig, context }, nowhere), systemClock);
    return new End(client);
  }

  private constructor(client: ClusterApiClient) {
    this.#client = client;
    const ports = { client, clock: systemClock, random: systemRandom, logger: silentLogger };
    const on = ({ object }: { object: KubeObject }) => {
      for (const look of this.#waiting) look(object);
    };
    this.#watches = [deployments, configMaps].map(
      (served) => new ResourceWatch({ ...ports, resourceOf: async () => served }, served),
    );
    for (const watch of this.#watches) watch.join({ on, synced() {} });
  }

  /** Server-side, as kubectl does it. */
  async apply(path: string, object: KubeObject): Promise<void> {
    const query = { fieldManager: 'bench', force: 'true' };
    const contentType = 'application/apply-patch+yaml';
    await this.#client.json({ method: 'PATCH', path, query, contentType, body: object });
  }

  /** Resolves when a reported object satisfies the condition. */
  deployment(is: (found: KubeObject) => boolean): Promise<number> {
    return this.#until(withinMs, 'a Deployment', (found) => found.kind === 'Deployment' && is(found));
  }

  /** Resolves when this number of objects has been reported. */
  configMaps(of: string, count: number): Promise<number> {
    const names = new Set<string>();
    return this.#until(bulkWithinMs, `${count} ConfigMaps`, ({ kind, metadata }) => {
      if (kind === 'ConfigMap' && metadata.namespace === of && metadata.labels?.part) names.add(metadata.name ?? '');
      return names.size === count;
    });
  }

  close(): void {
    for (const watch of this.#watches) watch.stop();
    this.#client.close();
  }

  #until(ms: number, what: string, is: (found: KubeObject) => boolean): Promise<number> {
    return new Promise((resolve, reject) => {
      const done = () => {
        clearTimeout(late);
        this.#waiting.delete(look);
      };
      const look = (found: KubeObject) => {
        if (!is(found)) return;
        done();
        resolve(performance.now());
      };
      const late = setTimeout(() => {
        done();
        reject(new Error(`${what} did not come within ${ms / 1_000} s`));
      }, ms);
      this.#waiting.add(look);
    });
  }
}

// --------------------------------------------------------------------------------------------------------- the objects

function topologyWith(path: string): Topology {
  const place = clusterOf('', 'edge', { env: 'prod' });
  return {
    name: 'bench',
    center: { labels: {}, spaces: [{ name: 'retail', type: 'Workload' }] },
    relays: [],
    clusters: [{ ...place, provider: { kubeconfig: { path } } }],
  };
}

function namespace(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}

async function place(origin: End, name: string): Promise<void> {
  await origin.apply(`/api/v1/namespaces/${name}`, namespace(name));
  await origin.apply(`/apis/edge.banyan.io/v1alpha1/edgeplacements/${name}`, {
    apiVersion: 'edge.banyan.io/v1alpha1',
    kind: 'EdgePlacement',
    metadata: { name },
    spec: {
      locationSelectors: [{ matchLabels: { env: 'prod' } }],
      downsync: [{ apiGroup: '*', resources: ['*'], namespaces: [name] }],
      wantSingletonReportedState: name === 'deployments',
    },
  });
}

function deployment(name: string, progressDeadlineSeconds: number): KubeObject {
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: name },
    spec: {
      replicas: 0,
      progressDeadlineSeconds,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name, image: 'registry.example/till:1' }] } },
    },
  };
}
