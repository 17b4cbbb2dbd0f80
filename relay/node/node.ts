/**
 * The assembly of a node with children: the node state (node-state.ts), the rooms of the way down and of the way up (downsync.ts, status-aggregation.ts),
 * sessions on both sides, and the API server. The center is such a node without a parent. Read this file as the list of connections between the parts. The file
 * of each part explains what the part does.
 */

import { AccountTokens } from '../../core/apiserver/access/account-tokens.ts';
import { TokenSecrets } from '../../core/apiserver/access/token-secrets.ts';
import { type RequestControllers, requestControllers } from '../../core/apiserver/certificates/request-controllers.ts';
import { issuerOf } from '../../core/authentication/account-token.ts';
import { splitPlacementId } from '../../core/entries/placement-id.ts';
import { splitReplica } from '../../core/identity/replica.ts';
import { describeError } from '../../core/runtime/errors.ts';
import { pruneKeys } from '../../core/session/admitted-keys.ts';
import type { ChildSession } from '../../core/session/child-session.ts';
import type { ParentSessions } from '../../core/session/parent-sessions.ts';
import type { MeasuredSessions } from '../../core/session/session-metrics.ts';
import { fleetKind } from '../../core/stream/fleet-kind.ts';
import { apiKind, httpEndpoint } from '../../core/stream/http.ts';
import type { StreamRouter } from '../../core/stream/router.ts';
import { StreamCounts } from '../../core/stream/stream-counts.ts';
import type { Listener } from '../../core/wire/link.ts';
import { WatermarkPublisher } from '../catch-up/watermark-publisher.ts';
import { seedInventory } from '../children/seed-inventory.ts';
import type { NodeConfig } from '../config/config.ts';
import type { LiveConfig } from '../config/live-config.ts';
import { fleetEndpoint } from '../fleet/child-questions.ts';
import { fleetUrls } from '../fleet/fleet-urls.ts';
import type { GuardRoom } from '../guard/guard-room.ts';
import type { NodeReports } from '../inventory-status/node-reports.ts';
import { type Admissions, admissionsOf } from '../join/admissions.ts';
import { HostsBelow } from '../join/hosts-below.ts';
import { RevocationExpiry } from '../join/revocation-expiry.ts';
import { planUrls } from '../plan/plan-urls.ts';
import { treeUrls } from '../remote-access/tree-urls.ts';
import type { ScheduleLoop } from '../schedule/loop.ts';
import { SpaceLifecycle } from '../spaces/space-lifecycle.ts';
import { SpaceNames } from '../views/space-names.ts';
import { Downsync } from './downsync.ts';
import { FeedEventRouter } from './feed-event-router.ts';
import { fleetParts } from './fleet-parts.ts';
import { nodeLoop } from './node-loop.ts';
import type { FleetParts, NodeParts } from './node-parts.ts';
import type { NodeApi, NodePorts } from './node-ports.ts';
import { type LateParts, NodeState } from './node-state.ts';
import { NodeTokens } from './node-tokens.ts';
import { Readiness } from './readiness.ts';
import { guardOf, reportsOf } from './reports-and-guard.ts';
import { sessionAbove, sessionsBelow, streamsBetween } from './sessions.ts';
import { StatusAggregation } from './status-aggregation.ts';
import { revokedEndAfterMs, subscribeParts } from './subscriptions.ts';

export class Node implements AsyncDisposable {
  #config: NodeConfig;
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
  readonly #watermarkPublisher: WatermarkPublisher;
  /** Routes the byte streams of the node. */
  readonly streams: StreamRouter;
  readonly #guard: GuardRoom;
  readonly #admissions: Admissions | undefined;
  readonly #signingRequests: RequestControllers;
  readonly #accountTokens: AccountTokens;
  readonly #tokenSecrets: TokenSecrets;
  readonly #revocationExpiry: RevocationExpiry;
  readonly #hostsBelow: HostsBelow | undefined;
  readonly #fleet: FleetParts;
  readonly #api: NodeApi;
  readonly streamCounts = new StreamCounts();
  readonly #subscriptions: (() => void)[];
  #listener: Listener | undefined;
  #spaceLifecycle: SpaceLifecycle | undefined;

  constructor(config: NodeConfig, ports: NodePorts) {
    this.#config = config;
    this.#ports = ports;
    const parts = this.#parts();
    const lateParts = this.#lateParts();
    this.#nodeState = new NodeState(config, ports, lateParts);
    const rootAgeMs = () => this.#uplink?.rootAgeMs() ?? 0;
    this.#down = new Downsync(ports, this.#nodeState, lateParts, () => this.#up, rootAgeMs);
    this.#up = new StatusAggregation(config, ports, this.#nodeState, lateParts, this.#down);
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
        relays: () => this.#config.relays,
        quiet: () => this.#loop.quiet,
        isElsewhere: (relay) => this.#nodeState.replicas.standing(relay).isElsewhere,
        store: ports.store,
        upChanged: () => this.#uplink?.readyChanged(),
      },
      config.parent === undefined || this.#nodeState.identity.caughtUp,
    );
    this.streams = streamsBetween(config, ports, parts, this.streamCounts);
    this.#sessions = sessionsBelow(config, ports, parts);
    this.#uplink = sessionAbove(config, ports, parts);
    this.#reports = reportsOf(config, ports, parts);
    ports.renewal?.onTrouble(() => this.#reports.wake());
    ports.renewal?.onRenewed(() => {
      this.#nodeState.handedAuthorities?.look();
      this.#reports.wake();
    });
    this.#guard = guardOf(config, ports, parts);
    this.#admissions = admissionsOf(config, ports, {
      space: this.#nodeState.spaces.system,
      endSession: (child, reason) => this.#sessions.disconnect(child, reason),
      revocations: this.#nodeState.spaces.revocations,
      revoke: (path) => this.#nodeState.spaces.revokeNode(path, ports.clock.wallMs()),
    });
    const { system, revocations } = this.#nodeState.spaces;
    this.#signingRequests = requestControllers({
      space: system,
      signer: ports.userSigner,
      clock: ports.clock,
      log: ports.log,
      revokedAtMs: (user) => revocations.revokedAtMs(user),
    });
    this.#accountTokens = new AccountTokens({
      clock: ports.clock,
      random: ports.random,
      space: system,
      issuer: issuerOf(config.path),
      keys: this.#nodeState.tokenKeys,
      hasReplicas: (config.replicas ?? 1) > 1 && ports.tokenKeys !== undefined,
    });
    const { authority } = ports;
    this.#tokenSecrets = new TokenSecrets({ ...ports, space: system, tokens: this.#accountTokens, authority });
    this.#revocationExpiry = new RevocationExpiry({ ...ports, space: this.#nodeState.spaces.system });
    const { renewal } = ports;
    this.#hostsBelow =
      renewal && new HostsBelow({ path: config.path, space: system, changed: (hosts) => renewal.requireBelow(hosts) });
    this.#watermarkPublisher = new WatermarkPublisher({
      clock: ports.clock,
      present: () => ports.store.read((reader) => this.#nodeState.lookups.covered(reader)),
      send: () => this.#sessions.watermarksChanged(),
    });
    this.#fleet = fleetParts(config, ports, parts);
    this.#api = this.#makeApi();
    this.#subscriptions = subscribeParts(ports.store, ports.clock, parts);
  }

  /** For metrics: the reasons why sessions of this node ended, and the age of the newest report of the root. */
  get sessionEnds(): MeasuredSessions {
    const uplink = this.#uplink;
    return {
      children: this.#sessions.ends,
      ...(uplink ? { parent: uplink.ends, rootAgeMs: () => uplink.rootAgeMs() } : {}),
    };
  }

  /** Begins to serve, and to do the work that the last process left. The node serves when this returns. */
  async start(): Promise<{ url: string; meshAddress: string }> {
    const { store, log, network } = this.#ports;
    const { path, inventory } = this.#config;
    const { childRegistry, spaces } = this.#nodeState;
    store.write((t) => {
      pruneKeys(t, this.#ports.clock.wallMs());
      childRegistry.load(t);
      this.#nodeState.reportOwnRevoked(t);
    });
    store.read((reader) => {
      this.#nodeState.labelSummaryAcknowledgement.load();
      this.#down.load(reader);
    });
    seedInventory(spaces.system, inventory);
    this.#nodeState.writeDueRevocations(this.#ports.clock);
    await store.flushed();
    const { ends } = this.#sessions;
    this.#listener = await network.listen(
      (link) => this.#sessions.accept(link),
      this.#admissions,
      (refusal) => ends.refuse(refusal),
    );
    const url = await this.#api.listen();
    this.#spaceLifecycle = this.#serveSpaces(url);
    this.#loop.wake();
    this.#down.start();
    this.#up.start();
    this.#uplink?.start();
    this.#reports.start();
    this.#guard.start();
    this.#admissions?.start();
    this.#signingRequests.start();
    this.#tokenSecrets.start();
    this.#revocationExpiry.start();
    this.#hostsBelow?.start();
    this.#nodeState.handedAuthorities?.start();
    log.info({ path, url, meshAddress: this.#listener.address }, 'the node serves');
    return { url, meshAddress: this.#listener.address };
  }

  /** Takes the parts of another configuration that may change while the node runs. */
  async reconfigure(live: LiveConfig): Promise<void> {
    const config = { ...this.#config, ...live };
    this.#config = config;
    const { spaces, childRegistry } = this.#nodeState;
    const children = Array.from(childRegistry.children.keys(), (child) => splitReplica(child).name);
    const changed = spaces.writtenClaims.configure(config.children, children);
    this.#ports.store.write((t) => {
      for (const child of changed) childRegistry.claimsChanged(t, child);
    });
    spaces.configure(config.spaces);
    seedInventory(spaces.system, config.inventory);
    await this.#ports.store.flushed();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#loop.stop();
    this.#spaceLifecycle?.stop();
    for (const end of this.#subscriptions) end();
    this.#nodeState.childRegistry.stop();
    this.#nodeState.replicas.stop();
    this.#watermarkPublisher.stop();
    this.#down.stop();
    this.#up.stop();
    this.#reports.stop();
    this.#guard.stop();
    this.#admissions?.stop();
    this.#signingRequests.stop();
    this.#tokenSecrets.stop();
    this.#revocationExpiry.stop();
    this.#hostsBelow?.stop();
    this.#nodeState.handedAuthorities?.stop();
    this.#uplink?.close();
    this.#sessions.close();
    await this.#listener?.[Symbol.asyncDispose]();
    await this.#api[Symbol.asyncDispose]();
    this.#nodeState.spaces.close();
    await this.#ports.store.flushed();
  }

  #serveSpaces(url: string): SpaceLifecycle {
    const { clock, store } = this.#ports;
    const { spaces, placements, mailboxes } = this.#nodeState;
    return new SpaceLifecycle({
      system: spaces.system,
      clock,
      url,
      place: this.#config,
      spaces,
      hasRows: (space) => {
        const source = spaces.sourceOf(space);
        if (Array.from(placements.all()).some(({ id }) => splitPlacementId(id).source === source)) return true;
        const table = spaces.tableOf(source);
        return table !== undefined && store.read((reader) => !isEmpty(table.rows(reader)));
      },
      gone: () => spaces.configure(this.#config.spaces),
      changed: () => {
        this.#up.rollouts.followOrigins();
        this.#reports.spacesChanged();
        this.#loop.enqueue((t) => {
          for (const { producer } of mailboxes.all()) this.#guard.sendGaps(t, producer);
        });
      },
    });
  }

  #lateParts(): LateParts {
    return {
      enqueue: (act) => this.#loop.enqueue(act),
      connection: (child) => this.#sessions.status(child),
      endSession: (child, reason) => this.#sessions.disconnect(child, reason),
      hasReceivedFromParent: () => !this.#uplink || this.#readiness.hasReceivedFromParent,
      isParentAway: () => this.#uplink?.connected === false,
      parentHasReplicas: () => this.#uplink?.parentHasReplicas ?? false,
      childRemoved: (t, child) => this.#reports.removed(t, child),
      spaceRemoved: (t, source) => this.#guard.spaceRemoved(t, source),
      judgedAgain: (t, child, changes) => this.#feedEventRouter.receivedFromChild(t, child, changes),
      sums: {
        nodes: (t, child) => this.#reports.recount(t, child),
        placements: (t, child) => this.#up.recount(t, child),
        contributionsChanged: (keys) => this.#up.contributionsChanged(keys),
        decide: (id) => this.#down.mover.decide(id),
        report: (ids) => this.#up.report(ids),
      },
      authoritiesChanged: () => this.#authoritiesChanged(),
      failed: (error) => this.#ports.fatal(error),
    };
  }

  /** The sessions end a moment later, because the children learn of the change over them. */
  #authoritiesChanged(): void {
    this.#reports.wake();
    this.#ports.clock.after(revokedEndAfterMs, () => {
      this.#sessions.endRevoked();
      this.#uplink?.endRevoked();
    });
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
      watermarkPublisher: () => this.#watermarkPublisher,
      guard: () => this.#guard,
      streams: () => this.streams,
      fleet: () => this.#fleet,
      api: () => this.#api,
    };
  }

  // ---------------------------------------------------------------------------------------------------------- API

  /** Returns why the node is not ready. If the node can't reach its parent, the message says why. */
  #notReady(): string | undefined {
    const [message, unreached] = [this.#readiness.notReady(), this.#uplink?.unreached];
    return message === undefined || unreached === undefined ? message : `${message}: ${unreached}`;
  }

  #makeApi(): NodeApi {
    const { path } = this.#config;
    const { store, clock, random, log } = this.#ports;
    const { fleets } = this.#fleet;
    const { spaces } = this.#nodeState;
    const names = new SpaceNames({ store, path, upstream: this.#nodeState.upstream.sound });
    const namesOf = (own: Iterable<{ readonly name: string }>) => Array.from(own, ({ name }) => name);
    const sourceOf = (name: string) => names.sourceOf(name, namesOf(spaces.workloads()), 'space with placements');
    const ofFleets = fleetUrls({ path, fleets, clock, random, log, sourceOf });
    const ofPlans = planUrls({ store, path, ...this.#nodeState.lookups, ...this.#nodeState.previewPorts });
    const api = this.#ports.api({
      path,
      authorizer: spaces.authorizer,
      tokens: new NodeTokens(this.#accountTokens, this.#ports.people, this.#nodeState.metricsTokens),
      isRevoked: (user, validFromMs) => spaces.revocations.isRevoked(user, validFromMs),
      notReady: () => this.#notReady(),
      admitRequest: (place, isWatch) => spaces.admitRequest(place, isWatch),
      tree: treeUrls(path, this.streams, clock),
      urls: (request, signal) => ofFleets(request, signal) ?? ofPlans(request, signal),
    });
    this.streams.register(
      apiKind,
      httpEndpoint(path, (connection, user) => api.take(connection, user)),
    );
    const failed = (error: unknown) => log.error({ reason: describeError(error) }, 'a question about a fleet failed');
    this.streams.register(
      fleetKind,
      fleetEndpoint(path, (question, asker, signal) => fleets.answer(question, asker, signal), failed),
    );
    api.mount('', this.#nodeState.spaces.system);
    api.resolveWith((prefix) => {
      const [, kind, name = ''] = prefix.split('/');
      const own = kind === 'spaces' ? spaces.named(name) : undefined;
      if (own) return own;
      names.check(prefix, namesOf(spaces.allNamed()));
      return this.#up.views.resolve(prefix);
    });
    return api;
  }
}

function isEmpty(rows: Iterable<unknown>): boolean {
  for (const _ of rows) return false;
  return true;
}
