/**
 * The assembly of a node with children: store, spaces, API server, scheduler, sessions on both sides. The center is this without
 * a parent. Read it as the list of what is connected to what; each part says in its own file what it does.
 */
import { ApiServer } from '../core/apiserver/http/api-server.ts';
import { FeedConsumer } from '../core/feed/consumer.ts';
import type { AppliedChange } from '../core/feed/feed.ts';
import { FeedProducer } from '../core/feed/producer.ts';
import { hash128 } from '../core/object/hash.ts';
import type { ObjectKey } from '../core/object/key.ts';
import type { Labels } from '../core/object/selector.ts';
import type { Clock } from '../core/runtime/clock.ts';
import type { Logger } from '../core/runtime/logger.ts';
import type { Random } from '../core/runtime/random.ts';
import { ChildSession } from '../core/session/child-session.ts';
import { beginBoot, markCaughtUp, type NodeIdentity } from '../core/session/node-identity.ts';
import { ParentSessions } from '../core/session/parent-sessions.ts';
import type { Store, Transaction } from '../core/store/store.ts';
import {
  attributesOf,
  type PlacementId,
  parseEntryKey,
  splitPlacementId,
  type TreeAttributes,
  treeKey,
} from '../core/wire/entries.ts';
import { grpcDialer } from '../core/wire/grpc/grpc-dialer.ts';
import { listenGrpc, type NodeCredentials } from '../core/wire/grpc/grpc-listener.ts';
import type { Listener } from '../core/wire/link.ts';
import type { NodeConfig } from './config.ts';
import { Customization } from './customize/customization.ts';
import { ExactStatuses } from './gather/exact-statuses.ts';
import { FailingExpressions } from './gather/failing-expressions.ts';
import { Gather } from './gather/gather.ts';
import { Reporter } from './gather/reporter.ts';
import { Slices } from './gather/slices.ts';
import { StatusWriter } from './gather/status-writer.ts';
import { SubtreeSlices } from './gather/subtree-slices.ts';
import { SummaryRoom } from './gather/summary-room.ts';
import { Mailboxes } from './mailbox/mailboxes.ts';
import { checkReported } from './mailbox/reported-check.ts';
import { dropUpsynced, passUpsynced, type UpsyncedPorts } from './mailbox/upsynced.ts';
import { customizations } from './metrics.ts';
import { MoveBook } from './moves/move-book.ts';
import { Mover } from './moves/mover.ts';
import { Controllers } from './rollout/controllers.ts';
import { Exposures } from './rollout/exposure.ts';
import { askWebhook } from './rollout/webhook.ts';
import { ChildBook } from './schedule/child-book.ts';
import { markDirty } from './schedule/dirty.ts';
import { Evictions } from './schedule/evictions.ts';
import { ScheduleLoop } from './schedule/loop.ts';
import { Placements } from './schedule/placements.ts';
import { Scheduler } from './schedule/schedule.ts';
import { seedInventory } from './schedule/seed-inventory.ts';
import { noteSourceChange } from './schedule/source-changes.ts';
import { NodeSpaces } from './spaces/node-spaces.ts';
import { Views } from './spaces/views.ts';
import { inheritedBelow } from './tree/inherited-labels.ts';
import { childPath } from './tree/node-objects.ts';
import { NodeReports } from './tree/node-reports.ts';
import { Readiness } from './tree/readiness.ts';
import { userOfCertificate } from './users.ts';

export interface NodePorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly credentials: NodeCredentials;
  readonly software: string;
  soon(run: () => void): void;
  metrics(): Promise<string>;
  /** The store is full or broken: nothing can go on. */
  fatal(error: unknown): void;
}

export class Node implements AsyncDisposable {
  readonly #config: NodeConfig;
  readonly #ports: NodePorts;
  readonly #identity: NodeIdentity;
  readonly #spaces: NodeSpaces;
  readonly #upstream: FeedConsumer;
  readonly #outbox: FeedProducer;
  readonly #mailboxes: Mailboxes;
  readonly #placements = new Placements();
  readonly #book: ChildBook;
  readonly #customization: Customization;
  readonly #moves: MoveBook;
  readonly #mover: Mover;
  readonly #scheduler: Scheduler;
  readonly #loop: ScheduleLoop;
  readonly #exposures: Exposures;
  readonly #rollouts: Controllers;
  readonly #upsynced: UpsyncedPorts;
  readonly #gather: Gather;
  readonly #reporter: Reporter;
  readonly #exact: ExactStatuses;
  readonly #statuses: StatusWriter;
  readonly #slices: Slices;
  readonly #summaries: SummaryRoom;
  readonly #views: Views;
  readonly #sessions: ParentSessions;
  readonly #reports: NodeReports;
  readonly #uplink: ChildSession | undefined;
  readonly #api: ApiServer;
  #listener: Listener | undefined;
  readonly #readiness: Readiness;

  constructor(config: NodeConfig, ports: NodePorts) {
    this.#config = config;
    this.#ports = ports;
    const { store, clock, random, log } = ports;
    this.#identity = store.write((t) => beginBoot(t, clock, random));
    const { bootNonce } = this.#identity;
    this.#upstream = store.write((t) => FeedConsumer.open(t, { name: 'upstream' }));
    this.#outbox = store.write((t) => FeedProducer.open(t, { name: 'outbox', bootNonce, random }));
    this.#mailboxes = new Mailboxes(store, random, bootNonce);
    this.#spaces = new NodeSpaces({ store, clock, random, log, soon: ports.soon }, config, {
      inventoryChanged: (t, child) => this.#book.widen(t, child),
      changed: () => this.#loop.poke(),
    });
    this.#book = new ChildBook({
      inventory: this.#spaces.inventory,
      mailboxes: this.#mailboxes,
      outbox: this.#outbox,
      clock,
      write: (act) => this.#later(act),
      evictions: new Evictions(clock, (names) =>
        this.#later((t) => {
          for (const name of names) markDirty(t, 'child', name);
        }),
      ),
      inherited: () => this.#inherited(),
      path: config.path,
    });
    this.#customization = new Customization({
      tableOf: (source) => this.#spaces.tableOf(source) ?? this.#upstream,
      children: this.#book.children,
      placements: this.#placements,
      mailboxOf: (child) => this.#mailboxes.get(child)?.producer,
      pathOf: (child) => childPath(config.path, child),
      counted: (evaluated) => (evaluated ? customizations.evaluated : customizations.known).inc(),
    });
    this.#exposures = new Exposures({
      store,
      clock,
      placements: this.#placements,
      tableOf: (source) => this.#spaces.tableOf(source) ?? this.#upstream,
      soon: ports.soon,
      admitted: (id, children) => this.#admitted(id, children),
    });
    this.#moves = new MoveBook(clock);
    this.#mover = new Mover({
      store,
      clock,
      log,
      book: this.#moves,
      placements: this.#placements,
      children: this.#book.children,
      mailboxOf: (child) => this.#mailboxes.get(child)?.producer,
      reportedOf: (child) => this.#mailboxes.get(child)?.reported,
      upstream: this.#upstream,
      isOrigin: (source) => this.#spaces.own(source) !== undefined,
      total: (reader, id) => this.#gather.total(reader, id),
      contribution: (id, child) => this.#gather.contribution(id, child),
      later: (act) => this.#later(act),
    });
    this.#scheduler = new Scheduler({
      tableOf: (source) => this.#spaces.tableOf(source) ?? this.#upstream,
      mailboxOf: (child) => this.#mailboxes.get(child)?.producer,
      children: this.#book.children,
      placements: this.#placements,
      refreshChild: (t, name) => {
        this.#reports.poke(name);
        t.afterCommit(() => this.#summaries.placeChanged(name));
        const stays = this.#book.refresh(t, name);
        this.#customization.childChanged(t, name, stays);
        if (!stays) dropUpsynced(t, this.#outbox, childPath(config.path, name));
        return stays;
      },
      auxiliaryChanged: (t, source, key) => {
        this.#customization.auxiliaryChanged(t, source, key);
        this.#summaries.summarizerChanged(t, source, key);
      },
      releases: this.#exposures,
      stages: [
        this.#exposures,
        this.#customization,
        { outgoing: (...shipped) => this.#summaries.stage.outgoing(...shipped) },
      ],
      passage: this.#mover,
    });
    this.#loop = this.#makeLoop();
    this.#readiness = new Readiness(
      {
        children: this.#book.children,
        relays: config.relays,
        quiet: () => this.#loop.quiet,
        downChanged: () => this.#sessions.readyChanged(),
        upChanged: () => this.#uplink?.readyChanged(),
      },
      config.parent === undefined || this.#identity.caughtUp,
    );
    this.#upsynced = {
      outbox: this.#outbox,
      reportedOf: (child) => this.#mailboxes.get(child)?.reported,
      isOwn: (source) => this.#spaces.own(source) !== undefined,
    };
    this.#gather = new Gather({
      placements: this.#placements,
      children: this.#book.children,
      reportedOf: (child) => this.#mailboxes.get(child)?.reported,
      connection: (child) => this.#sessions.status(child),
      moves: this.#moves,
      pathOf: (child) => childPath(config.path, child),
      mailboxOf: (child) => this.#mailboxes.get(child)?.producer,
      heldBack: (id, child) => this.#customization.failures(id, child),
      rollouts: this.#exposures,
    });
    this.#rollouts = new Controllers({
      store,
      clock,
      origins: () => this.#spaces.origins(),
      total: (t, id) => this.#gather.total(t, id),
      ask: askWebhook,
      wake: (id) => this.#reporter.mark(id),
      wrote: () => this.#loop.poke(),
    });
    this.#exact = new ExactStatuses({
      store,
      log,
      outbox: this.#outbox,
      placements: this.#placements,
      children: this.#book.children,
      ownSpace: (source) => this.#spaces.own(source),
      tableOf: (source) => this.#spaces.tableOf(source) ?? this.#upstream,
      reportedOf: (child) => this.#mailboxes.get(child)?.reported,
      expected: (id, child) => this.#gather.expected(id, child),
      changed: (source, objects) => this.#views.exactChanged(source, objects),
    });
    this.#statuses = new StatusWriter({
      store,
      clock,
      log,
      gather: this.#gather,
      placements: this.#placements,
      outbox: this.#outbox,
      exact: this.#exact,
      expressions: new FailingExpressions(config.path, this.#book.children),
      ownSpace: (source) => this.#spaces.own(source),
      unresolved: (id) => this.#summaries.unresolved(id),
      rolloutOf: (id) => this.#rollouts.outcome(id),
    });
    const sliced = {
      path: config.path,
      placements: this.#placements,
      children: this.#book.children,
      expected: (id: PlacementId, child: string) => this.#gather.expected(id, child),
    };
    const subtreeSlices = new SubtreeSlices({ ...sliced, changed: (source, key) => this.#views.changed(source, key) });
    this.#slices = new Slices({
      ...sliced,
      clock,
      ownSpace: (source) => this.#spaces.own(source),
      elsewhere: (id) => subtreeSlices.tell(id),
    });
    this.#reporter = new Reporter({ clock, soon: ports.soon, report: (ids) => this.#report(ids) });
    this.#summaries = this.#makeSummaries();
    this.#views = new Views({
      store,
      clock,
      random,
      log,
      mailboxes: this.#mailboxes,
      upstream: this.#upstream,
      statusOf: (reader, id) => this.#statuses.statusOf(reader, id),
      exactStatusOf: (reader, source, key) => this.#exact.statusOf(reader, source, key),
      isOwn: (source) => this.#spaces.own(source) !== undefined,
      summaries: this.#summaries.writer,
      slices: subtreeSlices,
      path: config.path,
    });
    this.#sessions = this.#makeSessions();
    this.#uplink = this.#makeUplink();
    this.#api = this.#makeApi();
    this.#reports = new NodeReports({
      space: this.#spaces.system,
      path: config.path,
      software: ports.software,
      clock,
      children: this.#book.children,
      mailboxes: this.#mailboxes,
      store,
      outbox: this.#outbox,
      connection: (child) => this.#sessions.status(child),
      attached: () => this.#uplink?.connected,
      told: () => this.#uplink?.wake(),
    });
    for (const { name, space } of this.#spaces.workloads()) this.#api.mount(`/spaces/${name}`, space);
  }

  /** Serves when it returns; what was left to do at the last end is taken up first. */
  async start(): Promise<{ url: string; meshAddress: string }> {
    const { store, log, clock, credentials } = this.#ports;
    const { mesh, path, inventory } = this.#config;
    store.write((t) => this.#book.load(t));
    store.read((reader) => {
      this.#scheduler.load(reader);
      this.#customization.load(reader);
      this.#exposures.load(reader);
      this.#moves.load(reader);
    });
    seedInventory(this.#spaces.system, inventory);
    await store.flushed();
    this.#listener = await listenGrpc({
      ...mesh,
      credentials,
      log,
      clock,
      accept: (link) => this.#sessions.accept(link),
    });
    const url = await this.#api.listen();
    this.#loop.poke();
    this.#mover.start();
    for (const { id } of this.#placements.all()) {
      this.#reporter.mark(id);
      this.#slices.mark(id);
    }
    this.#summaries.start();
    this.#uplink?.start();
    this.#reports.start();
    log.info({ path, url, meshAddress: this.#listener.address }, 'the node serves');
    return { url, meshAddress: this.#listener.address };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#loop.stop();
    this.#book.stop();
    this.#mover.stop();
    this.#reporter.stop();
    this.#rollouts.stop();
    this.#exposures.stop();
    this.#slices.stop();
    this.#summaries.stop();
    this.#reports.stop();
    this.#uplink?.close();
    this.#sessions.close();
    await this.#listener?.[Symbol.asyncDispose]();
    await this.#api[Symbol.asyncDispose]();
    this.#spaces.close();
    await this.#ports.store.flushed();
  }

  /** What a timer of the child book has to do. */
  #later(act: (t: Transaction) => void): void {
    try {
      this.#ports.store.write(act);
    } catch (error) {
      this.#ports.fatal(error);
      return;
    }
    this.#uplink?.wake();
    this.#loop.poke();
  }

  // -------------------------------------------------------------------------------------------------- the way down

  #makeLoop(): ScheduleLoop {
    const { store, log, soon } = this.#ports;
    return new ScheduleLoop({
      store,
      log,
      scheduler: this.#scheduler,
      soon,
      selections: () => this.#spaces.selections(),
      stepped: ({ touched, changed }) => {
        for (const child of touched) this.#sessions.wake(child);
        this.#heldBackChanged();
        for (const id of changed) {
          store.read((reader) => this.#gather.refresh(reader, id));
          this.#reporter.mark(id);
          this.#slices.mark(id);
          this.#summaries.placementChanged(id);
          this.#mover.decide(id);
        }
        this.#uplink?.wake();
        this.#views.mailboxesChanged(touched);
        this.#reports.poke(...touched);
      },
      idle: () => this.#readiness.idle(),
      failed: (error) => this.#ports.fatal(error),
    });
  }

  /** What could not be made for an agent is part of what the agent adds to summaries. */
  #heldBackChanged(): void {
    const changed = this.#customization.takeChanged();
    if (changed.length === 0) return;
    this.#ports.store.read((reader) => {
      for (const { id, child } of changed) this.#gather.childChanged(reader, id, child);
    });
    for (const { id } of changed) this.#reporter.mark(id);
  }

  /** What the parent sends, in the transaction that applies it. */
  #fromAbove(t: Transaction, changes: readonly AppliedChange[]): void {
    for (const change of changes) {
      noteSourceChange(t, change);
      if (change.key !== treeKey) continue;
      this.#book.inheritedChanged(t);
    }
  }

  #inherited(): Labels {
    const { path, labels } = this.#config;
    const row = this.#ports.store.read((reader) => {
      const found = this.#upstream.get(reader, hash128(treeKey));
      return found?.content && this.#upstream.content(reader, found.content);
    });
    const above = row ? attributesOf<TreeAttributes>(row).labels : {};
    return inheritedBelow(path, above, labels);
  }

  // ----------------------------------------------------------------------------------------------------- the way up

  #fromBelow(t: Transaction, child: string, changes: readonly AppliedChange[]): void {
    const path = childPath(this.#config.path, child);
    for (const change of changes) checkReported(path, change);
    if (changes.some(({ key }) => parseEntryKey(key)?.type === 'labels')) {
      markDirty(t, 'child', child);
      this.#book.widen(t, child);
    }
    this.#reports.pass(t, child, changes);
    passUpsynced(t, this.#upsynced, child, changes);
  }

  #reportedChanged(child: string, changes: readonly AppliedChange[]): void {
    const { store } = this.#ports;
    const ids = new Set<PlacementId>();
    for (const { key } of changes) {
      const entry = parseEntryKey(key);
      if (entry?.type === 'partial' || entry?.type === 'status') ids.add(entry.id);
      if (entry?.type === 'state') for (const id of this.#askingFor(entry.source, entry.object)) ids.add(id);
      if (entry?.type === 'labels') this.#loop.poke();
      if (entry?.type === 'gone') this.#mover.letGo(entry.id, child);
    }
    store.read((reader) => {
      for (const id of ids) if (this.#gather.childChanged(reader, id, child)) this.#slices.mark(id);
    });
    for (const id of ids) {
      this.#reporter.mark(id);
      this.#mover.reported(id, child);
    }
    this.#summaries.reportedChanged(child, changes);
    this.#views.reportedChanged(child, changes);
    this.#reports.reportedChanged(child, changes);
    this.#uplink?.wake();
  }

  #askingFor(source: string, object: ObjectKey): PlacementId[] {
    return this.#ports.store.read((reader) => this.#exact.askingFor(reader, source, object));
  }

  #connectionChanged(child: string): void {
    this.#ports.store.read((reader) => {
      for (const { id } of this.#placements.ofChild(child)) {
        this.#gather.childChanged(reader, id, child);
        this.#reporter.mark(id);
      }
    });
    for (const { id } of this.#placements.ofChild(child)) this.#mover.decide(id);
    this.#reports.connectionChanged(child);
  }

  /** Agents have a release from now on: the work on their mailboxes is marked, and the next ones are found by what they report. */
  #admitted(id: PlacementId, children: readonly string[]): void {
    this.#ports.store.read((reader) => {
      for (const child of children) this.#gather.childChanged(reader, id, child);
    });
    this.#reporter.mark(id);
    this.#loop.poke();
  }

  #report(ids: readonly PlacementId[]): void {
    try {
      for (const id of ids) this.#rollouts.run(id);
      const told = this.#statuses.write(ids);
      this.#summaries.completenessChanged(ids);
      for (const id of told) this.#views.placementChanged(splitPlacementId(id));
      this.#uplink?.wake();
    } catch (error) {
      this.#ports.fatal(error);
    }
  }

  #makeSummaries(): SummaryRoom {
    const { store, clock, soon } = this.#ports;
    return new SummaryRoom({
      store,
      clock,
      soon,
      path: this.#config.path,
      placements: this.#placements,
      children: this.#book.children,
      gather: this.#gather,
      outbox: this.#outbox,
      tableOf: (source) => this.#spaces.tableOf(source) ?? this.#upstream,
      mailboxOf: (child) => this.#mailboxes.get(child)?.producer,
      reportedOf: (child) => this.#mailboxes.get(child)?.reported,
      heldBack: (id, child) => this.#customization.failures(id, child),
      ownSpace: (source) => this.#spaces.own(source),
      ownSpaces: () => [...this.#spaces.workloads()].map(({ space }) => space),
      shownChanged: (source, key) => this.#views.changed(source, key),
      resolved: (id) => this.#reporter.mark(id),
      told: () => this.#uplink?.wake(),
      failed: (error) => this.#ports.fatal(error),
    });
  }

  // --------------------------------------------------------------------------------------------------- neighbours

  #makeSessions(): ParentSessions {
    const { store, clock, log, software } = this.#ports;
    return new ParentSessions({
      store,
      clock,
      log,
      software,
      path: this.#config.path,
      feedsOf: (t, child, role) => {
        const feeds = this.#book.feedsOf(t, child, role);
        this.#loop.poke();
        return feeds;
      },
      ready: (child) => this.#readiness.down(child),
      applied: (t, child, changes) => this.#fromBelow(t, child, changes),
      committed: (child, changes) => this.#reportedChanged(child, changes),
      acknowledged: (child) => this.#reports.poke(child),
      connected: (child) => this.#connectionChanged(child),
      disconnected: (child) => this.#connectionChanged(child),
    });
  }

  #makeUplink(): ChildSession | undefined {
    const { parent, path } = this.#config;
    if (!parent) return undefined;
    const { store, clock, random, log, software, credentials } = this.#ports;
    return new ChildSession({
      store,
      clock,
      random,
      log,
      software,
      path,
      role: 'relay',
      identity: this.#identity,
      dialer: grpcDialer({ address: parent.address, parentPath: parent.path, credentials, clock }),
      producer: this.#outbox,
      consumer: this.#upstream,
      applied: (t, changes) => this.#fromAbove(t, changes),
      committed: (changes) => {
        this.#views.upstreamChanged(changes);
        this.#loop.poke();
      },
      connected: () => this.#reports.poke(),
      disconnected: () => this.#reports.poke(),
      caughtUp: () => {
        store.write((t) => markCaughtUp(t));
        this.#readiness.caughtUp();
        this.#loop.poke();
      },
      ready: () => this.#readiness.up,
    });
  }

  // ---------------------------------------------------------------------------------------------------------- API

  #makeApi(): ApiServer {
    const { credentials, clock, log, metrics } = this.#ports;
    const { certPem: cert, keyPem: key, caPem: ca } = credentials;
    const api = new ApiServer({
      tls: { cert, key, ca },
      ...this.#config.api,
      clock,
      log,
      authenticate: userOfCertificate,
      notReady: () => this.#readiness.notReady(),
      metrics,
    });
    api.mount('', this.#spaces.system);
    api.resolveWith((prefix) => this.#views.resolve(prefix));
    return api;
  }
}
