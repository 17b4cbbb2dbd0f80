/**
 * Hostile clients at a node's space and at a kube-apiserver, one attack after the other, alternating: how long the small reads of another client take
 * meanwhile, and how much memory the server holds. The center has a relay with an agent below; their sessions must not end.
 */
import type { Topology } from '../../center/topology/topology.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import type { BenchPorts, Figure } from './figure.ts';
import { attacks, patched, victims, wide } from './hostile-bodies.ts';
import type { HostileQuestion, Statuses } from './hostile-client.ts';
import { connectionAttacks } from './hostile-connections.ts';
import { credentialsOf, TargetClient } from './hostile-target.ts';
import { clusterOf, LocalNodes, relayOf } from './local-nodes.ts';
import { percentile } from './measure.ts';
import { memoryOf } from './memory.ts';
import { ask } from './scratch.ts';

const connections = 4;
const attackMs = 4_000;
/** The other client reads at this interval, so that a server that is held for long meets several reads. */
const everyMs = 10;
const restMs = 500;
const objects = 2_000;
const space = 'space/center/retail';
const namespace = '/api/v1/namespaces/hostile';

const topology: Topology = {
  name: 'bench',
  center: { labels: {}, spaces: [{ name: 'retail', type: 'Workload' }] },
  relays: [relayOf('', 'eu')],
  clusters: [clusterOf('eu', 'shop')],
};

interface Target {
  readonly name: string;
  readonly kubeconfig: string;
  readonly context: string;
  readonly pid: number;
  readonly reader: TargetClient;
}

interface Took {
  readonly waitsMs: readonly number[];
  readonly megabytes: number;
  readonly statuses: Statuses;
}

export async function bench({ scratch, progress }: BenchPorts): Promise<Figure[]> {
  progress('starting a control plane, and a center with a relay and an agent');
  const plane = scratch.use(await ControlPlane.start({ directory: scratch.directory() }));
  const nodes = scratch.use(await LocalNodes.start(scratch.directory(), topology, () => true));
  const targetOf = async (name: string, kubeconfig: string, context: string, pid: number): Promise<Target> => {
    const reader = new TargetClient(credentialsOf(kubeconfig, context));
    scratch.use({ [Symbol.asyncDispose]: async () => reader.close() });
    await prepare(reader);
    return { name, kubeconfig, context, pid, reader };
  };
  const own = await targetOf('center', nodes.kubeconfig, space, nodes.pid(''));
  const peer = await targetOf('kube-apiserver', plane.kubeconfig, 'cluster', plane.pid('kube-apiserver'));
  const endedBefore = await sessionEnds(nodes);
  const client = scratch.fork(new URL('hostile-client.ts', import.meta.url));
  const only = process.env.BENCH_ATTACK;
  const figures: Figure[] = [];
  const waits = { own: [] as number[], peer: [] as number[] };
  for (const attack of [...attacks, ...connectionAttacks].filter(
    ({ name }) => only === undefined || name.includes(only),
  )) {
    const measured = async (target: Target) => {
      await ask(client, {
        type: 'start',
        kubeconfig: target.kubeconfig,
        context: target.context,
        attack: attack.name,
        connections,
      } satisfies HostileQuestion);
      const { waitsMs, megabytes } = await read(target);
      const statuses = await ask<Statuses>(client, { type: 'stop' } satisfies HostileQuestion);
      await new Promise((done) => setTimeout(done, restMs));
      progress(
        `${attack.name}, ${target.name}: p99 ${percentile(waitsMs, 0.99).toFixed(1)} ms, longest ${Math.max(...waitsMs).toFixed(0)} ms, ${megabytes.toFixed(0)} MB, answers ${JSON.stringify(statuses)}`,
      );
      return { waitsMs, megabytes, statuses };
    };
    const [mine, theirs] = [await measured(own), await measured(peer)];
    waits.own.push(...mine.waitsMs);
    waits.peer.push(...theirs.waitsMs);
    figures.push(...figuresOf(attack, mine, theirs));
  }
  const ended = (await sessionEnds(nodes)) - endedBefore;
  return [
    ...figures,
    {
      name: 'all attacks, p99 of a small read',
      value: percentile(waits.own, 0.99),
      unit: 'ms',
      baseline: { name: 'kube-apiserver', value: percentile(waits.peer, 0.99) },
      goal: { of: 'ratio', is: '≤', bound: 1 },
    },
    { name: 'sessions that ended', value: ended, unit: '', goal: { of: 'value', is: '≤', bound: 0 } },
  ];
}

function figuresOf({ name }: { readonly name: string }, own: Took, peer: Took): Figure[] {
  const baseline = (value: number) => ({ baseline: { name: 'kube-apiserver', value } });
  return [
    {
      name,
      value: percentile(own.waitsMs, 0.99),
      unit: 'ms',
      ...baseline(percentile(peer.waitsMs, 0.99)),
      goal: { of: 'ratio', is: '≤', bound: 1 },
    },
    { name: '… longest', value: Math.max(...own.waitsMs), unit: 'ms', ...baseline(Math.max(...peer.waitsMs)) },
    { name: '… memory', value: own.megabytes, unit: 'MB', ...baseline(peer.megabytes) },
  ];
}

/** The objects on which attacks work. */
async function prepare(client: TargetClient): Promise<void> {
  await client.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'hostile' } });
  await client.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', victims);
  await client.create(`${namespace}/configmaps`, patched);
  await client.create('/apis/apps/v1/namespaces/hostile/deployments', wide);
  for (let i = 0; i < objects; i++) {
    const metadata = { name: `small-${i}`, namespace: 'hostile', labels: { n: String(i) } };
    await client.create(`${namespace}/configmaps`, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata,
      data: { text: 'x'.repeat(2_000) },
    });
  }
  for (
    let tries = 0;
    (await client.get('/apis/hostile.example.com/v1/namespaces/hostile/victims')).status !== 200;
    tries++
  ) {
    if (tries === 100) throw new Error('the definition of the victims was not established');
    await new Promise((done) => setTimeout(done, 100));
  }
}

/** Reads one small object again and again during the attack. */
async function read({ reader, pid }: Target): Promise<Pick<Took, 'waitsMs' | 'megabytes'>> {
  const waitsMs: number[] = [];
  let own = 0;
  const untilMs = performance.now() + attackMs;
  while (performance.now() < untilMs) {
    const startMs = performance.now();
    const { status } = await reader.get(`${namespace}/configmaps/small-1`);
    // A refused read is not served: it counts as a read without an end.
    waitsMs.push(status === 200 ? performance.now() - startMs : attackMs);
    if (waitsMs.length % 20 === 1) own = Math.max(own, memoryOf(pid).own);
    await new Promise((done) => setTimeout(done, everyMs));
  }
  return { waitsMs, megabytes: own / 1e6 };
}

async function sessionEnds(nodes: LocalNodes): Promise<number> {
  let ends = 0;
  for (const context of ['node/center', 'node/eu']) {
    const client = new TargetClient(credentialsOf(nodes.kubeconfig, context));
    const { text } = await client.get('/metrics');
    client.close();
    for (const [, value] of text.matchAll(/^banyan_session_ends_total(?:\{[^}]*\})? (\d+)$/gm)) ends += Number(value);
  }
  return ends;
}
