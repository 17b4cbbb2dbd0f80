/**
 * An agent with its store on disk, its connection to the parent and, for an embedded cluster, the API of the cluster. If no parent answers at the start,
 * everything works except the connection.
 */
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { Authorizer } from '../core/access/authorizer.ts';
import { userOfCertificate } from '../core/access/certificate-user.ts';
import { ApiServer } from '../core/apiserver/http/api-server.ts';
import { apiTls } from '../core/apiserver/http/api-tls.ts';
import type { IsRevoked } from '../core/apiserver/http/request-users.ts';
import type { TokenIssuer } from '../core/apiserver/http/token-requests.ts';
import type { UserInfo } from '../core/apiserver/space.ts';
import { type OpenAudit, openAudit } from '../core/audit/open-audit.ts';
import { type MetricsTokens, metricsAudience } from '../core/authentication/metrics-tokens.ts';
import { openNodeStore } from '../core/encryption/open-store.ts';
import { deletionLimits } from '../core/feed/deletions.ts';
import type { Clock } from '../core/runtime/clock.ts';
import { BanyanError } from '../core/runtime/errors.ts';
import type { Logger } from '../core/runtime/logger.ts';
import { makeAllPrivate } from '../core/runtime/private-files.ts';
import type { Random } from '../core/runtime/random.ts';
import { failoverDialer } from '../core/session/failover-dialer.ts';
import type { Store } from '../core/store/store.ts';
import { apiKind, clusterKind, httpEndpoint } from '../core/stream/http.ts';
import type { EnvironmentProxies } from '../core/wire/dialer/proxy-choice.ts';
import type { Renewal } from '../core/wire/join/renewal.ts';
import { dialerTo } from '../core/wire/network/tls-network.ts';
import { storedTransport } from '../core/wire/network/transport-memory.ts';
import { currentOf, type NodeCredentials } from '../core/wire/node-credentials.ts';
import {
  AppliedInventoryScan,
  type AppliedInventoryScanPorts,
  scanAppliedInventory,
} from './agent/applied-inventory-scan.ts';
import { type AgentPorts, type AssembledAgent, assembleAgent } from './agent/assembly.ts';
import { agentAuthorizer } from './agent-authorizer.ts';
import type { ClusterPorts, OpenCluster, WriteGuard } from './cluster/cluster.ts';
import type { AgentConfig } from './config/config.ts';
import { Leadership } from './lease/leadership.ts';
import type { LeasePort } from './lease/lease.ts';
import { MemoryLimit } from './limits/memory-limit.ts';
import { metricsOf, standbyMetricsOf } from './metrics.ts';
import { noFleet } from './no-fleet.ts';

export interface NodeOptions {
  readonly config: AgentConfig;
  readonly version: string;
  readonly credentials: NodeCredentials;
  readonly treeTrust: AgentPorts['trust'];
  /** The present content of the file that `pki.users.ca` of the configuration names. */
  readonly usersCa?: (() => Buffer) | undefined;
  readonly renewal: Pick<Renewal, 'trouble' | 'onTrouble' | 'onRenewed'>;
  /** The content of the file that `link.ca` of the configuration names. */
  readonly linkCaPem?: Buffer;
  /** The proxies from the environment variables of the process. */
  readonly environment: EnvironmentProxies;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Calls `turn` in a later turn of the event loop, after the commit that runs now. */
  readonly schedule: (turn: () => void) => void;
  openCluster(ports: ClusterPorts, guard?: WriteGuard): OpenCluster;
  /** Absent: no other agent has the same identity. */
  readonly lease?: LeaseOptions | undefined;
  residentBytes(): number;
  /** The memory limit of the container or another control group. Undefined: the process has no such limit. */
  readonly containerBytes?: number | undefined;
  /** Called when the process has used more memory than `limits.memory` for some time, and must end. */
  exceeded(why: string): void;
  /** Called when the store can't write any more, and the process must end. */
  storeFailed(error: Error): void;
  /** The last error message of the previous process, if that process crashed. */
  readonly crashMessage?: string | undefined;
}

/** The Lease of several agents with one identity, of which one is active. */
export interface LeaseOptions {
  readonly port: LeasePort;
  /** See lease/boot-clock.ts. */
  readonly clock: Clock;
  /** The name by which people know this agent among the others. */
  readonly identity: string;
  /** Called when another agent is active, and the process must end. */
  lost(why: string): void;
}

export interface RunningNode extends AsyncDisposable {
  /** The URL of health, metrics and the API of an embedded cluster. */
  readonly url: string;
}

export async function startNode(options: NodeOptions): Promise<RunningNode> {
  const { config, clock, logger, storeFailed } = options;
  const { encryption, data } = config;
  const ports = { clock, random: options.random, log: logger };
  const store = await openNodeStore({ directory: join(data, 'store'), encryption, failed: storeFailed, ...ports });
  makeAllPrivate(data);
  const answers: { present: Answers } = { present: standingBy(options, store) };
  const audit = config.audit && openAudit(config.audit, { clock, random: options.random, log: logger });
  const ended = audit ? [store, audit] : [store];
  const api = apiServer(options, () => answers.present, audit);
  const begun = (assembled: AssembledAgent, isActive: () => boolean) => {
    answers.present = answersOf(options, store, assembled, isActive, audit?.lostEvents);
    if (assembled.space) api.mount('', assembled.space);
    serveStreams(config.path, assembled, api);
  };
  const memory = memoryLimit(options);
  memory.start();
  const { lease } = options;
  if (lease) {
    const leadership = leadershipOf(options, lease, store, memory, begun);
    answers.present = standingBy(options, store, leadership);
    const url = await api.listen();
    leadership.start();
    return running(url, [memory, api, leadership, ...ended]);
  }
  const scan = new AppliedInventoryScan(() => assembled, scanPorts(options), true);
  const assembled: AssembledAgent = await assembleAgent({
    ...agentPorts(options, store, memory),
    revocationsChanged: () => api.revocationsChanged(),
    caughtUp: () => scan.caughtUp(),
    wentBack: () => scan.wentBack(),
  });
  begun(assembled, () => true);
  const url = await api.listen();
  assembled.start();
  return running(url, [memory, api, assembled, ...ended]);
}

/** Serves streams of the two kinds `api` and `cluster`. For an embedded cluster, both kinds use the agent's own API. */
function serveStreams(path: string, { streams, take }: AssembledAgent, api: ApiServer): void {
  const ownApi = (connection: Duplex, user: UserInfo) => api.take(connection, user);
  streams.register(apiKind, httpEndpoint(path, ownApi));
  streams.register(clusterKind, httpEndpoint(path, take ?? ownApi));
}

/** Ends the parts one after the other. */
function running(url: string, parts: readonly AsyncDisposable[]): RunningNode {
  return {
    url,
    async [Symbol.asyncDispose]() {
      for (const part of parts) await part[Symbol.asyncDispose]();
    },
  };
}

function memoryLimit(options: NodeOptions): MemoryLimit {
  return new MemoryLimit({ ...options, configuredBytes: options.config.limits?.memory });
}

function agentPorts(options: NodeOptions, store: Store, memory: MemoryLimit): AgentPorts {
  const { config, clock, random, logger, version, schedule } = options;
  return {
    path: config.path,
    version,
    fromAbove: config.access.fromAbove,
    accept: config.accept,
    openCluster: options.openCluster,
    limits: config.limits,
    store,
    dialer: failoverDialer(
      { clock, random },
      [config.parent.address, ...(config.parent.replicas ?? [])].map((address) =>
        dialerTo(
          { address, path: config.parent.path },
          { ...options, link: config.link, memory: storedTransport(store), log: logger },
        ),
      ),
    ),
    clock,
    random,
    logger,
    schedule,
    crashMessage: options.crashMessage,
    memory: () => memory.use(),
    renewal: options.renewal,
    trust: options.treeTrust,
  };
}

function leadershipOf(
  options: NodeOptions,
  lease: LeaseOptions,
  store: Store,
  memory: MemoryLimit,
  begun: (assembled: AssembledAgent, isActive: () => boolean) => void,
): Leadership<AssembledAgent> {
  const { config, random, logger } = options;
  const leadership: Leadership<AssembledAgent> = new Leadership({
    lease: lease.port,
    clock: lease.clock,
    // Another process on the same host has another identity, even if it starts directly after this process.
    me: `${lease.identity}_${Buffer.from(random.bytes(4)).toString('hex')}`,
    log: logger,
    random,
    store,
    path: config.path,
    lost: lease.lost,
    scanAppliedInventory: (agent, isOver) => scanAppliedInventory(agent, scanPorts(options), isOver),
    assemble: async ({ successor, attached, caughtUp }) => {
      const ports = agentPorts(options, store, memory);
      // No scan is due at the start: if another agent was active before, Leadership itself waits for a scan.
      const scan = new AppliedInventoryScan(() => assembled, scanPorts(options), false);
      const assembled: AssembledAgent = await assembleAgent({
        ...ports,
        successor,
        attached,
        caughtUp: () => {
          caughtUp();
          scan.caughtUp();
        },
        wentBack: () => scan.wentBack(),
        dialer: leadership.dialer(ports.dialer),
        openCluster: (cluster) => options.openCluster(cluster, () => leadership.refusal()),
      });
      begun(assembled, () => leadership.refusal() === undefined);
      return assembled;
    },
  });
  return leadership;
}

function scanPorts({ clock, logger, config }: NodeOptions): AppliedInventoryScanPorts {
  return { clock, log: logger, limits: config.limits?.deletions ?? deletionLimits };
}

interface Answers {
  readonly authorizer: Authorizer;
  readonly isRevoked: IsRevoked;
  /** Absent: there are no ServiceAccounts whose tokens could sign in. */
  readonly tokens?: TokenIssuer | undefined;
  /** Absent: nobody reads the metrics by a token of a node above. */
  readonly metricsTokens?: MetricsTokens | undefined;
  notReady(): string | undefined;
  readyAs(): string;
  metrics(): Promise<string>;
}

/** The answers of an agent that is not active yet. Its health check succeeds: it is ready to become active. */
function standingBy(
  { residentBytes, config }: NodeOptions,
  store: Store,
  leadership?: Leadership<AssembledAgent>,
): Answers {
  const metrics = standbyMetricsOf({ storeBytes: () => store.size().usedBytes, residentBytes });
  const readyAs = () => leadership?.standing ?? 'ok';
  return {
    authorizer: agentAuthorizer(config.access),
    isRevoked: () => false,
    notReady: () => undefined,
    readyAs,
    metrics,
  };
}

function answersOf(
  options: NodeOptions,
  store: Store,
  assembled: AssembledAgent,
  isActive: () => boolean,
  lostAuditEvents: (() => number) | undefined,
): Answers {
  const { agent, uplink } = assembled;
  return {
    authorizer: assembled.authorizer ?? agentAuthorizer(options.config.access),
    isRevoked: assembled.isRevoked,
    tokens: assembled.tokens,
    metricsTokens: assembled.metricsTokens,
    notReady: () => {
      const why = uplink.unreached === undefined ? '' : `: ${uplink.unreached}`;
      return uplink.wasAttached ? undefined : `not attached to the parent yet${why}`;
    },
    readyAs: () => 'ok',
    metrics: metricsOf({
      isActive,
      desiredObjects: () => agent.counts().desired,
      placements: () => agent.counts().placements,
      appliedObjects: () => agent.counts().applied,
      heldEntries: () => store.read((reader) => assembled.held(reader)?.entries ?? 0),
      quarantinedEntries: () => assembled.quarantined()?.count ?? 0,
      isAttached: () => uplink.attached,
      streams: assembled.streamCounts,
      sessionEnds: assembled.sessionEnds,
      rootAgeMs: () => uplink.rootAgeMs(),
      limitUses: () => agent.limitUses(),
      storeBytes: () => store.size().usedBytes,
      residentBytes: () => options.residentBytes(),
      lostAuditEvents,
    }),
  };
}

function apiServer(
  { config, credentials, usersCa, clock, logger }: NodeOptions,
  present: () => Answers,
  audit: OpenAudit | undefined,
): ApiServer {
  return new ApiServer({
    ...config.api,
    audit,
    notReady: () => present().notReady(),
    readyAs: () => present().readyAs(),
    metrics: () => present().metrics(),
    urls: noFleet,
    tls: apiTls({ node: () => currentOf(credentials), users: usersCa }),
    clock,
    log: logger,
    authenticate: userOfCertificate,
    authorizer: {
      decide: (attributes, place) => present().authorizer.decide(attributes, place),
      rulesAt: (user, place, namespace) => present().authorizer.rulesAt(user, place, namespace),
      reaches: (user, place) => present().authorizer.reaches(user, place),
    },
    isRevoked: (user, validFromMs) => present().isRevoked(user, validFromMs),
    tokens: {
      userOf: async (token, audiences) => present().tokens?.userOf(token, audiences),
      audiencesOf: async (token) => (await present().tokens?.audiencesOf(token)) ?? [],
      metricsUserOf: async (token) =>
        (await present().tokens?.userOf(token, [metricsAudience])) ?? present().metricsTokens?.userOf(token),
      issue: (namespace, name, body) => {
        const { tokens } = present();
        if (tokens) return tokens.issue(namespace, name, body);
        throw new BanyanError('NotFound', 'this agent has no ServiceAccounts: a real cluster has its own API');
      },
    },
    path: config.path,
  });
}
