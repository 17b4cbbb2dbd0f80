/**
 * A tree of real schedulers, gathers and movers over memory stores. Messages are delivered one by one in an order that the test chooses; agents and their
 * clusters are scripted. Every event is a step of the test: a delivery, a piece of work, a report, a copy that becomes available.
 */

import { entryKey } from '../../../../core/entries/entry-keys.ts';
import { placementId } from '../../../../core/entries/placement-id.ts';
import { FeedConsumer } from '../../../../core/feed/consumer.ts';
import type { Producer } from '../../../../core/feed/feed.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { LocalTable } from '../../../../core/feed/table.ts';
import { mergeLabelSummaries } from '../../../../core/match/label-summary.ts';
import type { Move } from '../../../../core/move/move.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { asText, text } from '../../../../core/store/bytes.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import type { Transaction } from '../../../../core/store/store.ts';
import { emptyPartial, encodePartial, type Partial } from '../../../../core/summary/partial.ts';
import type { Child } from '../../../../relay/children/children.ts';
import { Gather } from '../../../../relay/gather/status/gather.ts';
import { Mailboxes } from '../../../../relay/mailbox/mailboxes.ts';
import { MoveStore } from '../../../../relay/moves/move-store.ts';
import { Mover } from '../../../../relay/moves/mover.ts';
import { Placements } from '../../../../relay/placements/placements.ts';
import { withoutReplicas } from '../../../../relay/replicas/replicas.ts';
import { Scheduler } from '../../../../relay/schedule/schedule.ts';
import { noteSourceChange } from '../../../../relay/schedule/source-changes.ts';
import { dirtyClasses, isBeingScheduled, markDirty } from '../../../../relay/work/dirty.ts';
import { noGuard } from '../../../support/no-guard.ts';
import { ScheduleSteps } from '../../../support/schedule-steps.ts';
import { factsOf } from './facts.ts';
import { noReleases } from './no-releases.ts';

const source = 'center.retail';
export const id = placementId(source, 'till');
const objectKey = `o/${source}//configmaps/shop/till`;
const everything = { maxBytes: 1_000_000, maxEntries: 1 };

/** The messages of a node to one neighbour; one entry at a time, when the test delivers it. */
interface Wire {
  deliver(): boolean;
}

export class MeshRelay {
  readonly path: string;
  readonly children: string[] = [];
  readonly #store = new MemoryStore();
  readonly #clock: VirtualClock;
  readonly #random = new SeededRandom(7);
  readonly known = new Map<string, Child>();
  readonly silent = new Set<string>();
  #boots = 0;
  #mailboxes!: Mailboxes;
  #upstream!: FeedConsumer;
  #outbox!: FeedProducer;
  #own!: LocalTable;
  #present!: Map<string, Child>;
  #placements!: Placements;
  #book!: MoveStore;
  #gather!: Gather;
  #mover!: Mover;
  #scheduler!: Scheduler;
  #isIdle = false;
  #steps!: ScheduleSteps;

  constructor(path: string, clock: VirtualClock) {
    this.path = path;
    this.#clock = clock;
  }

  get isRoot(): boolean {
    return this.path === '';
  }

  /** A start of the process: everything in memory is made again from the store. */
  start(): void {
    const store = this.#store;
    this.#steps ??= new ScheduleSteps(store);
    const bootNonce = `boot-${this.path}-${this.#boots++}`;
    this.#isIdle = false;
    this.#mover?.stop();
    this.#mailboxes = new Mailboxes(store, this.#random, bootNonce, this.path);
    store.write((t) => {
      this.#upstream = FeedConsumer.open(t, { name: 'upstream' });
      this.#outbox = FeedProducer.open(t, { name: 'outbox', bootNonce, random: this.#random });
      this.#own = LocalTable.open(t, `source/${source}`);
      for (const child of this.known.values()) this.#mailboxes.ensure(t, child.name, child.role);
    });
    this.#present = new Map(this.known);
    this.#placements = new Placements();
    this.#book = new MoveStore(this.#clock);
    const shared = {
      placements: this.#placements,
      children: this.#present,
      reportedOf: (child: string) => this.#mailboxes.get(child)?.reported,
    };
    this.#gather = new Gather({
      ...shared,
      connection: (child) => ({ connected: !this.silent.has(child), silentMs: 0 }),
      heldBack: () => [],
      rollouts: {
        place: () => undefined,
        forget: () => undefined,
        wanted: ({ target }) => target,
        base: () => undefined,
      },
      moves: this.#book,
      mailboxOf: (child) => this.#mailboxes.get(child)?.producer,
      pathOf: (child) => (this.isRoot ? child : `${this.path}:${child}`),
    });
    const mailboxOf = (child: string) => this.#mailboxes.get(child)?.producer;
    this.#mover = new Mover({
      replicas: withoutReplicas,
      ...shared,
      store,
      clock: this.#clock,
      log: silentLogger,
      moveStore: this.#book,
      mailboxOf,
      upstream: this.#upstream,
      isOrigin: () => this.isRoot,
      total: (reader, of) => this.#gather.total(reader, of),
      contribution: (of, child) => this.#gather.contribution(of, child),
      hasReceivedFromParent: () => true,
      enqueue: (act) => this.#enqueue(act),
    });
    this.#scheduler = new Scheduler({
      ...shared,
      tableOf: () => (this.isRoot ? this.#own : this.#upstream),
      mailboxOf,
      refreshChild: (_t, name) => {
        this.#present.set(name, this.known.get(name)!);
        return true;
      },
      askedChanged: () => undefined,
      auxiliaryChanged: () => undefined,
      releases: noReleases,
      stages: [],
      passage: this.#mover,
      covered: () => ({}),
      guard: noGuard,
    });
    store.read((reader) => {
      this.#scheduler.load(reader);
      this.#book.load(reader);
    });
    this.#mover.start();
  }

  #enqueue(act: (t: Transaction) => void): void {
    this.#store.write(act);
    this.#isIdle = false;
  }

  // ------------------------------------------------------------------------------------------- what the test does

  /** An agent, or a relay with everything that may ever be below it. */
  agent(name: string, site: string): void {
    const destination = {
      location: name,
      syncTargetUid: name,
      labels: { site },
      facts: factsOf(name, { site }),
      evaluate: () => true,
    };
    this.#setChild({ name, role: 'agent', destinations: [destination] });
  }

  relay(name: string, sites: readonly string[]): void {
    const labels = mergeLabelSummaries(sites.map((site) => ({ leaves: 1, sets: [{ labels: { site }, leaves: 1 }] })));
    this.#setChild({ name, role: 'relay', destinations: [], labels });
  }

  #setChild(child: Child): void {
    if (!this.known.has(child.name)) this.children.push(child.name);
    this.known.set(child.name, child);
    if (!this.#scheduler) return;
    this.#enqueue((t) => {
      this.#mailboxes.ensure(t, child.name, child.role);
      markDirty(t, 'child', child.name);
    });
  }

  /** At the root: the placement selects these sites from now on. */
  place(sites: readonly string[], generation: number, move: Move | undefined): void {
    const locationSelectors = sites.map((site) => ({ matchLabels: { site } }));
    const revision = generation * 10;
    this.#enqueue((t) => {
      const put = (key: string, attributes: object, body: string) => {
        const content = { key, attributes: text(JSON.stringify(attributes)), body: text(body) };
        const before = this.#own.get(t, hash128(key))?.content;
        const old = before && this.#own.content(t, before);
        if (!this.#own.put(t, content, revision)) return;
        const change = { keyHash: hash128(key), key, originRevision: revision, after: content };
        noteSourceChange(t, old ? { ...change, before: old } : change);
      };
      put(objectKey, { refs: ['till'] }, 'x');
      put(`p/${id}`, { generation, ...(move ? { move } : {}) }, JSON.stringify({ spec: { locationSelectors } }));
      put(`t/${id}`, { generation, target: revision }, '');
    });
  }

  /** At the root: the placement and its object are deleted. */
  remove(generation: number): void {
    const originRevision = generation * 10;
    this.#enqueue((t) => {
      for (const key of [objectKey, `p/${id}`, `t/${id}`]) {
        const keyHash = hash128(key);
        const content = this.#own.get(t, keyHash)?.content;
        const change = { keyHash, key, originRevision };
        const before = content && this.#own.content(t, content);
        this.#own.remove(t, keyHash);
        noteSourceChange(t, before ? { ...change, before } : change);
      }
    });
  }

  /** Keys of the child's mailbox, and of the child's reports. */
  keys(child: string): string[] {
    const { producer, consumer } = this.#mailboxes.get(child)!;
    return this.#store.read((reader) =>
      [producer, consumer].flatMap((table) =>
        [...table.rows(reader)].flatMap(({ content }) => (content ? [table.content(reader, content).key] : [])),
      ),
    );
  }

  /** One bounded piece of work of the scheduler, with the node's work after it; false if there was none. */
  work(): boolean {
    if (this.#isIdle) return false;
    const hadWork = this.#store.read((reader) => dirtyClasses(reader).size > 0);
    const step = this.#steps.step(this.#scheduler);
    this.#isIdle = !step.more;
    this.#store.read((reader) => {
      for (const of of step.changed) this.#gather.refresh(reader, of);
      for (const [of, children] of step.changedWith) {
        for (const child of children) this.#gather.childChanged(reader, of, child);
      }
    });
    for (const of of [...step.changed, ...step.changedWith.keys()]) this.#mover.decide(of);
    return hadWork;
  }

  /** Writes the node's own partial into the outbox; false if it is there already. */
  report(): boolean {
    if (this.isRoot || this.#store.read((reader) => isBeingScheduled(reader, id))) return false;
    const partial = this.total();
    return this.#store.write((t) =>
      partial ? reportPartial(t, this.#outbox, partial) : this.#outbox.remove(t, hash128(entryKey.partial(id)), 0),
    );
  }

  total(): Partial | undefined {
    return this.#store.read((reader) => this.#gather.total(reader, id));
  }

  connectionChanged(child: string): void {
    this.#store.read((reader) => this.#gather.childChanged(reader, id, child));
    this.#mover.decide(id);
  }

  /** The line down to a child, and the one up from it. */
  down(child: string, to: { take(producer: Producer, store: MemoryStore): boolean }): Wire {
    return {
      deliver: () => {
        const { producer } = this.#mailboxes.get(child)!;
        if (!to.take(producer, this.#store)) return false;
        return true;
      },
    };
  }

  up(child: string, from: { outbox(): Producer; store: MemoryStore }): Wire {
    return {
      deliver: () => {
        const { consumer } = this.#mailboxes.get(child)!;
        const cursor = this.#store.read((reader) => consumer.resume(reader).cursor);
        const producer = from.outbox();
        const batch = from.store.read((reader) => producer.batch(reader, cursor, producer.head(reader), everything));
        if (!batch) return false;
        const changes = this.#store.write((t) => consumer.apply(t, batch));
        if (changes.length > 0) {
          this.#store.read((reader) => this.#gather.childChanged(reader, id, child));
          this.#mover.reported(id, child);
          this.#mover.letGo(id, child);
        }
        return true;
      },
    };
  }

  /** As a child: takes one entry from the parent. */
  take(producer: Producer, above: MemoryStore): boolean {
    const cursor = this.#store.read((reader) => this.#upstream.resume(reader).cursor);
    const batch = above.read((reader) => producer.batch(reader, cursor, producer.head(reader), everything));
    if (!batch) return false;
    this.#enqueue((t) => {
      for (const change of this.#upstream.apply(t, batch)) noteSourceChange(t, change);
    });
    above.write((t) => producer.acknowledge(t, batch.to));
    return true;
  }

  outbox(): Producer {
    return this.#outbox;
  }

  get store(): MemoryStore {
    return this.#store;
  }
}

export type Copy = 'none' | 'starting' | 'available' | 'stopping';

/** An agent with its cluster. */
export class MeshAgent {
  readonly store = new MemoryStore();
  readonly #upstream: FeedConsumer;
  readonly #outbox: FeedProducer;
  copy: Copy = 'none';
  /** The agent was asked before with a number that is higher by this amount, and keeps that answer. */
  wasAskedHigher = 0;

  constructor(name: string) {
    const random = new SeededRandom(3);
    [this.#upstream, this.#outbox] = this.store.write((t) => [
      FeedConsumer.open(t, { name: 'upstream' }),
      FeedProducer.open(t, { name: 'outbox', bootNonce: name, random }),
    ]);
  }

  take(producer: Producer, above: MemoryStore): boolean {
    const cursor = this.store.read((reader) => this.#upstream.resume(reader).cursor);
    const batch = above.read((reader) => producer.batch(reader, cursor, producer.head(reader), everything));
    if (!batch) return false;
    this.store.write((t) => this.#upstream.apply(t, batch));
    above.write((t) => producer.acknowledge(t, batch.to));
    const has = this.store.read((reader) => this.#upstream.get(reader, hash128(objectKey))?.content !== undefined);
    if (has && (this.copy === 'none' || this.copy === 'stopping')) this.copy = 'starting';
    if (!has && (this.copy === 'starting' || this.copy === 'available')) this.copy = 'stopping';
    return true;
  }

  /** The next event of its cluster; false if it has nothing to do. */
  proceed(): boolean {
    if (this.copy === 'starting') this.copy = 'available';
    else if (this.copy === 'stopping') this.copy = 'none';
    else return false;
    return true;
  }

  report(): boolean {
    const target = this.store.read((reader) => {
      const row = this.#upstream.get(reader, hash128(`t/${id}`));
      return (
        row?.content &&
        (JSON.parse(Buffer.from(this.#upstream.content(reader, row.content).attributes).toString()) as {
          generation: number;
          target: number;
        })
      );
    });
    const asked = this.store.read((reader) => {
      const row = this.#upstream.get(reader, hash128(`w/${id}`));
      if (!row?.content) return undefined;
      const attributes = JSON.parse(asText(this.#upstream.content(reader, row.content).attributes)) as {
        asked: number;
      };
      return text(JSON.stringify({ asked: attributes.asked + this.wasAskedHigher }));
    });
    return this.store.write((t) => {
      const key = `gone/${id}`;
      const goneChanged =
        asked && !target && this.copy === 'none'
          ? this.#outbox.put(t, { key, attributes: asked, body: new Uint8Array(0) }, 0)
          : this.#outbox.remove(t, hash128(key), 0);
      if (goneChanged) return true;
      if (!target) return this.#outbox.remove(t, hash128(entryKey.partial(id)), 0);
      const { counts, ...rest } = emptyPartial(target?.generation ?? 0, target?.target ?? 0);
      const available = this.copy === 'available' ? 1 : 0;
      return reportPartial(t, this.#outbox, {
        ...rest,
        counts: { ...counts, expected: 1, fresh: 1, synced: 1, available },
      });
    });
  }

  outbox(): Producer {
    return this.#outbox;
  }
}

function reportPartial(t: Transaction, outbox: Producer, partial: Partial): boolean {
  return outbox.put(t, { key: entryKey.partial(id), attributes: text('{}'), body: encodePartial(partial) }, 0);
}

// ------------------------------------------------------------------------------------------------------------ mesh

export interface MeshShape {
  /** For each relay below the center, the index of its parent: 0 is the center. */
  readonly relays: readonly number[];
  /** For each agent, the index of its parent. */
  readonly agents: readonly number[];
}

export class MoveMesh {
  readonly clock = new VirtualClock();
  readonly relays: MeshRelay[] = [];
  readonly agents: MeshAgent[] = [];
  readonly #edges: { parent: MeshRelay; name: string; down: Wire; up: Wire; report: () => boolean }[] = [];
  #generation = 0;

  constructor(shape: MeshShape) {
    this.relays.push(new MeshRelay('', this.clock));
    for (const [i, parent] of shape.relays.entries()) {
      const above = this.relays[parent]!;
      const name = `r${i}`;
      this.relays.push(new MeshRelay(above.isRoot ? name : `${above.path}:${name}`, this.clock));
    }
    for (const [i, parent] of shape.agents.entries()) {
      this.relays[parent]!.agent(`s${i}`, `s${i}`);
      this.agents.push(new MeshAgent(`s${i}`));
    }
    for (const [i, parent] of [...shape.relays.entries()].reverse()) {
      const below = shape.agents.flatMap((of, agent) => (this.#isBelow(shape, of, i + 1) ? [`s${agent}`] : []));
      this.relays[parent]!.relay(
        `r${i}`,
        below.flatMap((site) => [site, `off-${site}`]),
      );
    }
    for (const relay of this.relays) relay.start();
    for (const [i, parent] of shape.relays.entries()) this.#join(this.relays[parent]!, `r${i}`, this.relays[i + 1]!);
    for (const [i, parent] of shape.agents.entries()) this.#join(this.relays[parent]!, `s${i}`, this.agents[i]!);
    for (const relay of this.relays) for (const name of relay.children) this.#dirty(relay, name);
  }

  #dirty(relay: MeshRelay, name: string): void {
    const child = relay.known.get(name)!;
    relay.store.write((t) => markDirty(t, 'child', child.name));
  }

  #isBelow(shape: MeshShape, relay: number, above: number): boolean {
    return relay === above || (relay > 0 && this.#isBelow(shape, shape.relays[relay - 1]!, above));
  }

  #join(parent: MeshRelay, name: string, child: MeshRelay | MeshAgent): void {
    const [down, up] = [parent.down(name, child), parent.up(name, child)];
    this.#edges.push({ parent, name, down, up, report: () => child.report() });
  }

  place(sites: readonly number[], move: Move | undefined): void {
    this.relays[0]!.place(
      sites.map((site) => `s${site}`),
      ++this.#generation,
      move,
    );
  }

  remove(): void {
    this.relays[0]!.remove(++this.#generation);
  }

  /** The label of an agent's Location: chosen by a placement that selects the site, or not. */
  label(shape: MeshShape, agent: number, isOn: boolean): void {
    this.relays[shape.agents[agent]!]!.agent(`s${agent}`, isOn ? `s${agent}` : `off-s${agent}`);
  }

  /** Everything that may happen next. */
  actions(): (() => boolean)[] {
    return [
      ...this.relays.map((relay) => () => relay.work()),
      ...this.agents.map((agent) => () => agent.proceed()),
      ...this.#edges.flatMap(({ parent, name, down, up, report }) => [
        report,
        () => !parent.silent.has(name) && down.deliver(),
        () => !parent.silent.has(name) && up.deliver(),
      ]),
    ];
  }

  /** A session ends or begins. */
  toggle(edge: number): void {
    const { parent, name } = this.#edges[edge % this.#edges.length]!;
    if (!parent.silent.delete(name)) parent.silent.add(name);
    parent.connectionChanged(name);
  }

  connectAll(): void {
    for (const [i, { parent, name }] of this.#edges.entries()) if (parent.silent.has(name)) this.toggle(i);
  }

  /** Runs until nothing can happen any more. `check` is called after each step. */
  settle(check: () => void = () => undefined): void {
    for (let round = 0; round < 400; round++) {
      let moved = false;
      for (const action of this.actions()) {
        if (action()) moved = true;
        check();
      }
      if (!moved) return;
    }
    throw new Error('the mesh does not come to rest');
  }

  copies(copy: (copy: Copy) => boolean): number[] {
    return this.agents.flatMap((agent, i) => (copy(agent.copy) ? [i] : []));
  }
}
