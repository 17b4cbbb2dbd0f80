/**
 * The API of a center beside kube-apiserver with etcd, and beside node:https with the same bytes in memory. One process sends the load. The servers take
 * turns, so that other work on the machine affects all of them. Center and kube-apiserver answer a write when the write is on the disk.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Topology } from '../../center/topology/topology.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import {
  type Ask,
  createIn,
  large,
  largeObjects,
  pageObjects,
  prepare,
  rateOf,
  rawTarget,
  single,
  small,
  smallObjects,
  targetOf,
  watched,
} from './api-targets.ts';
import { bundledPrograms } from './bundled.ts';
import type { BenchPorts, Figure } from './figure.ts';
import { credentialsOf } from './hostile-target.ts';
import { LocalNodes } from './local-nodes.ts';
import { median } from './measure.ts';
import { memoryOf } from './memory.ts';
import type { Scratch } from './scratch.ts';

const rounds = 5;
const starts = 3;
const clients = 32;
const restMs = 30_000;

const topology: Topology = {
  name: 'bench',
  center: { labels: {}, spaces: [{ name: 'bench', type: 'Workload' }] },
  relays: [],
  clusters: [],
};

/** The servers, in the order of their turns. `raw` answers from memory. */
const servers = ['own', 'peer', 'raw'] as const;
type Server = (typeof servers)[number];

interface Measurement {
  readonly name: string;
  /** The least rate over the rate of kube-apiserver. */
  readonly goal: number;
  /** Returns how many of them the server does in a second. */
  measure(ask: Ask, round: number): Promise<number>;
}

const creates: readonly Measurement[] = [
  {
    name: `creates, ${clients} clients`,
    goal: 3,
    measure: (ask, round) => rateOf(ask, createIn(large, `r${round}-#`), { clients, count: largeObjects / rounds }),
  },
  {
    name: 'creates, one client',
    goal: 1.5,
    measure: (ask, round) => rateOf(ask, createIn(single, `r${round}-#`), { clients: 1, count: 300 }),
  },
];

const reads: readonly Measurement[] = [
  {
    name: `gets, ${clients} clients`,
    goal: 4,
    measure: (ask) => rateOf(ask, { method: 'GET', path: `${small}/small-#` }, { clients, count: smallObjects }),
  },
  listsOf(smallObjects, small, 20),
  listsOf(largeObjects, large, 4),
  {
    name: `pages of ${pageObjects} of ${largeObjects}`,
    goal: 3,
    measure: async (ask) =>
      perSecond(await ask({ type: 'pages', path: large, limit: pageObjects, pages: largeObjects / pageObjects })),
  },
  changesTo(200),
  changesTo(1_000),
];

export async function bench({ scratch, progress }: BenchPorts): Promise<Figure[]> {
  const { nodes, plane, cold } = await started(scratch, progress);
  const load = scratch.fork(new URL('api-load.ts', import.meta.url));
  const own = targetOf(load, credentialsOf(nodes.kubeconfig, 'space/center/bench'));
  const peer = targetOf(load, credentialsOf(plane.kubeconfig, 'cluster'));
  for (const target of [own, peer]) await prepare(target, clients);
  const raw = await rawTarget(scratch, load, own);
  const figures: Figure[] = [];
  for (const measurements of [creates, reads]) {
    await raw.learn();
    figures.push(...(await compared(measurements, { own: own.ask, peer: peer.ask, raw: raw.ask }, progress)));
  }
  const resident = () => ({
    own: memoryOf(nodes.pid('')).resident / 1e6,
    peer: (memoryOf(plane.pid('kube-apiserver')).resident + memoryOf(plane.pid('etcd')).resident) / 1e6,
  });
  const after = resident();
  progress(`waiting for ${restMs / 1_000} s`);
  await delay(restMs);
  const half = { of: 'ratio', is: '≤', bound: 0.5 } as const;
  return [
    ...figures,
    besidePeer('resident memory after the run', 'MB', after, half),
    besidePeer('resident memory half a minute later', 'MB', resident(), half),
    besidePeer('cold start', 'ms', cold, { of: 'ratio', is: '≤', bound: 0.2 }),
  ];
}

/** Starts both servers several times in empty directories. The last ones serve the measurements. `cold`: the medians of all starts. */
async function started(scratch: Scratch, progress: BenchPorts['progress']) {
  const programOf = bundledPrograms(scratch);
  const tookMs = { own: [] as number[], peer: [] as number[] };
  for (let i = 1; ; i++) {
    progress(`cold start ${i} of ${starts}`);
    const nodes = scratch.use(await LocalNodes.start(scratch.directory(), topology, () => true, programOf));
    const components = ['etcd', 'kube-apiserver'] as const;
    const plane = scratch.use(await ControlPlane.start({ directory: scratch.directory(), components, durable: true }));
    tookMs.own.push(nodes.tookMs);
    tookMs.peer.push(plane.tookMs);
    if (i === starts) return { nodes, plane, cold: { own: median(tookMs.own), peer: median(tookMs.peer) } };
    await nodes[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  }
}

async function compared(
  measurements: readonly Measurement[],
  targets: Readonly<Record<Server, Ask>>,
  progress: BenchPorts['progress'],
): Promise<Figure[]> {
  const rates = measurements.map(() => ({ own: [] as number[], peer: [] as number[], raw: [] as number[] }));
  for (let round = 0; round < rounds; round++) {
    for (const [i, { name, measure }] of measurements.entries()) {
      for (const server of servers) rates[i]![server].push(await measure(targets[server], round));
      const line = servers.map((server) => `${server} ${rates[i]![server].at(-1)!.toFixed(1)}`).join(', ');
      progress(`round ${round + 1} of ${rounds}, ${name}: ${line} /s`);
    }
  }
  return measurements.flatMap(({ name, goal }, i) => {
    const [own, peer, raw] = servers.map((server) => median(rates[i]![server])) as [number, number, number];
    return [
      besidePeer(name, '/s', { own, peer }, { of: 'ratio', is: '≥', bound: goal }),
      {
        name: '…',
        value: own,
        unit: '/s',
        baseline: { name: 'from memory', value: raw },
        goal: { of: 'ratio', is: '≥', bound: 0.5 },
      },
    ];
  });
}

function besidePeer(
  name: string,
  unit: string,
  { own, peer }: Readonly<Record<'own' | 'peer', number>>,
  goal: NonNullable<Figure['goal']>,
): Figure {
  return { name, value: own, unit, baseline: { name: 'kube-apiserver', value: peer }, goal };
}

function listsOf(objects: number, path: string, times: number): Measurement {
  return {
    name: `lists of ${objects}`,
    goal: 2,
    measure: async (ask) => perSecond(await ask({ type: 'reads', path, times })),
  };
}

function changesTo(watchers: number): Measurement {
  return {
    name: `one change to ${watchers} watchers`,
    goal: 1.5,
    measure: async (ask) =>
      perSecond(await ask({ type: 'changes', watchers, watched, changed: `${watched}/watched-0`, times: 10 })),
  };
}

/** The rate of requests that come one after the other. */
function perSecond(tookMs: readonly number[]): number {
  return 1_000 / median(tookMs);
}
