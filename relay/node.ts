/**
 * The assembly of a node with children: what it stands on (ground.ts), the rooms of both ways (way-down.ts, way-up.ts), sessions on both sides and
 * the API server. The center is this without a parent. Read it as the list of what is connected to what; each part says in its own file what it does.
 */
import { deletionLimits } from '../core/feed/deletions.ts';
import type { ChildSession } from '../core/session/child-session.ts';
import { ParentSessions } from '../core/session/parent-sessions.ts';
import type { MeasuredSessions } from '../core/session/session-metrics.ts';
import { readWatermarks } from '../core/session/watermark.ts';
import type { Transaction } from '../core/store/store.ts';
import { apiKind, httpEndpoint } from '../core/stream/http.ts';
import type { StreamRouter } from '../core/stream/router.ts';
import { StreamCounts } from '../core/stream/stream-counts.ts';
import type { PlacementId } from '../core/wire/entries.ts';
import type { Listener } from '../core/wire/link.ts';
import type { NodeConfig } from './config.ts';
import { Flows } from './flows.ts';
import { Ground, type NodeEvents } from './ground.ts';
import { GuardRoom } from './guard/guard-room.ts';
import { type Admissions, admissionsOf } from './join/admissions.ts';
import type { NodeApi, NodePorts } from './node-ports.ts';
import { markDirty } from './schedule/dirty.ts';
import { ScheduleLoop } from './schedule/loop.ts';
import type { Placement } from './schedule/placements.ts';
import { seedInventory } from './schedule/seed-inventory.ts';
import { NodeReports } from './tree/node-reports.ts';
import { Readiness } from './tree/readiness.ts';
import { Recounts } from './tree/recounts.ts';
import { nodeStreams } from './tree/streams.ts';
import { treeUrls } from './tree/tree-urls.ts';
import { WatermarkTeller } from './tree/watermark-teller.ts';
import { nodeUplink } from './uplink.ts';
import { WayDown } from './way-down.ts';
import { WayUp } from './way-up.ts';

export class Node implements AsyncDisposable {
  readonly #config: NodeConfig;
  readonly #ports: NodePorts;
  readonly #ground: Ground;
  readonly #down: WayDown;
  readonly #up: WayUp;
  readonly #loop: ScheduleLoop;
  readonly #flows: Flows;
  readonly #readiness: Readiness;
  readonly #sessions: ParentSessions;
  readonly #uplink: ChildSession | undefined;
  readonly #reports: NodeReports;
  readonly #recounts: Recounts;
  readonly #teller: WatermarkTeller;
  /** Where its byte streams meet. */
  readonly streams: StreamRouter;
  readonly #guard: GuardRoom;
  readonly #admissions: Admissions | undefined;
  readonly #api: NodeApi;
  readonly streamCounts = new StreamCounts();
  #listener: Listener | undefined;

  constructor(config: NodeConfig, ports: NodePorts) {
    this.#config = config;
    this.#ports = ports;
    const events = this.#events();
    this.#ground = new Ground(config, ports, events);
    const rootAgeMs = () => this.#uplink?.rootAgeMs() ?? 0;
    this.#down = new WayDown(ports, this.#ground, events, () => this.#up, rootAgeMs);
    this.#up = new WayUp(config, ports, this.#ground, events, this.#down);
    this.#loop = this.#makeLoop(events);
    this.#flows = new Flows({
      ground: this.#ground,
      down: this.#down,
      up: this.#up,
      loop: this.#loop,
      guard: () => this.#guard,
      reports: () => this.#reports,
      uplink: () => this.#uplink,
      isConnected: (child) => this.#sessions.status(child).connected,
    });
    this.#readiness = new Readiness(
      {
        children: this.#ground.book.children,
        relays: config.relays,
        quiet: () => this.#loop.quiet,
        isElsewhere: (relay) => this.#ground.place.isElsewhere(relay),
        downChanged: (children) => this.#sessions.readyChanged(children),
        upChanged: () => this.#uplink?.readyChanged(),
      },
      config.parent === undefined || this.#ground.identity.caughtUp,
    );
    this.streams = this.#makeStreams();
    this.#sessions = this.#makeSessions();
    this.#uplink = this.#makeUplink();
    this.#reports = this.#makeReports();
    this.#recounts = new Recounts({
      store: ports.store,
      labels: (t, children) => this.#ground.book.recount(t, children),
      nodes: (t, child) => this.#reports.recount(t, child),
      placements: (t, child) => this.#up.recount(t, child),
      childrenChanged: (changes) => this.#up.childrenChanged(changes),
      decide: (id) => this.#down.mover.decide(id),
      tell: (ids) => this.#up.tell(ids),
    });
    this.#guard = this.#makeGuard();
    this.#admissions = admissionsOf(config, ports, this.#ground.spaces.system);
    this.#teller = new WatermarkTeller({
      clock: ports.clock,
      present: () => ({
        ...ports.store.read((reader) => readWatermarks(reader)).told,
        ...this.#ground.spaces.revisions(),
      }),
      tell: () => this.#sessions.watermarksChanged(),
    });
    this.#api = this.#makeApi();
  }

  /** Why its sessions ended, and how old its word of the root is. */
  get sessionEnds(): MeasuredSessions {
    const uplink = this.#uplink;
    return {
      children: this.#sessions.ends,
      ...(uplink ? { parent: uplink.ends, rootAgeMs: () => uplink.rootAgeMs() } : {}),
    };
  }

  /** Serves when it returns; what was left to do at the last end is taken up first. */
  async start(): Promise<{ url: string; meshAddress: string }> {
    const { store, log, network } = this.#ports;
    const { path, inventory } = this.#config;
    const { book, spaces } = this.#ground;
    // Before anything is counted: whose children count.
    store.read((reader) => {
      this.#ground.groups.load(reader);
      this.#ground.place.load(reader);
    });
    store.write((t) => book.load(t));
    store.read((reader) => {
      this.#ground.matched.load();
      this.#down.load(reader);
    });
    seedInventory(spaces.system, inventory);
    await store.flushed();
    const { ends } = this.#sessions;
    this.#listener = await network.listen(
      (link) => this.#sessions.accept(link),
      this.#admissions,
      (refusal) => ends.refuse(refusal),
    );
    const url = await this.#api.listen();
    this.#loop.poke();
    this.#down.start();
    this.#up.start();
    this.#uplink?.start();
    this.#reports.start();
    this.#guard.start();
    this.#admissions?.start();
    log.info({ path, url, meshAddress: this.#listener.address }, 'the node serves');
    return { url, meshAddress: this.#listener.address };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#loop.stop();
    this.#ground.book.stop();
    this.#ground.groups.stop();
    this.#teller.stop();
    this.#down.stop();
    this.#up.stop();
    this.#reports.stop();
    this.#guard.stop();
    this.#admissions?.stop();
    this.#uplink?.close();
    this.#sessions.close();
    await this.#listener?.[Symbol.asyncDispose]();
    await this.#api[Symbol.asyncDispose]();
    this.#ground.spaces.close();
    await this.#ports.store.flushed();
  }

  #events(): NodeEvents {
    return {
      poke: () => this.#loop.poke(),
      pokeIn: (ms) => this.#loop.pokeIn(ms),
      later: (act) => this.#later(act),
      childRead: (name) => {
        this.#reports.poke(name);
        this.#readiness.childRead(name);
      },
      admitted: (id, children) => {
        this.#up.childrenChanged(children.map((child) => ({ id, child })));
        this.#loop.poke();
      },
      report: (ids) => this.#report(ids),
      mailboxesChanged: (children) => {
        for (const child of children) this.#sessions.wake(child);
        this.#up.views.mailboxesChanged(children);
        this.#reports.poke(...children);
      },
      setAsideChanged: () => this.#reports.poke(),
      told: () => this.#uplink?.wake(),
      failed: (error) => this.#ports.fatal(error),
      childLeft: (child) => this.#sessions.disconnect(child, 'it was removed from the inventory'),
      connection: (child) => this.#sessions.status(child),
      hasHeardParent: () => !this.#uplink || this.#readiness.hasHeardParent,
      siblingsChanged: (children) => {
        this.#recounts.recount(children);
        this.#uplink?.wake();
      },
      retell: (children) => this.#recounts.retell(children),
      endSession: (child, reason) => this.#sessions.disconnect(child, reason),
      mayFollow: (children) => {
        this.#sessions.readyChanged(children);
        this.#reports.poke(...children);
      },
    };
  }

  /** What has fallen due, or was decided outside a transaction. */
  #later(act: (t: Transaction) => void): void {
    this.#orFatal(() => {
      this.#ports.store.write(act);
      this.#uplink?.wake();
      this.#loop.poke();
    });
  }

  #orFatal(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#ports.fatal(error);
    }
  }

  // -------------------------------------------------------------------------------------------------- the way down

  #makeLoop(events: NodeEvents): ScheduleLoop {
    const { store, clock, log, soon } = this.#ports;
    return new ScheduleLoop({
      store,
      clock,
      log,
      scheduler: this.#down.scheduler,
      guard: this.#down.guard,
      soon,
      before: () => [...this.#ground.spaces.contributing(), this.#ground.inventory],
      stepped: ({ touched, changed, changedWith }) => {
        // What could not be made for an agent is part of what the agent adds to summaries.
        const made = this.#down.customization.takeChanged();
        this.#up.childrenChanged(made);
        this.#up.placementsChanged(changed);
        this.#up.placementsChangedWith(changedWith);
        const summed = new Set([...changed, ...changedWith.keys(), ...made.map(({ id }) => id)]);
        for (const id of summed) this.#down.mover.decide(id);
        this.#uplink?.wake();
        events.mailboxesChanged(touched);
      },
      idle: () => {
        // Before it is said that all is here: it is part of that.
        if (this.#readiness.isCaughtUp) {
          this.#ground.matched.idle();
          this.#down.idle();
        }
        this.#readiness.idle();
        this.#ground.place.say();
        this.#down.arrivals.idle();
        if (this.#loop.quiet) this.#down.allWorkedOff();
        this.#teller.idle();
      },
      failed: (error) => this.#ports.fatal(error),
    });
  }

  #report(ids: readonly PlacementId[]): void {
    this.#orFatal(() => {
      this.#up.tell(ids);
      this.#uplink?.wake();
    });
  }

  // --------------------------------------------------------------------------------------------------- neighbours

  #makeSessions(): ParentSessions {
    const { store, clock, random, log, software, soon } = this.#ports;
    return new ParentSessions({
      soon,
      store,
      clock,
      random,
      log,
      software,
      path: this.#config.path,
      feedsOf: (t, child, role) => {
        const feeds = this.#ground.book.feedsOf(t, child, role);
        this.#guard.tell(t, feeds.producer);
        this.#down.arrivals.begin(child);
        this.#loop.poke();
        return feeds;
      },
      ready: (child) => this.#readiness.down(child) && this.#down.arrivals.mayFollow(child),
      putBack: () => {
        store.write((t) => this.#down.unheard.begin(t));
        if (this.#uplink) this.#readiness.putBack();
      },
      hasOtherHistory: (child, wasPutBack) => {
        this.#ground.groups.hasOtherHistory(child);
        this.#down.hasOtherHistory(child, wasPutBack);
        // A parent with siblings is compared by its watermarks.
        const isAlone = this.#uplink !== undefined && !this.#ground.place.hasSiblings;
        if (isAlone && this.#readiness.hasOtherHistory(child)) {
          const reason = 'it has rows of another history: it keeps what it has until the parent was heard';
          log.info({ child, reason }, 'a child waits');
        }
      },
      applied: (t, child, changes) => this.#flows.fromBelow(t, child, changes),
      committed: (child, changes) => this.#flows.fromBelowCommitted(child, changes),
      siblings: this.#ground.place,
      watermarks: () => this.#teller.covered,
      acknowledged: (child) => this.#reports.poke(child),
      heardOut: (child) => {
        this.#down.heardOut(child);
        this.#loop.poke();
      },
      caughtUp: (child) => {
        this.#down.arrived(child);
        this.#reports.poke(child);
        this.#loop.poke();
      },
      connected: (child) => this.#flows.connectionChanged(child),
      disconnected: (child) => this.#flows.connectionChanged(child),
      alarmChanged: (child) => this.#reports.poke(child),
      rootAgeMs: () => this.#uplink?.rootAgeMs() ?? 0,
      streamsOf: (child, link) => this.streams.sessionWith({ child }, link),
    });
  }

  #makeStreams(): StreamRouter {
    const { clock, software } = this.#ports;
    const { path, parent, streams } = this.#config;
    return nodeStreams({
      path,
      software,
      clock,
      observer: this.streamCounts,
      fromBelow: streams?.fromBelow ?? false,
      notReady: () => this.#readiness.notReady(),
      knows: (child) => this.#ground.book.children.has(child),
      child: (name) => this.#sessions.streams(name),
      siblings: (name, below) => this.#ground.groups.nearest(name, below),
      connection: (child) => this.#sessions.status(child),
      parent: () => (parent ? this.#uplink?.streams : 'none'),
    });
  }

  #makeUplink(): ChildSession | undefined {
    const { parent, path } = this.#config;
    if (!parent) return undefined;
    return nodeUplink(path, parent, this.#ports, this.#ground, {
      applied: (t, changes) => this.#flows.fromAbove(t, changes),
      passed: (t) => this.#ground.place.fromAbove(t, []),
      committed: (changes) => this.#flows.fromAboveCommitted(changes),
      connected: () => {
        this.#reports.poke();
        this.#guard.attached();
      },
      disconnected: () => this.#reports.poke(),
      unreachedChanged: () => this.#reports.poke(),
      alarmChanged: () => this.#reports.poke(),
      caughtUp: () => {
        this.#readiness.caughtUp();
        this.#down.mover.heardParent();
        this.#ground.place.say();
        this.#loop.poke();
      },
      putBack: () => {
        this.#ports.store.write((t) => this.#down.unheard.begin(t));
        this.#readiness.putBackBelow();
      },
      ready: () => this.#readiness.up,
      watermarksReached: () => this.#loop.poke(),
      streamsOf: (link) => this.streams.sessionWith('parent', link),
    });
  }

  #makeReports(): NodeReports {
    const { store, clock, software } = this.#ports;
    const { spaces, book, mailboxes, outbox } = this.#ground;
    return new NodeReports({
      space: spaces.system,
      path: this.#config.path,
      software,
      clock,
      children: book.children,
      inventories: spaces.inventories(),
      mailboxes,
      store,
      outbox,
      connection: (child) => this.#sessions.status(child),
      counting: this.#ground.counting,
      attached: () => this.#uplink?.connected,
      unreached: () => this.#uplink?.unreached,
      diverged: () => this.#uplink?.alarm.present,
      waiting: () => this.#uplink?.waiting,
      waits: (child) => this.#down.arrivals.waits(child),
      rootAgeMs: () => this.#uplink?.rootAgeMs() ?? 0,
      told: () => this.#uplink?.wake(),
      guarded: (reader) => this.#guard.guarded(reader),
      keptFor: (reader, child) => this.#guard.keptFor(reader, child),
    });
  }

  #makeGuard(): GuardRoom {
    const { store, clock, log } = this.#ports;
    const { spaces, upstream, outbox, mailboxes } = this.#ground;
    return new GuardRoom({
      path: this.#config.path,
      store,
      clock,
      log,
      spaces,
      upstream,
      outbox,
      mailboxes,
      told: (reader, child, path) => this.#reports.toldOf(reader, child, path),
      later: (act) => this.#later(act),
      released: (t, changes) => {
        this.#flows.fromAbove(t, changes);
        t.afterCommit(() => this.#flows.fromAboveCommitted(changes));
      },
      wrote: (child) => this.#sessions.wake(child),
      limits: this.#config.limits?.deletions ?? deletionLimits,
      setAside: () => this.#down.guard.setAside(),
      placementsOf: (child) => this.#placementsOf(child),
      labelsReleased: (t, child) => {
        markDirty(t, 'child', child);
        this.#ground.book.widen(t, child);
      },
      childChanged: (child) => {
        this.#reports.poke(child);
        this.#up.refusedChanged(child);
      },
      changed: () => this.#reports.poke(),
    });
  }

  #placementsOf(child: string): Placement[] {
    const { placements } = this.#ground;
    return [...placements.ofChild(child)].flatMap((id) => placements.get(id) ?? []);
  }

  // ---------------------------------------------------------------------------------------------------------- API

  /** Who waits for the parent says why it is not there. */
  #notReady(): string | undefined {
    const [words, why] = [this.#readiness.notReady(), this.#uplink?.unreached];
    return words === undefined || why === undefined ? words : `${words}: ${why}`;
  }

  #makeApi(): NodeApi {
    const { path } = this.#config;
    const api = this.#ports.api({
      notReady: () => this.#notReady(),
      tree: treeUrls(path, this.streams, this.#ports.clock),
    });
    this.streams.register(
      apiKind,
      httpEndpoint(path, (connection, user) => api.take(connection, user)),
    );
    api.mount('', this.#ground.spaces.system);
    for (const space of this.#ground.spaces.named()) api.mount(`/spaces/${space.name}`, space);
    api.resolveWith((prefix) => this.#up.views.resolve(prefix));
    return api;
  }
}
