/**
 * 3,000 simulated clusters of 45 objects each; every object changes its state at once: the time until the center's StatusSummary, and the built-in summary of
 * the placement, are exact again. Everything is in this process: a center, 3 relays, 10 relays below each, 100 agents below each of these. The nodes are
 * those of the product except for sessions, API and inventory (test/support/gather-node.ts): each has its LMDB store, its feeds, its scheduler and its
 * gather, and a parent takes only flushed entries from a child. The agents are rows in their parent: their reports are put there as their sessions would,
 * with the checks of a session, one batch for each agent.
 *
 * Also measured: the merges of one change among 1,000 children, for agents with 45 objects each and for relays.
 */
import { systemClock } from '../../core/runtime/clock.ts';
import { silentLogger } from '../../core/runtime/logger.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { LmdbStore } from '../../core/store/lmdb/lmdb-store.ts';
import type { Summarizer } from '../../core/summary/summarizer.ts';
import { compileSummarizer } from '../../core/summary/summarizer.ts';
import type { UserPartial } from '../../core/summary/user-partial.ts';
import { UserSummary } from '../../relay/gather/summaries/user-summary.ts';
import { GatherNode, state } from '../support/gather-node.ts';
import type { BenchPorts, Figure } from './figure.ts';
import { median } from './measure.ts';

const regions = 3;
const relaysPerRegion = 10;
const agentsPerRelay = 100;
const clusters = regions * relaysPerRegion * agentsPerRelay;
const objects = 45;
const rounds = 3;
const labels = { env: 'prod' };

const summarizer = {
  groupBy: [{ name: 'image', def: 'obj.spec.template.spec.containers[0].image' }],
  combinedFields: [
    { name: 'rows', type: 'COUNT' },
    { name: 'replicas', type: 'SUM', subject: 'returned.status.readyReplicas' },
    { name: 'most', type: 'MAX', subject: 'returned.status.readyReplicas' },
    { name: 'p99', type: 'P99', subject: 'returned.status.readyReplicas' },
  ],
} as const;

export async function bench({ scratch, progress }: BenchPorts): Promise<Figure[]> {
  const tree = new Tree((path) => {
    const store = LmdbStore.open({ directory: scratch.directory() }, silentLogger);
    const node = new GatherNode(path, { store, clock: systemClock, random: systemRandom, defer: setImmediate });
    scratch.use({
      async [Symbol.asyncDispose]() {
        node.stop();
        await store[Symbol.asyncDispose]();
      },
    });
    return node;
  });
  progress(`placing ${objects} objects at ${clusters} clusters`);
  await tree.place();
  const reported: number[] = [];
  const exact: number[] = [];
  const builtIn: number[] = [];
  // The first round makes every row, the others change them.
  for (let round = 0; round <= rounds; round++) {
    progress(round === 0 ? 'every cluster reports for the first time' : `round ${round} of ${rounds}`);
    const times = await tree.change(round + 1);
    if (round === 0) continue;
    reported.push(times.reportedMs / 1_000);
    exact.push(times.exactMs / 1_000);
    builtIn.push(times.builtInMs / 1_000);
  }
  const { agents, relays } = merges();
  const figure = (name: string, value: number, unit: string, bound?: number): Figure => ({
    name,
    value,
    unit,
    ...(bound === undefined ? {} : { goal: { of: 'value', is: '≤', bound } }),
  });
  return [
    figure(`${clusters * objects} states taken by their parents`, median(reported), 's'),
    figure("the center's StatusSummary is exact", median(exact), 's', 30),
    figure("the center's built-in summary is exact", median(builtIn), 's', 30),
    figure(
      'merges of a change among 1,000 agents of 45 objects',
      agents,
      'merges',
      Math.floor(Math.log2(1_000 * objects) + 1),
    ),
    figure('merges of a change among 1,000 relays', relays, 'merges', Math.floor(Math.log2(1_000) + 1)),
  ];
}

class Tree {
  readonly #center: GatherNode;
  readonly #regions: GatherNode[] = [];
  readonly #leaves: GatherNode[] = [];

  constructor(make: (path: string) => GatherNode) {
    this.#center = make('');
    for (let i = 0; i < regions; i++) {
      const region = make(`r${i}`);
      this.#regions.push(region);
      this.#center.relay(`r${i}`, region, relaysPerRegion * agentsPerRelay, labels);
      for (let j = 0; j < relaysPerRegion; j++) {
        const relay = make(`r${i}:s${j}`);
        this.#leaves.push(relay);
        region.relay(`s${j}`, relay, agentsPerRelay, labels);
        for (let k = 0; k < agentsPerRelay; k++) relay.agent(`a${k}`, labels);
      }
    }
    for (const node of this.#all()) node.start();
  }

  async place(): Promise<void> {
    const { space } = this.#center;
    const apiVersion = 'edge.banyan.io/v1alpha1';
    space.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
    space.create({ apiVersion, kind: 'StatusSummarizer', metadata: { name: 'images' }, spec: summarizer });
    for (let i = 0; i < objects; i++) space.create(deployment(i));
    const item = { apiGroup: 'apps', resources: ['deployments'], namespaces: ['shop'], statusSummarizers: ['images'] };
    const spec = { locationSelectors: [{ matchLabels: labels }], downsync: [item] };
    space.create({ apiVersion, kind: 'EdgePlacement', metadata: { name: 'shop' }, spec });
    await this.#center.down();
  }

  /** Every object of every cluster reports `readyReplicas: round`, and every cluster is available in even rounds. */
  async change(round: number): Promise<{ reportedMs: number; exactMs: number; builtInMs: number }> {
    const startMs = performance.now();
    const elapsedMs = () => performance.now() - startMs;
    const available = round % 2 === 0;
    let builtInMs: number | undefined;
    let exactMs: number | undefined;
    const look = () => {
      if (builtInMs === undefined && this.#available() === (available ? clusters : 0)) builtInMs = elapsedMs();
      if (exactMs === undefined && this.#isExact(round)) exactMs = elapsedMs();
    };
    let reportedMs: number | undefined;
    const agents = this.#report(round, available);
    while (exactMs === undefined || builtInMs === undefined) {
      // A tenth of a relay's agents, then other work has its turn, as between batches of sessions.
      let done: boolean | undefined = false;
      for (let i = 0; i < 10 && !done; i++) done = agents.next().done;
      if (done) reportedMs ??= elapsedMs();
      await this.#pump();
      look();
    }
    return { reportedMs: reportedMs ?? elapsedMs(), exactMs, builtInMs };
  }

  *#report(round: number, available: boolean): Generator<void> {
    for (const relay of this.#leaves) {
      for (let k = 0; k < agentsPerRelay; k++) {
        const entries = Array.from({ length: objects }, (_, i) =>
          state(keyOf(i), { available }, { observedGeneration: 1, replicas: round, readyReplicas: round }),
        );
        relay.report(`a${k}`, [...entries, relay.partial(available)], round);
        yield;
      }
    }
  }

  async #pump(): Promise<void> {
    await new Promise<void>((done) => setImmediate(done));
    for (const region of this.#regions) await region.up();
    await this.#center.up();
  }

  #available(): number | undefined {
    const key = { group: 'edge.banyan.io', resource: 'edgeplacements', namespace: '', name: 'shop' };
    const placement = this.#center.space.get(key) as { status?: { summary?: { available: number; fresh: number } } };
    const { available, fresh } = placement.status?.summary ?? {};
    return fresh === clusters ? available : undefined;
  }

  #isExact(round: number): boolean {
    const key = { group: 'edge.banyan.io', resource: 'statussummaries', namespace: '', name: 'shop.images' };
    const summary = this.#center.space.get(key) as { total: number; rows: { columns: unknown[] }[] } | undefined;
    const perImage = (clusters * objects) / images;
    return (
      summary?.total === clusters * objects &&
      summary.rows.length === images &&
      summary.rows.every(({ columns: [, rows, replicas, most] }) => {
        return rows === perImage && replicas === perImage * round && most === round;
      })
    );
  }

  *#all(): Generator<GatherNode> {
    yield this.#center;
    yield* this.#regions;
    yield* this.#leaves;
  }
}

/** Of 45 objects. */
const images = 9;

function keyOf(i: number) {
  return { group: 'apps', resource: 'deployments', namespace: 'shop', name: `web-${i}` };
}

function deployment(i: number) {
  const template = {
    metadata: { labels: { app: `web-${i}` } },
    spec: { containers: [{ name: 'web', image: `registry.example.com/web-${i % images}:1.0` }] },
  };
  const metadata = { name: `web-${i}`, namespace: 'shop' };
  const spec = { replicas: 2, selector: { matchLabels: { app: `web-${i}` } }, template };
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec };
}

function merges(): { agents: number; relays: number } {
  const of = compileSummarizer({ combinedFields: [{ name: 'n', type: 'COUNT', k: 10 }], maxGroups: 1000, limit: 20 });
  const one = { ...of.empty, rows: 1 };
  const children = Array.from({ length: 1_000 }, (_, i) => `child-${i}`);
  const agents = mergesOf(
    of,
    (summary) => {
      for (const child of children) for (let i = 0; i < objects; i++) summary.setRow(child, `object-${i}`, one);
    },
    (summary) => summary.setRow('child-500', 'object-7', { ...one, rows: 2 }),
  );
  const relays = mergesOf(
    of,
    (summary) => {
      for (const child of children) summary.setRelay(child, one);
    },
    (summary) => summary.setRelay('child-500', { ...one, rows: 2 } satisfies UserPartial),
  );
  return { agents, relays };
}

function mergesOf(
  of: Summarizer,
  fill: (summary: UserSummary) => void,
  change: (summary: UserSummary) => void,
): number {
  const summary = new UserSummary(of);
  fill(summary);
  summary.total(() => 0);
  const before = summary.merges;
  change(summary);
  summary.total(() => 0);
  return summary.merges - before;
}
