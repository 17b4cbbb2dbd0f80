/**
 * Customization: evaluations without a cache, and one Deployment on its way into the mailboxes of 1,000 agents with three distinct values of what it
 * reads, through the scheduler and an LMDB store; over the same Deployment without customization. Then one annotation of one Location, with 45
 * customized objects at each of the agents.
 */

import { builtinKinds } from '../../core/apiserver/builtin/builtin-kinds.ts';
import { compileCustomizer } from '../../core/customize/compile.ts';
import type { CustomizerSpec, DestinationFacts } from '../../core/customize/customizer.ts';
import { Recorder } from '../../core/customize/reads.ts';
import { render } from '../../core/customize/render.ts';
import { LocalTable } from '../../core/feed/table.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { silentLogger } from '../../core/runtime/logger.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { text } from '../../core/store/bytes.ts';
import { LmdbStore } from '../../core/store/lmdb/lmdb-store.ts';
import type { Transaction } from '../../core/store/store.ts';
import type { Child } from '../../relay/children/children.ts';
import { Customization } from '../../relay/customize/customization.ts';
import { Mailboxes } from '../../relay/mailbox/mailboxes.ts';
import { Placements } from '../../relay/placements/placements.ts';
import { Scheduler } from '../../relay/schedule/schedule.ts';
import { noteSourceChange } from '../../relay/schedule/source-changes.ts';
import { markDirty } from '../../relay/work/dirty.ts';
import { noGuard } from '../support/no-guard.ts';
import { openPassage } from '../support/open-passage.ts';
import { noReleases } from '../unit/relay/support/no-releases.ts';
import type { BenchPorts, Figure } from './figure.ts';
import { median } from './measure.ts';

const agents = 1_000;
const objectsPerAgent = 45;
const evaluationRounds = 2_000;
const rounds = 9;
const source = 'center.retail';
const storeNames = ['Rivoli', 'Mitte', 'Market'];

const spec: CustomizerSpec = {
  rules: [
    {
      when: 'has(location.metadata.labels.env) && location.metadata.labels.env == "prod"',
      target: { kind: 'Deployment' },
      patch: [
        { op: 'replace', path: '/spec/replicas', value: '${{ int(properties.tills) }}' },
        {
          merge: {
            spec: { template: { spec: { containers: [{ name: 'till', env: [{ name: 'TIER', value: 'prod' }] }] } } },
          },
        },
      ],
    },
  ],
  replacements: [
    {
      path: "$.metadata.annotations['shop.example.com/store']",
      value: 'Store ${{ location.metadata.annotations["store-name"] }}',
    },
  ],
};

export async function bench({ scratch, progress }: BenchPorts): Promise<Figure[]> {
  progress('evaluations without a cache');
  const evaluationsPerSecond = median(Array.from({ length: rounds }, measureEvaluations));
  const bench = new Bench(LmdbStore.open({ directory: scratch.directory() }, silentLogger));
  scratch.use(bench.store);
  progress(`one object to ${agents} agents`);
  const rendered: number[] = [];
  const shared: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const plain = bench.ship(`plain-${round}`, round, false);
    const customized = bench.ship(`customized-${round}`, round, true);
    if (round === 0) continue;
    shared.push(agents / plain);
    rendered.push(agents / customized);
  }
  const { evaluations, hits } = bench;
  progress(`${objectsPerAgent} objects to ${agents} agents`);
  for (let i = 0; i < objectsPerAgent; i++) bench.ship(`more-${i}`, 100 + i, true);
  const before = bench.evaluations;
  const changes = Array.from({ length: 100 }, (_, i) => bench.rename(`store-${i}`, `Renamed ${i}`) * 1000);
  const objects = rounds + 1 + objectsPerAgent;
  return [
    { name: 'evaluations of one Deployment', unit: 'evaluations/s', value: evaluationsPerSecond },
    {
      name: `mailboxes, three values in ${agents}`,
      unit: 'renders/s',
      value: median(rendered),
      baseline: { name: 'shared', value: median(shared) },
    },
    {
      name: 'of these not evaluated',
      unit: '%',
      value: (100 * hits) / (hits + evaluations),
      goal: { of: 'value', is: '≥', bound: (100 * (agents - storeNames.length)) / agents },
    },
    { name: `one Location changed, ${objects} objects read it`, unit: 'ms', value: median(changes) },
    { name: `start with ${agents * objects} customized rows`, unit: 'ms', value: bench.start() },
    {
      name: 'evaluations for an object that read it',
      unit: 'evaluations',
      value: (bench.evaluations - before) / changes.length / objects,
      goal: { of: 'value', is: '≤', bound: 1 },
    },
  ];
}

function measureEvaluations(): number {
  const compilation = compileCustomizer(spec);
  if (compilation.causes) throw new Error(compilation.causes[0].message);
  const object = deployment('till', 0);
  const input = {
    object,
    characters: JSON.stringify(object).length,
    customizers: [{ name: 'shop/till', compiled: compilation.customizer }],
    expands: false,
    kind: builtinKinds().find(({ kind }) => kind === 'Deployment'),
  };
  const startedMs = performance.now();
  for (let i = 0; i < evaluationRounds; i++) {
    const { outcome } = render(input, new Recorder(factsOf(`store-${i}`, `Store ${i}`)));
    if ('failure' in outcome) throw new Error(outcome.failure.message);
  }
  return (1000 * evaluationRounds) / (performance.now() - startedMs);
}

/** A relay's way down, with agents whose mailboxes nobody reads. */
class Bench {
  readonly store: LmdbStore;
  readonly #table: LocalTable;
  readonly #mailboxes: Mailboxes;
  readonly #children = new Map<string, Child>();
  readonly #placements = new Placements();
  readonly #scheduler: Scheduler;
  readonly #customization: Customization;
  #revision = 1;
  evaluations = 0;
  hits = 0;

  constructor(store: LmdbStore) {
    this.store = store;
    this.#table = store.write((t) => LocalTable.open(t, `source/${source}`));
    this.#mailboxes = new Mailboxes(store, systemRandom, 'boot', '');
    this.#customization = this.#newCustomization();
    this.#scheduler = new Scheduler({
      tableOf: () => this.#table,
      mailboxOf: (child) => this.#mailboxes.get(child)?.producer,
      children: this.#children,
      placements: this.#placements,
      passage: openPassage,
      covered: () => ({}),
      guard: noGuard,
      releases: noReleases,
      stages: [this.#customization],
      refreshChild: (t, name) => {
        this.#mailboxes.ensure(t, name, 'agent');
        this.#customization.childChanged(t, name, true);
        return true;
      },
      askedChanged: () => undefined,
      auxiliaryChanged: (t, from, key) => this.#customization.auxiliaryChanged(t, from, key),
    });
    this.#setUp();
  }

  /** Seconds until an object is in every mailbox. */
  ship(name: string, content: number, customized: boolean): number {
    const attributes = { refs: ['all'], ...(customized ? { customizers: ['shop/till'] } : {}) };
    const body = JSON.stringify(deployment(name, content));
    this.store.write((t) => this.#put(t, `o/${source}/apps/deployments/shop/${name}`, attributes, body));
    return this.#settle();
  }

  /** Seconds until every object that reads an agent's name is made again. */
  rename(agent: string, storeName: string): number {
    this.#place(agent, storeName);
    this.store.write((t) => markDirty(t, 'child', agent));
    return this.#settle();
  }

  #newCustomization(): Customization {
    return new Customization({
      tableOf: () => this.#table,
      children: this.#children,
      placements: this.#placements,
      mailboxOf: (child) => this.#mailboxes.get(child)?.producer,
      pathOf: (child) => child,
      counted: (evaluated) => {
        if (evaluated) this.evaluations += 1;
        else this.hits += 1;
      },
    });
  }

  /** Milliseconds until a new process knows the customized objects here. */
  start(): number {
    const customization = this.#newCustomization();
    const startedMs = performance.now();
    this.store.read((reader) => customization.load(reader));
    return performance.now() - startedMs;
  }

  #setUp(): void {
    for (let i = 0; i < agents; i++) this.#place(`store-${i}`, storeNames[i % storeNames.length]!);
    const placement = { spec: { locationSelectors: [{ matchLabels: {} }] } };
    this.store.write((t) => {
      for (const name of this.#children.keys()) markDirty(t, 'child', name);
      this.#put(t, `p/${source}/all`, {}, JSON.stringify(placement));
      this.#put(t, `t/${source}/all`, { generation: 1, target: 1, priority: 0, created: '', uid: '' }, '');
      const customizer = JSON.stringify({ metadata: { name: 'till' }, spec });
      this.#put(t, `a/${source}/edge.banyan.io/customizers/shop/till`, { refs: ['all'] }, customizer);
    });
    this.#settle();
  }

  #place(name: string, storeName: string): void {
    const facts = factsOf(name, storeName);
    const destination = { location: name, syncTargetUid: name, labels: { env: 'prod' }, facts, evaluate: () => true };
    this.#children.set(name, { name, role: 'agent', destinations: [destination] });
  }

  #put(t: Transaction, key: string, attributes: object, body: string): void {
    const content = { key, attributes: text(JSON.stringify(attributes)), body: text(body) };
    const originRevision = this.#revision++;
    this.#table.put(t, content, originRevision);
    noteSourceChange(t, { key, keyHash: hash128(key), originRevision, after: content });
  }

  #settle(): number {
    const startedMs = performance.now();
    for (let more = true; more; ) more = this.store.write((t) => this.#scheduler.step(t));
    return (performance.now() - startedMs) / 1000;
  }
}

function factsOf(name: string, storeName: string): DestinationFacts {
  const properties = { tills: '3', 'threat.level': 'low' };
  return {
    location: {
      metadata: { name, labels: { env: 'prod', region: 'eu', nr: name }, annotations: { 'store-name': storeName } },
    },
    syncTarget: { metadata: { name }, spec: { properties } },
    properties,
    path: `eu:${name}`,
  };
}

function deployment(name: string, content: number): KubeObject {
  const labels = { app: name };
  const container = (of: string) => ({
    name: of,
    image: `registry.example.com/shop/${of}:${content}`,
    ports: [{ containerPort: 8080 }],
    env: Array.from({ length: 12 }, (_, i) => ({ name: `SETTING_${i}`, value: `value ${i}` })),
    resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
  });
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'shop', labels, annotations: { 'shop.example.com/team': 'tills' } },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container('till'), container('log')] } },
    },
  };
}
