/**
 * A node of the mesh without sessions, API server and inventory, for tests and benchmarks of the way up. Stores, feeds, scheduler, gather and summaries are
 * those of the product. Parent and child are in one process. The consumer of one reads directly from the producer of the other.
 */

import type { Space } from '../../core/apiserver/space.ts';
import { entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import type { StateAttributes } from '../../core/entries/up-attributes.ts';
import { checkReporter } from '../../core/entries/up-check.ts';
import { FeedConsumer } from '../../core/feed/consumer.ts';
import type { AppliedChange, Content } from '../../core/feed/feed.ts';
import { FeedProducer } from '../../core/feed/producer.ts';
import { mergeLabelSummaries } from '../../core/match/label-summary.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { ObjectKey } from '../../core/object/key.ts';
import type { Labels } from '../../core/object/selector.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { silentLogger } from '../../core/runtime/logger.ts';
import type { Random } from '../../core/runtime/random.ts';
import { text } from '../../core/store/bytes.ts';
import type { Store, Transaction } from '../../core/store/store.ts';
import { emptyPartial, encodePartial } from '../../core/summary/partial.ts';
import type { Child } from '../../relay/children/children.ts';
import { FailingExpressions } from '../../relay/gather/status/failing-expressions.ts';
import { Gather, type RolloutParts } from '../../relay/gather/status/gather.ts';
import { StatusReporter } from '../../relay/gather/status/reporter.ts';
import { StatusWriter } from '../../relay/gather/status/status-writer.ts';
import { reportedBefore } from '../../relay/gather/summaries/reported-before.ts';
import { SummaryRoom } from '../../relay/gather/summaries/summary-room.ts';
import { passUpsynced } from '../../relay/gather/upsynced.ts';
import { Mailboxes } from '../../relay/mailbox/mailboxes.ts';
import { MoveStore } from '../../relay/moves/move-store.ts';
import { Placements } from '../../relay/placements/placements.ts';
import { type Replicas, withoutReplicas } from '../../relay/replicas/replicas.ts';
import { Scheduler } from '../../relay/schedule/schedule.ts';
import { noteSourceChange } from '../../relay/schedule/source-changes.ts';
import { openWorkloadSpace, type WorkloadSpace } from '../../relay/spaces/own-spaces.ts';
import { markDirty } from '../../relay/work/dirty.ts';
import { ownContributionTopic } from '../../relay/work/topics.ts';
import { noReleases } from '../unit/relay/support/no-releases.ts';
import { noGuard } from './no-guard.ts';
import { openPassage } from './open-passage.ts';
import { ScheduleSteps } from './schedule-steps.ts';

export interface GatherNodePorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  defer(run: () => void): void;
  /** Absent: no relay has replicas. */
  readonly replicas?: Replicas;
}

export const source = 'center.retail';
export const placement = `${source}/shop`;
/** The parts of rollouts, for placements without rollouts. */
const noRollouts: RolloutParts = {
  place: () => undefined,
  forget: () => undefined,
  wanted: ({ target }) => target,
  base: () => undefined,
};
const limits = { maxBytes: 64 * 1024, maxEntries: 1_000 };

export class GatherNode {
  readonly path: string;
  readonly #ports: GatherNodePorts;
  readonly #mailboxes: Mailboxes;
  readonly #children = new Map<string, Child>();
  readonly #placements = new Placements();
  readonly #upstream: FeedConsumer;
  readonly #outbox: FeedProducer;
  readonly #scheduler: Scheduler;
  readonly #own: WorkloadSpace | undefined;
  readonly gather: Gather;
  readonly #statuses: StatusWriter;
  readonly #reporter: StatusReporter;
  readonly summaries: SummaryRoom;
  readonly #below = new Map<string, GatherNode>();

  readonly #steps: ScheduleSteps;
  readonly #subscription: () => void;

  /** `path`: empty for the center, which has the space. */
  constructor(path: string, ports: GatherNodePorts) {
    this.path = path;
    this.#ports = ports;
    const { store, clock, random, defer } = ports;
    const bootNonce = Buffer.from(random.bytes(16)).toString('hex');
    this.#upstream = store.write((t) => FeedConsumer.open(t, { name: 'upstream' }));
    this.#outbox = store.write((t) => FeedProducer.open(t, { name: 'outbox', bootNonce, random }));
    this.#steps = new ScheduleSteps(store);
    this.#subscription = store.subscribe(ownContributionTopic, (ids) => {
      for (const id of ids) this.#reporter.mark(id);
    });
    this.#mailboxes = new Mailboxes(store, random, bootNonce, this.path);
    this.#own = path === '' ? openWorkloadSpace({ ...ports, path, log: silentLogger }, 'retail', source) : undefined;
    const tableOf = () => this.#own?.table ?? this.#upstream;
    const mailboxOf = (child: string) => this.#mailboxes.get(child)?.producer;
    const reportedOf = (child: string) => this.#mailboxes.get(child)?.reported;
    const ownSpace = (name: string) => (name === source ? this.#own?.space : undefined);
    const { replicas = withoutReplicas } = ports;
    const shared = { store, clock, placements: this.#placements, children: this.#children, replicas };
    this.#scheduler = new Scheduler({
      ...shared,
      tableOf: (name) => (name === source ? tableOf() : undefined),
      mailboxOf,
      refreshChild: (t, name) => {
        t.afterCommit(() => this.summaries.placeChanged(name));
        return this.#children.has(name);
      },
      askedChanged: () => undefined,
      auxiliaryChanged: (t, of, key) => this.summaries.summarizerChanged(t, of, key),
      releases: noReleases,
      stages: [{ outgoing: (...shipped) => this.summaries.stage.outgoing(...shipped) }],
      passage: openPassage,
      covered: () => ({}),
      guard: noGuard,
    });
    const connection = () => ({ connected: true, silentMs: 0 });
    this.gather = new Gather({
      ...shared,
      reportedOf,
      connection,
      heldBack: () => [],
      rollouts: noRollouts,
      moves: new MoveStore(shared.clock),
      pathOf: (child) => child,
      mailboxOf: () => undefined,
    });
    this.#statuses = new StatusWriter({
      expressions: new FailingExpressions(path, this.#children),
      ...shared,
      log: silentLogger,
      gather: this.gather,
      outbox: this.#outbox,
      ownSpace,
      unresolved: (id) => this.summaries.unresolved(id),
      rolloutOf: () => undefined,
      isRolledBack: () => false,
      rolloutBelow: () => undefined,
    });
    this.#reporter = new StatusReporter({
      clock,
      defer,
      report: (ids) => {
        this.#statuses.write(ids);
        this.summaries.completenessChanged(ids);
      },
      failed: (error) => {
        throw error;
      },
    });
    this.summaries = new SummaryRoom({
      ...shared,
      path,
      defer,
      gather: this.gather,
      outbox: this.#outbox,
      tableOf,
      mailboxOf,
      reportedOf,
      heldBack: () => [],
      ownSpace,
      ownSpaces: () => (this.#own ? [this.#own.space] : []),
      failed: (error) => {
        throw error;
      },
    });
  }

  get space(): Space {
    return this.#own!.space;
  }

  // ------------------------------------------------------------------------------------------------------- children

  /** Adds a relay. The leaves below the relay have all of these labels. */
  relay(name: string, node: GatherNode, leaves: number, labels: Labels): void {
    this.#below.set(name, node);
    const summary = mergeLabelSummaries([{ leaves, sets: [{ labels, leaves }] }]);
    this.#join({ name, role: 'relay', destinations: [], labels: summary });
  }

  /** Replaces a relay by the same relay after a start. */
  replace(name: string, node: GatherNode): void {
    this.#below.set(name, node);
  }

  agent(name: string, labels: Labels): void {
    const path = this.path === '' ? name : `${this.path}:${name}`;
    const facts = {
      location: { metadata: { name, labels } },
      syncTarget: { metadata: { name } },
      properties: {},
      path,
    };
    const destination = { location: name, syncTargetUid: name, labels, facts, evaluate: () => true };
    this.#join({ name, role: 'agent', destinations: [destination] });
  }

  leave(name: string): void {
    this.#children.delete(name);
    this.#ports.store.write((t) => markDirty(t, 'child', name));
  }

  #join(child: Child): void {
    this.#children.set(child.name, child);
    this.#ports.store.write((t) => {
      this.#mailboxes.ensure(t, child.name, child.role);
      markDirty(t, 'child', child.name);
    });
  }

  /** Simulates a start of the process: everything in memory is made again from the store. The test adds the children again. */
  restarted(): GatherNode {
    this.stop();
    const node = new GatherNode(this.path, this.#ports);
    for (const [name, child] of this.#children) node.#children.set(name, child);
    for (const [name, below] of this.#below) node.#below.set(name, below);
    node.start();
    return node;
  }

  start(): void {
    this.#ports.store.read((reader) => this.#scheduler.load(reader));
    this.summaries.start(this.#ports.store.read((reader) => reportedBefore(reader, this.#outbox)).summaries);
    for (const { id } of this.#placements.all()) this.#reporter.mark(id);
  }

  stop(): void {
    this.#subscription();
    this.#reporter.stop();
    this.summaries.stop();
    this.#own?.close();
  }

  // ------------------------------------------------------------------------------------------------------- the way down

  /** Runs selection and scheduler until no work is left, and then the nodes below. */
  async down(): Promise<void> {
    const { store } = this.#ports;
    for (let more = true; more; ) {
      more = this.#own !== undefined && store.write((t) => this.#own!.selection.step(t));
      const step = this.#steps.step(this.#scheduler);
      more ||= step.more;
      for (const id of step.changed) {
        store.read((reader) => this.gather.refresh(reader, id));
        this.#reporter.mark(id);
        this.summaries.placementChanged(id);
      }
      for (const [id, children] of step.changedWith) {
        store.read((reader) => {
          for (const child of children) this.gather.childChanged(reader, id, child);
        });
        this.#reporter.mark(id);
        this.summaries.placementChangedWith(id, children);
      }
    }
    await store.flushed();
    for (const [name, node] of this.#below) {
      node.#take(this.#mailboxes.get(name)!.producer, store);
      await node.down();
    }
  }

  #take(producer: FeedProducer, from: Store): void {
    for (;;) {
      const after = this.#ports.store.read((reader) => this.#upstream.resume(reader).cursor);
      const batch = from.read((reader) => producer.batch(reader, after, producer.head(reader), limits));
      if (!batch) return;
      this.#ports.store.write((t) => {
        for (const change of this.#upstream.apply(t, batch)) noteSourceChange(t, change);
      });
      from.write((t) => producer.acknowledge(t, batch.to));
    }
  }

  // --------------------------------------------------------------------------------------------------------- the way up

  /** Receives the entries of the children's outboxes that this node does not have. Returns true if there were any. */
  async up(): Promise<boolean> {
    let moved = false;
    for (const [name, node] of this.#below) {
      await node.#ports.store.flushed();
      moved = this.#takeUp(name, node) || moved;
    }
    return moved;
  }

  #takeUp(name: string, node: GatherNode): boolean {
    const { store } = this.#ports;
    const from = node.#ports.store;
    const producer = node.#outbox;
    const { consumer } = this.#mailboxes.get(name)!;
    for (let moved = false; ; moved = true) {
      const after = store.read((reader) => consumer.resume(reader).cursor);
      const batch = from.read((reader) => producer.batch(reader, after, producer.head(reader), limits));
      if (!batch) return moved;
      this.#reported(name, (t) => consumer.apply(t, batch));
      from.write((t) => producer.acknowledge(t, batch.to));
    }
  }

  /** Applies a report of an agent, as its session would do. */
  report(agent: string, entries: readonly Content[], revision: number): void {
    const { consumer } = this.#mailboxes.get(agent)!;
    const wire = entries.map((content) => ({ keyHash: hash128(content.key), revision, originRevision: 0, content }));
    this.#reported(agent, (t) => consumer.applyEntries(t, wire));
  }

  /** Withdraws a report of an agent. */
  withdraw(agent: string, key: string, revision: number): void {
    const { consumer } = this.#mailboxes.get(agent)!;
    const entry = { keyHash: hash128(key), revision, originRevision: 0 };
    this.#reported(agent, (t) => consumer.applyEntries(t, [entry]));
  }

  #reported(child: string, apply: (t: Transaction) => AppliedChange[]): void {
    const { store } = this.#ports;
    const changes = store.write((t) => {
      const applied = apply(t);
      for (const change of applied) checkReporter(this.path === '' ? child : `${this.path}:${child}`, change);
      const isOwn = () => this.#own !== undefined;
      passUpsynced(
        t,
        { outbox: this.#outbox, reportedOf: (name) => this.#mailboxes.get(name)?.reported, isOwn },
        child,
        applied,
      );
      return applied;
    });
    const ids = new Set<string>();
    for (const { key } of changes) {
      const entry = parseEntryKey(key);
      if (entry?.type === 'partial') ids.add(entry.id);
    }
    store.read((reader) => {
      for (const id of ids) this.gather.childChanged(reader, id, child);
    });
    for (const id of ids) this.#reporter.mark(id);
    this.summaries.reportedChanged(child, changes);
  }

  /** Makes an agent's report about the present placement: available or not. */
  partial(available: boolean): Content {
    const target = this.#placements.get(placement)?.target;
    const { counts, ...rest } = emptyPartial(target?.generation ?? 0, target?.target ?? 0);
    const one = { expected: 1, fresh: 1, synced: 1, applied: 1, available: Number(available) };
    const body = encodePartial({ ...rest, counts: { ...counts, ...one } });
    return { key: entryKey.partial(placement), attributes: new Uint8Array(0), body };
  }
}

export function state(object: ObjectKey, attributes: Partial<StateAttributes>, status: object): Content {
  const reported = { desired: 0, applied: true, available: true, ...attributes };
  return {
    key: entryKey.state(source, object),
    attributes: text(JSON.stringify(reported)),
    body: text(JSON.stringify(status)),
  };
}
