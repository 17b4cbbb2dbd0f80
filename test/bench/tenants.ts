/**
 * One tenant at full load beside another: 32 connections write objects of 2 KB into one space as fast as they can. Meanwhile one client of another space reads and
 * writes, one request after the other. Baseline: the same client while the load pauses. Both alternate, so that other work on the machine affects both.
 */
import type { Topology } from '../../center/topology/topology.ts';
import type { BenchPorts, Figure } from './figure.ts';
import type { HostileQuestion, Statuses } from './hostile-client.ts';
import { credentialsOf, TargetClient } from './hostile-target.ts';
import { LocalNodes } from './local-nodes.ts';
import { percentile } from './measure.ts';
import { ask } from './scratch.ts';

const connections = 32;
const rounds = 5;
const requests = 100;
const load = 'writes as fast as they go';
const objects = 50;

const topology: Topology = {
  name: 'bench',
  center: {
    labels: {},
    spaces: [
      { name: 'loud', type: 'Workload' },
      { name: 'quiet', type: 'Workload' },
    ],
  },
  relays: [],
  clusters: [],
};

export async function bench({ scratch, progress }: BenchPorts): Promise<Figure[]> {
  progress('starting a center with two spaces');
  const nodes = scratch.use(await LocalNodes.start(scratch.directory(), topology, () => true));
  const clientOf = async (space: string) => {
    const client = new TargetClient(credentialsOf(nodes.kubeconfig, `space/center/${space}`));
    scratch.use({ [Symbol.asyncDispose]: async () => client.close() });
    await client.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'hostile' } });
    for (let i = 0; i < objects; i++) await client.create(configMaps, configMap(`small-${i}`));
    return client;
  };
  await clientOf('loud');
  const quiet = await clientOf('quiet');
  const loud = scratch.fork(new URL('hostile-client.ts', import.meta.url));
  const ms = {
    read: { idle: [] as number[], busy: [] as number[] },
    write: { idle: [] as number[], busy: [] as number[] },
  };
  let written = 0;
  for (let round = 0; round <= rounds; round++) {
    progress(round === 0 ? 'warm-up' : `round ${round} of ${rounds}`);
    const idle = await measured(quiet, round);
    await ask(loud, {
      type: 'start',
      kubeconfig: nodes.kubeconfig,
      context: 'space/center/loud',
      attack: load,
      connections,
    } satisfies HostileQuestion);
    const busy = await measured(quiet, round);
    const statuses = await ask<Statuses>(loud, { type: 'stop' } satisfies HostileQuestion);
    if (round === 0) continue;
    written += statuses[200] ?? 0;
    for (const kind of ['read', 'write'] as const) {
      ms[kind].idle.push(...idle[kind]);
      ms[kind].busy.push(...busy[kind]);
    }
  }
  const figure = (of: 'read' | 'write', fraction: number, goal?: Figure['goal']): Figure => ({
    name: `${of} beside the load, p${fraction * 100}`,
    value: percentile(ms[of].busy, fraction),
    unit: 'ms',
    baseline: { name: 'without the load', value: percentile(ms[of].idle, fraction) },
    ...(goal ? { goal } : {}),
  });
  const twice = { of: 'ratio', is: '≤', bound: 2 } as const;
  return [
    figure('read', 0.5, twice),
    figure('read', 0.99),
    figure('write', 0.5, twice),
    figure('write', 0.99),
    { name: 'writes of the load', value: written, unit: '' },
  ];
}

const configMaps = '/api/v1/namespaces/hostile/configmaps';

function configMap(name: string, text = 'x'.repeat(2_000)): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'hostile' }, data: { text } };
}

async function measured(client: TargetClient, round: number): Promise<{ read: number[]; write: number[] }> {
  const ms = { read: [] as number[], write: [] as number[] };
  for (let i = 0; i < requests; i++) {
    const startMs = performance.now();
    await client.get(`${configMaps}/small-${i % objects}`);
    const readMs = performance.now();
    await client.create(configMaps, configMap(`new-${round}-${i}-${startMs.toString(36).replace('.', '-')}`));
    ms.read.push(readMs - startMs);
    ms.write.push(performance.now() - readMs);
  }
  return ms;
}
