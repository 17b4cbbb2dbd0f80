/**
 * A write at the center until an agent has it on its disk, over one to four hops: real processes of center and relays in a chain, and one child at each of
 * them, also a process of its own, with one clock. Writes come one after the other. The same rounds measure a round trip of raw gRPC with as many bytes, and
 * a put of raw lmdb until it is flushed.
 */
import { NodeApiClient } from '../../center/cli/api-client.ts';
import type { Topology } from '../../center/topology/topology.ts';
import { childPath } from '../../core/identity/node-path.ts';
import { setHeapFlags } from '../../relay/process/heap-flags.ts';
import type { BulkRequest } from './bulk-client.ts';
import type { BenchPorts, Figure } from './figure.ts';
import type { Arrived, EndRequest } from './latency-end.ts';
import { clusterOf, LocalNodes, relayOf } from './local-nodes.ts';
import { machineMs, percentileOfBlocks, timed } from './measure.ts';
import { ownFlush, rawFlush, rawRoundTrip } from './raw-limits.ts';
import { ask, endProcess, type Scratch } from './scratch.ts';

const space = 'space/center/retail';
/** Five blocks: a block that the machine disturbs does not decide the figure. */
const rounds = 500;
/** Writes beside the judged load: a full collection in two of a hundred writes decides a block, and happens in some blocks and not in others. */
const judgedRounds = 1_000;
const blockRounds = 100;
const warmUpRounds = 30;
const bodyBytes = 2_048;
const arrivesWithinMs = 30_000;

/** The place of the child at this number of hops from the center, and of its parent. */
const places = [
  { hops: 1, parent: '', child: 'one' },
  { hops: 2, parent: 'a', child: 'two' },
  { hops: 3, parent: 'a:b', child: 'three' },
  { hops: 4, parent: 'a:b:c', child: 'four' },
] as const;

const topology: Topology = {
  name: 'bench',
  center: { labels: {}, spaces: [{ name: 'retail', type: 'Workload' }] },
  relays: [relayOf('', 'a'), relayOf('a', 'b'), relayOf('a:b', 'c')],
  clusters: places.map(({ parent, child }) => clusterOf(parent, child, { child })),
};

interface Took {
  readonly fromSentMs: number[];
  readonly fromAcceptedMs: number[];
}

export async function bench({ scratch, progress }: BenchPorts): Promise<Figure[]> {
  // Collections of this process, which writes, would be in every figure.
  setHeapFlags();
  progress('starting a center and three relays');
  const nodes = scratch.use(await LocalNodes.start(scratch.directory(), topology, ({ role }) => role !== 'agent'));
  const api = new NodeApiClient(nodes.kubeconfig);
  scratch.use({ [Symbol.asyncDispose]: async () => api.close() });
  const roundTrip = await rawRoundTrip(scratch, bodyBytes);
  const flush = rawFlush(scratch, bodyBytes);
  const storeFlush = ownFlush(scratch, bodyBytes);
  const ends = await Promise.all(places.map((place) => openEnd(scratch, nodes, place)));
  for (const end of ends) await place(api, end.child);
  const took = ends.map((): Took => ({ fromSentMs: [], fromAcceptedMs: [] }));
  const raw = { roundTripMs: [] as number[], flushMs: [] as number[], storeFlushMs: [] as number[] };
  for (let round = 1; round <= warmUpRounds + rounds; round++) {
    if (round % 50 === 0) progress(`round ${round} of ${warmUpRounds + rounds}`);
    const counts = round > warmUpRounds;
    const roundTripMs = await timed(roundTrip);
    const flushMs = await timed(flush);
    const storeFlushMs = await timed(storeFlush);
    if (counts) {
      raw.roundTripMs.push(roundTripMs);
      raw.flushMs.push(flushMs);
      raw.storeFlushMs.push(storeFlushMs);
    }
    for (const [i, end] of ends.entries()) {
      const { sentMs, acceptedMs, storedMs } = await writeOnce(api, end, round);
      if (!counts) continue;
      took[i]!.fromSentMs.push(storedMs - sentMs);
      took[i]!.fromAcceptedMs.push(storedMs - acceptedMs);
    }
  }
  progress('the same beside as much as the center takes');
  let round = warmUpRounds + rounds;
  const beside = async (count: number, perSecond?: number): Promise<Loaded> => {
    const clients = scratch.fork(new URL('bulk-client.ts', import.meta.url));
    const askClients = (request: BulkRequest) => ask<number>(clients, request);
    const pace = perSecond === undefined ? {} : { perSecond };
    await askClients({ type: 'start', kubeconfig: nodes.kubeconfig, space, ...pace });
    const tookMs = ends.map((): number[] => []);
    const [startMs, before] = [machineMs(), await askClients({ type: 'written' })];
    for (let i = 1; i <= count; i++) {
      if (i % 50 === 0) progress(`round ${i} of ${count}`);
      round++;
      for (const [at, end] of ends.entries()) {
        const { acceptedMs, storedMs } = await writeOnce(api, end, round);
        tookMs[at]!.push(storedMs - acceptedMs);
      }
    }
    const written = await askClients({ type: 'written' });
    const bulkPerSecond = ((written - before) * 1_000) / (machineMs() - startMs);
    await askClients({ type: 'stop' });
    await endProcess(clients, 'SIGTERM');
    return { tookMs, bulkPerSecond };
  };
  const most = await beside(rounds);
  progress('the same beside half of that');
  const half = await beside(judgedRounds, most.bulkPerSecond / 2);
  return [
    ...figuresOf(took, raw),
    ...loadedFigures(took, 'all that it takes', most),
    ...loadedFigures(took, 'half of it', half, 3),
  ];
}

interface Loaded {
  readonly tookMs: readonly number[][];
  readonly bulkPerSecond: number;
}

/** Over the same without other work. */
function loadedFigures(
  took: readonly Took[],
  load: string,
  { tookMs, bulkPerSecond }: Loaded,
  bound?: number,
): Figure[] {
  return [
    { name: `bulk to all children, ${load}`, value: bulkPerSecond, unit: 'objects/s' },
    ...tookMs.flatMap((values, i): Figure[] => {
      const hops = `${i + 1} ${i === 0 ? 'hop' : 'hops'}`;
      const idle = took[i]!.fromAcceptedMs;
      const of = (shown: string, fraction: number) => ({
        name: `${hops} beside ${load}, ${shown}`,
        value: percentileOfBlocks(values, fraction, blockRounds),
        unit: 'ms',
        baseline: { name: 'idle', value: percentileOfBlocks(idle, fraction, blockRounds) },
      });
      const p99 = of('p99', 0.99);
      return [of('p50', 0.5), bound === undefined ? p99 : { ...p99, goal: { of: 'ratio', is: '≤', bound } }];
    }),
  ];
}

function figuresOf(took: readonly Took[], raw: Record<'roundTripMs' | 'flushMs' | 'storeFlushMs', number[]>): Figure[] {
  const p50 = (values: readonly number[]) => percentileOfBlocks(values, 0.5, blockRounds);
  const p99 = (values: readonly number[]) => percentileOfBlocks(values, 0.99, blockRounds);
  const perHopMs = (of: typeof p50) => 3 * of(raw.roundTripMs) + of(raw.flushMs);
  const budget = (hops: number, of: typeof p50) => ({
    name: 'of 3 round trips + flush a hop',
    value: hops * perHopMs(of),
  });
  return [
    { name: 'raw gRPC round trip, p50', value: p50(raw.roundTripMs), unit: 'ms' },
    { name: 'raw gRPC round trip, p99', value: p99(raw.roundTripMs), unit: 'ms' },
    ...(
      [
        ['p50', p50],
        ['p99', p99],
      ] as const
    ).map(([shown, of]) => ({
      name: `store write and flush, ${shown}`,
      value: of(raw.storeFlushMs),
      unit: 'ms',
      baseline: { name: 'raw lmdb', value: of(raw.flushMs) },
    })),
    ...took.flatMap(({ fromSentMs, fromAcceptedMs }, i): Figure[] => {
      const hops = i + 1;
      const shown = `${hops} ${hops === 1 ? 'hop' : 'hops'}`;
      return [
        { name: `${shown}, sent to stored, p50`, value: p50(fromSentMs), unit: 'ms' },
        { name: `${shown}, sent to stored, p99`, value: p99(fromSentMs), unit: 'ms' },
        {
          name: `${shown}, accepted to stored, p50`,
          value: p50(fromAcceptedMs),
          unit: 'ms',
          baseline: budget(hops, p50),
        },
        {
          name: `${shown}, accepted to stored, p99`,
          value: p99(fromAcceptedMs),
          unit: 'ms',
          baseline: budget(hops, p99),
          goal: { of: 'ratio', is: '≤', bound: 1 },
        },
      ];
    }),
  ];
}

// --------------------------------------------------------------------------------------------------------- the mesh

interface End {
  readonly child: string;
  /** The time at which the write of this round was durable there; resolves only when its target has arrived too, and the line is idle again. */
  stored(round: number): Promise<number>;
}

/** An agent's place with a store on the disk. */
async function openEnd(scratch: Scratch, nodes: LocalNodes, { parent, child }: (typeof places)[number]): Promise<End> {
  const path = childPath(parent, child);
  const request: EndRequest = {
    directory: scratch.directory(),
    path,
    child,
    parent: { address: nodes.meshAddress(parent), path: parent },
    credentials: nodes.credentials(path),
  };
  const end = scratch.fork(new URL('latency-end.ts', import.meta.url));
  await ask(end, request);
  return {
    child,
    stored(round) {
      return new Promise((resolve, reject) => {
        const late = setTimeout(() => reject(new Error(`round ${round} did not arrive at ${path}`)), arrivesWithinMs);
        const look = (arrived: Arrived) => {
          if (arrived.round !== round || arrived.target < arrived.revision) return;
          clearTimeout(late);
          end.off('message', look);
          resolve(arrived.atMs);
        };
        end.on('message', look);
      });
    },
  };
}

/** A namespace and a placement for one child alone. */
async function place(api: NodeApiClient, child: string): Promise<void> {
  await api.apply(space, `/api/v1/namespaces/${child}`, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: child },
  });
  await api.apply(space, `/apis/edge.banyan.io/v1alpha1/edgeplacements/${child}`, {
    apiVersion: 'edge.banyan.io/v1alpha1',
    kind: 'EdgePlacement',
    metadata: { name: child },
    spec: {
      locationSelectors: [{ matchLabels: { child } }],
      downsync: [{ apiGroup: '', resources: ['configmaps'], namespaces: [child] }],
    },
  });
}

async function writeOnce(api: NodeApiClient, end: End, round: number) {
  const stored = end.stored(round);
  const sentMs = machineMs();
  await api.apply(space, `/api/v1/namespaces/${end.child}/configmaps/bench`, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'bench', namespace: end.child },
    data: { round: String(round), filler: 'x'.repeat(bodyBytes) },
  });
  const acceptedMs = machineMs();
  return { sentMs, acceptedMs, storedMs: await stored };
}
