/**
 * The assembly of a node with children: store, spaces, API server, scheduler, sessions on both sides. The center is this without
 * a parent. Read it as the list of what is connected to what; each part says in its own file what it does.
 */
import { ApiServer } from '../core/apiserver/http/api-server.ts';
import type { Space } from '../core/apiserver/space.ts';
import type { StorageEvent } from '../core/apiserver/storage.ts';
import { FeedConsumer } from '../core/feed/consumer.ts';
import type { AppliedChange, Table } from '../core/feed/feed.ts';
import { FeedProducer } from '../core/feed/producer.ts';
import { hash128 } from '../core/object/hash.ts';
import type { Labels } from '../core/object/selector.ts';
import type { Clock } from '../core/runtime/clock.ts';
import { BanyanError } from '../core/runtime/errors.ts';
import type { Logger } from '../core/runtime/logger.ts';
import type { Random } from '../core/runtime/random.ts';
import { ChildSession } from '../core/session/child-session.ts';
import { beginBoot, markCaughtUp, type NodeIdentity } from '../core/session/node-identity.ts';
import { type ChildFeeds, ParentSessions } from '../core/session/parent-sessions.ts';
import type { Store, Transaction } from '../core/store/store.ts';
import {
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
import { Gather } from './gather/gather.ts';
import { Reporter } from './gather/reporter.ts';
import { StatusWriter } from './gather/status-writer.ts';
import { Mailboxes } from './mailbox/mailboxes.ts';
import { ChildBook } from './schedule/child-book.ts';
import { markDirty } from './schedule/dirty.ts';
import { Inventory } from './schedule/inventory.ts';
import { ScheduleLoop } from './schedule/loop.ts';
import { Placements } from './schedule/placements.ts';
import { attributesOf, noteSourceChange, Scheduler } from './schedule/schedule.ts';
import { seedInventory } from './schedule/seed-inventory.ts';
import {
  type OpenSpace,
  openSpace,
  openWorkloadSpace,
  type SpacePorts,
  type WorkloadSpace,
} from './spaces/own-spaces.ts';
import { Views } from './spaces/views.ts';
import { inheritedBelow } from './tree/inherited-labels.ts';
import { objectName } from './tree/node-objects.ts';
import { NodeReports } from './tree/node-reports.ts';
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
  readonly #system: OpenSpace;
  readonly #spaces = new Map<string, WorkloadSpace>();
  readonly #upstream: FeedConsumer;
  readonly #outbox: FeedProducer;
  readonly #mailboxes: Mailboxes;
  readonly #placements = new Placements();
  readonly #book: ChildBook;
  readonly #scheduler: Scheduler;
  readonly #loop: ScheduleLoop;
  readonly #gather: Gather;
  readonly #reporter: Reporter;
  readonly #statuses: StatusWriter;
  readonly #views: Views;
  readonly #sessions: ParentSessions;
  readonly #reports: NodeReports;
  readonly #uplink: ChildSession | undefined;
  readonly #api: ApiServer;
  #listener: Listener | undefined;
  #caughtUp: boolean;
  #everQuiet = false;
  /** Children to which everything that concerns them has been given. */
  readonly #readyChildren = new Set<string>();
  #hasHeardAll = false;

  constructor(config: NodeConfig, ports: NodePorts) {
    this.#config = config;
    this.#ports = ports;
    const { store, clock, random, log } = ports;
    this.#identity = store.write((t) => beginBoot(t, clock, random));
    this.#caughtUp = config.parent === undefined || this.#identity.caughtUp;
    const { bootNonce } = this.#identity;
    this.#upstream = store.write((t) => FeedConsumer.open(t, { name: 'upstream' }));
    this.#outbox = store.write((t) => FeedProducer.open(t, { name: 'outbox', bootNonce, random }));
    this.#mailboxes = new Mailboxes(store, random, bootNonce);
    let inventory: Inventory | undefined;
    const spacePorts: SpacePorts = { store, clock, random, log, soon: ports.soon };
    this.#system = openSpace(spacePorts, 'system', 'System', (t, event) => {
      for (const name of inventory?.note(event) ?? []) markDirty(t, 'child', name);
    });
    inventory = new Inventory(this.#system.storage);
    this.#system.storage.subscribe((events) => this.#systemChanged(events));
    this.#book = new ChildBook({
      inventory,
      mailboxes: this.#mailboxes,
      outbox: this.#outbox,
      inherited: () => this.#inherited(),
      path: config.path,
    });
    this.#scheduler = new Scheduler({
      tableOf: (source) => this.#tableOf(source),
      mailboxOf: (child) => this.#mailboxes.get(child)?.producer,
      children: this.#book.children,
      placements: this.#placements,
      refreshChild: (t, name) => this.#book.refresh(t, name),
    });
    this.#loop = this.#makeLoop();
    this.#gather = new Gather({
      placements: this.#placements,
      children: this.#book.children,
      reportedOf: (child) => this.#mailboxes.get(child)?.reported,
      connection: (child) => this.#sessions.status(child),
    });
    this.#statuses = new StatusWriter({
      store,
      clock,
      log,
      gather: this.#gather,
      placements: this.#placements,
      outbox: this.#outbox,
      children: this.#book.children,
      ownSpace: (source) => this.#ownSpace(source),
      tableOf: (source) => this.#tableOf(source),
      reportedOf: (child) => this.#mailboxes.get(child)?.reported,
    });
    this.#reporter = new Reporter({ clock, soon: ports.soon, report: (ids) => this.#report(ids) });
    this.#views = new Views({
      store,
      clock,
      log,
      mailboxes: this.#mailboxes,
      upstream: this.#upstream,
      statusOf: (reader, id) => this.#statuses.statusOf(reader, id),
      isOwn: (source) => this.#ownSpace(source) !== undefined,
    });
    this.#sessions = this.#makeSessions();
    this.#uplink = this.#makeUplink();
    this.#api = this.#makeApi();
    this.#reports = new NodeReports({
      space: this.#system.space,
      path: config.path,
      software: ports.software,
      clock,
      children: this.#book.children,
      mailboxes: this.#mailboxes,
      store,
      connection: (child) => this.#sessions.status(child),
      attached: () => this.#uplink?.connected,
    });
    for (const { name, type } of config.spaces) if (type === 'Workload') this.#openSpace(spacePorts, name);
  }

  /** Serves when it returns; what was left to do at the last end is taken up first. */
  async start(): Promise<{ url: string; meshAddress: string }> {
    const { store, log, credentials } = this.#ports;
    const { mesh, path, inventory } = this.#config;
    store.write((t) => this.#book.load(t));
    store.read((reader) => this.#scheduler.load(reader));
    seedInventory(this.#system.space, inventory);
    this.#showSpaces();
    await store.flushed();
    this.#listener = await listenGrpc({ ...mesh, credentials, log, accept: (link) => this.#sessions.accept(link) });
    const url = await this.#api.listen();
    this.#loop.poke();
    for (const placement of this.#placements.all()) this.#reporter.mark(placement.id);
    this.#uplink?.start();
    this.#reports.start();
    log.info({ path, url, meshAddress: this.#listener.address }, 'the node serves');
    return { url, meshAddress: this.#listener.address };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#loop.stop();
    this.#reporter.stop();
    this.#reports.stop();
    this.#uplink?.close();
    this.#sessions.close();
    await this.#listener?.[Symbol.asyncDispose]();
    await this.#api[Symbol.asyncDispose]();
    for (const space of this.#spaces.values()) space.close();
    this.#system.close();
    await this.#ports.store.flushed();
  }

  // --------------------------------------------------------------------------------------------------- spaces

  #openSpace(ports: SpacePorts, name: string): void {
    const source = `${objectName(this.#config.path)}.${name}`;
    const opened = openWorkloadSpace(ports, name, source, () => this.#loop.poke());
    this.#spaces.set(source, opened);
    this.#api.mount(`/spaces/${name}`, opened.space);
  }

  #showSpaces(): void {
    const { space } = this.#system;
    for (const { name, type } of this.#config.spaces) {
      const object = { apiVersion: 'mesh.banyan.io/v1alpha1', kind: 'Space', metadata: { name }, spec: { type } };
      if (!space.get(space.keyOf(object))) space.create(object);
    }
  }

  #ownSpace(source: string): Space | undefined {
    return this.#spaces.get(source)?.space;
  }

  #tableOf(source: string): Table {
    return this.#spaces.get(source)?.table ?? this.#upstream;
  }

  #systemChanged(events: readonly StorageEvent[]): void {
    if (events.some(({ object }) => object.key.group === 'inventory.banyan.io')) this.#loop.poke();
  }

  // -------------------------------------------------------------------------------------------------- the way down

  #makeLoop(): ScheduleLoop {
    const { store, log, soon } = this.#ports;
    return new ScheduleLoop({
      store,
      log,
      scheduler: this.#scheduler,
      soon,
      selections: () => [...this.#spaces.values()].map(({ selection }) => selection),
      stepped: ({ touched, changed }) => {
        for (const child of touched) this.#sessions.wake(child);
        for (const id of changed) {
          store.read((reader) => this.#gather.refresh(reader, id));
          this.#reporter.mark(id);
        }
        this.#uplink?.wake();
        this.#views.mailboxesChanged(touched);
        this.#reports.poke();
      },
      idle: () => {
        this.#everQuiet = true;
        this.#checkReady();
      },
      failed: (error) => this.#ports.fatal(error),
    });
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
    if (changes.some(({ key }) => parseEntryKey(key)?.type === 'labels')) markDirty(t, 'child', child);
  }

  #reportedChanged(child: string, changes: readonly AppliedChange[]): void {
    const { store } = this.#ports;
    const ids = new Set<PlacementId>();
    for (const { key } of changes) {
      const entry = parseEntryKey(key);
      if (entry?.type === 'partial' || entry?.type === 'status') ids.add(entry.id);
      if (entry?.type === 'state')
        for (const id of this.#statuses.singletonsOf(entry.source, entry.object)) ids.add(id);
      if (entry?.type === 'labels') this.#loop.poke();
    }
    store.read((reader) => {
      for (const id of ids) this.#gather.childChanged(reader, id, child);
    });
    for (const id of ids) this.#reporter.mark(id);
    this.#views.reportedChanged(child, changes);
    this.#reports.poke();
  }

  #connectionChanged(child: string): void {
    this.#ports.store.read((reader) => {
      for (const { id } of this.#placements.ofChild(child)) {
        this.#gather.childChanged(reader, id, child);
        this.#reporter.mark(id);
      }
    });
    this.#reports.poke();
  }

  #report(ids: readonly PlacementId[]): void {
    try {
      const told = this.#statuses.write(ids);
      for (const id of told) this.#views.placementChanged(splitPlacementId(id));
      this.#uplink?.wake();
    } catch (error) {
      this.#ports.fatal(error);
    }
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
      feedsOf: (t, child, role) => this.#feedsOf(t, child, role),
      ready: (child) => this.#readyChildren.has(child),
      applied: (t, child, changes) => this.#fromBelow(t, child, changes),
      committed: (child, changes) => this.#reportedChanged(child, changes),
      acknowledged: () => this.#reports.poke(),
      connected: (child) => this.#connectionChanged(child),
      disconnected: (child) => this.#connectionChanged(child),
    });
  }

  /** Agents are known by the inventory; a relay below is known by its certificate. */
  #feedsOf(t: Transaction, child: string, role: 'relay' | 'agent'): ChildFeeds {
    const known = this.#mailboxes.get(child);
    if (known && known.role !== role) {
      throw new BanyanError(
        'AlreadyExists',
        `the name "${child}" is taken by a ${known.role}: give this ${role} another name`,
      );
    }
    if (!known && role === 'agent') {
      throw new BanyanError(
        'NotFound',
        `there is no SyncTarget "${child}" here: create it, with its Location, before the agent joins`,
      );
    }
    const { producer, reported } = known ?? this.#book.addRelay(t, child);
    this.#loop.poke();
    return { producer, consumer: reported };
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
        this.#caughtUp = true;
        this.#loop.poke();
      },
      ready: () => this.#hasHeardAll,
    });
  }

  /**
   * What is missing in a feed is meant to be missing, once everything above has arrived, the child has said what is below it, and
   * all of that is worked off. The way up is ready when every relay that is known beforehand has spoken, however long that takes: until then
   * the parent keeps what it was told before, and so goes on to send what the silent one needs. Both stay so while the node runs.
   */
  #checkReady(): void {
    if (!this.#caughtUp || !this.#everQuiet || !this.#loop.quiet) return;
    const before = this.#readyChildren.size;
    for (const { name, role, labels } of this.#book.children.values())
      if (role === 'agent' || labels) this.#readyChildren.add(name);
    if (this.#readyChildren.size > before) this.#sessions.readyChanged();
    if (this.#hasHeardAll || !this.#config.relays.every((name) => this.#readyChildren.has(name))) return;
    this.#hasHeardAll = true;
    this.#uplink?.readyChanged();
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
      notReady: () => this.#notReady(),
      metrics,
    });
    api.mount('', this.#system.space);
    api.resolveWith((prefix) => this.#views.resolve(prefix));
    return api;
  }

  #notReady(): string | undefined {
    if (!this.#caughtUp) return 'waiting for the parent';
    if (!this.#everQuiet) return 'working off what was left to do';
    return undefined;
  }
}
