/**
 * The assembly of a node with children: what it stands on (node-state.ts), the rooms of both ways (downsync.ts, status-aggregation.ts), sessions on both sides and
 * the API server. The center is this without a parent. Read it as the list of what is connected to what; each part says in its own file what it does.
 */
import type { ChildSession } from '../../core/session/child-session.ts';
import type { ParentSessions } from '../../core/session/parent-sessions.ts';
import type { MeasuredSessions } from '../../core/session/session-metrics.ts';
import { apiKind, httpEndpoint } from '../../core/stream/http.ts';
import type { StreamRouter } from '../../core/stream/router.ts';
import { StreamCounts } from '../../core/stream/stream-counts.ts';
import type { Listener } from '../../core/wire/link.ts';
import { seedInventory } from '../children/seed-inventory.ts';
import type { NodeConfig } from '../config/config.ts';
import type { GuardRoom } from '../guard/guard-room.ts';
import type { NodeReports } from '../inventory-status/node-reports.ts';
import { type Admissions, admissionsOf } from '../join/admissions.ts';
import { treeUrls } from '../remote-access/tree-urls.ts';
import { ReplicaRecount } from '../replicas/recounts.ts';
import { WatermarkPublisher } from '../replicas/watermark-publisher.ts';
import type { ScheduleLoop } from '../schedule/loop.ts';
import { Downsync } from './downsync.ts';
import { FeedEventRouter } from './feed-event-router.ts';
import { nodeLoop } from './node-loop.ts';
import type { NodeParts } from './node-parts.ts';
import type { NodeApi, NodePorts } from './node-ports.ts';
import { type LaterParts, NodeState } from './node-state.ts';
import { Readiness } from './readiness.ts';
import { guardOf, reportsOf } from './reports-and-guard.ts';
import { sessionAbove, sessionsBelow, streamsBetween } from './sessions.ts';
import { StatusAggregation } from './status-aggregation.ts';
import { subscribeParts } from './subscriptions.ts';

export class Node implements AsyncDisposable {
  readonly #config: NodeConfig;
  readonly #ports: NodePorts;
  readonly #nodeState: NodeState;
  readonly #down: Downsync;
  readonly #up: StatusAggregation;
  readonly #loop: ScheduleLoop;
  readonly #feedEventRouter: FeedEventRouter;
  readonly #readiness: Readiness;
  readonly #sessions: ParentSessions;
  readonly #uplink: ChildSession | undefined;
  readonly #reports: NodeReports;
  readonly #recounts: ReplicaRecount;
  readonly #watermarkPublisher: WatermarkPublisher;
  /** Where its byte streams meet. */
  readonly streams: StreamRouter;
  readonly #guard: GuardRoom;
  readonly #admissions: Admissions | undefined;
  readonly #api: NodeApi;
  readonly streamCounts = new StreamCounts();
  readonly #subscriptions: (() => void)[];
  #listener: Listener | undefined;

  constructor(config: NodeConfig, ports: NodePorts) {
    this.#config = config;
    this.#ports = ports;
    const parts = this.#parts();
    const later = this.#laterParts();
    this.#nodeState = new NodeState(config, ports, later);
    const rootAgeMs = () => this.#uplink?.rootAgeMs() ?? 0;
    this.#down = new Downsync(ports, this.#nodeState, later, () => this.#up, rootAgeMs);
    this.#up = new StatusAggregation(config, ports, this.#nodeState, later, this.#down);
    this.#loop = nodeLoop(ports, parts);
    this.#feedEventRouter = new FeedEventRouter({
      nodeState: this.#nodeState,
      down: this.#down,
      up: this.#up,
      guard: () => this.#guard,
      reports: () => this.#reports,
    });
    this.#readiness = new Readiness(
      {
        children: this.#nodeState.childRegistry.children,
        relays: config.relays,
        quiet: () => this.#loop.quiet,
        isElsewhere: (relay) => this.#nodeState.place.isElsewhere(relay),
        store: ports.store,
        upChanged: () => this.#uplink?.readyChanged(),
      },
      config.parent === undefined || this.#nodeState.identity.caughtUp,
    );
    this.streams = streamsBetween(config, ports, parts, this.streamCounts);
    this.#sessions = sessionsBelow(config, ports, parts);
    this.#uplink = sessionAbove(config, ports, parts);
    this.#reports = reportsOf(config, ports, parts);
    this.#recounts = new ReplicaRecount({
      store: ports.store,
      labels: (t, children) => this.#nodeState.childRegistry.recount(t, children),
      nodes: (t, child) => this.#reports.recount(t, child),
      placements: (t, child) => this.#up.recount(t, child),
      contributionsChanged: (keys) => this.#up.contributionsChanged(keys),
      decide: (id) => this.#down.mover.decide(id),
      report: (ids) => this.#up.report(ids),
    });
    this.#guard = guardOf(config, ports, parts);
    this.#admissions = admissionsOf(config, ports, this.#nodeState.spaces.system);
    this.#watermarkPublisher = new WatermarkPublisher({
      clock: ports.clock,
      present: () => ports.store.read((reader) => this.#nodeState.lookups.covered(reader)),
      tell: () => this.#sessions.watermarksChanged(),
    });
    this.#api = this.#makeApi();
    this.#subscriptions = subscribeParts(ports.store, parts);
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
    const { childRegistry, spaces } = this.#nodeState;
    // Before anything is counted: whose children count.
    store.read((reader) => {
      this.#nodeState.groups.load(reader);
      this.#nodeState.place.load(reader);
    });
    store.write((t) => childRegistry.load(t));
    store.read((reader) => {
      this.#nodeState.matched.load();
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
    this.#loop.wake();
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
    for (const end of this.#subscriptions) end();
    this.#nodeState.childRegistry.stop();
    this.#nodeState.groups.stop();
    this.#watermarkPublisher.stop();
    this.#down.stop();
    this.#up.stop();
    this.#reports.stop();
    this.#guard.stop();
    this.#admissions?.stop();
    this.#uplink?.close();
    this.#sessions.close();
    await this.#listener?.[Symbol.asyncDispose]();
    await this.#api[Symbol.asyncDispose]();
    this.#nodeState.spaces.close();
    await this.#ports.store.flushed();
  }

  #laterParts(): LaterParts {
    return {
      enqueue: (act) => this.#loop.enqueue(act),
      connection: (child) => this.#sessions.status(child),
      endSession: (child, reason) => this.#sessions.disconnect(child, reason),
      hasReceivedFromParent: () => !this.#uplink || this.#readiness.hasReceivedFromParent,
      parentHasReplicas: () => this.#uplink?.parentHasReplicas ?? false,
      recountChildren: (children) => this.#recounts.recountChildren(children),
      failed: (error) => this.#ports.fatal(error),
    };
  }

  #parts(): NodeParts {
    return {
      nodeState: () => this.#nodeState,
      down: () => this.#down,
      up: () => this.#up,
      loop: () => this.#loop,
      feedEventRouter: () => this.#feedEventRouter,
      readiness: () => this.#readiness,
      sessions: () => this.#sessions,
      uplink: () => this.#uplink,
      reports: () => this.#reports,
      recounts: () => this.#recounts,
      watermarkPublisher: () => this.#watermarkPublisher,
      guard: () => this.#guard,
      streams: () => this.streams,
    };
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
    api.mount('', this.#nodeState.spaces.system);
    for (const space of this.#nodeState.spaces.named()) api.mount(`/spaces/${space.name}`, space);
    api.resolveWith((prefix) => this.#up.views.resolve(prefix));
    return api;
  }
}
