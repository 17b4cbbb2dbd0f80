/** Connects the rooms of an agent (agent, uplink and streams) with a store, a dialer and a cluster. It opens no socket of its own. */
import type { Duplex } from 'node:stream';
import type { Authorizer } from '../../core/access/authorizer.ts';
import { Revocations } from '../../core/access/revocations.ts';
import type { IsRevoked } from '../../core/apiserver/http/request-users.ts';
import type { TokenIssuer } from '../../core/apiserver/http/token-requests.ts';
import type { Space, UserInfo } from '../../core/apiserver/space.ts';
import type { MetricsTokens } from '../../core/authentication/metrics-tokens.ts';
import { authoritiesAbove } from '../../core/entries/authorities-above.ts';
import { deletionGuard, type Limits } from '../../core/entries/deletion-guard.ts';
import { downFeedJudge } from '../../core/entries/down-check.ts';
import { entryKey } from '../../core/entries/entry-keys.ts';
import { keepObjectRule } from '../../core/entries/keep-object.ts';
import { metricsIssuersAbove } from '../../core/entries/metrics-issuers.ts';
import { revokedAbove } from '../../core/entries/revoked-above.ts';
import { farAheadBy } from '../../core/entries/source-incarnations.ts';
import type { QuarantinedAttributes } from '../../core/entries/up-attributes.ts';
import { FeedConsumer } from '../../core/feed/consumer.ts';
import type { HeldRows } from '../../core/feed/deletions.ts';
import { FeedProducer } from '../../core/feed/producer.ts';
import type { Acceptance } from '../../core/match/acceptance.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Random } from '../../core/runtime/random.ts';
import { forgetAttachment } from '../../core/session/attach.ts';
import { leaveFormerPath } from '../../core/session/former-path.ts';
import { beginBoot, type Forebear } from '../../core/session/node-identity.ts';
import type { SessionEnds } from '../../core/session/session-ends.ts';
import type { WatermarkWait } from '../../core/session/watermark-gate.ts';
import type { Reader, Store } from '../../core/store/store.ts';
import { metricsTokensAt } from '../../core/stream/metrics-users.ts';
import type { StreamRouter } from '../../core/stream/router.ts';
import { StreamCounts } from '../../core/stream/stream-counts.ts';
import type { Renewal } from '../../core/wire/join/renewal.ts';
import type { Dialer } from '../../core/wire/link.ts';
import type { TreeTrust } from '../../core/wire/tree-trust.ts';
import type { ClusterPorts, FoundObjects, OpenCluster } from '../cluster/cluster.ts';
import type { FromAbove } from '../cluster/from-above.ts';
import type { LimitUse } from '../limits/limit-use.ts';
import { agentStreams } from '../streams/streams.ts';
import { Uplink } from '../uplink/uplink.ts';
import { Agent } from './agent.ts';

export interface AgentPorts {
  readonly path: string;
  readonly version: string;
  /** `access.fromAbove` of the configuration. */
  readonly fromAbove: FromAbove;
  /** `accept` of the configuration: what the site accepts from which sources. Absent: everything. */
  readonly accept?: Acceptance | undefined;
  openCluster(ports: ClusterPorts): OpenCluster;
  /** The limits above which the agent holds deletions until a person approves them. */
  readonly limits?: Limits | undefined;
  /** How much of its memory limit the process uses. Undefined: the process has no memory limit. */
  readonly memory?: (() => LimitUse | undefined) | undefined;
  readonly store: Store;
  readonly dialer: Dialer;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Calls `turn` in a later turn of the event loop, after the commit that runs now. */
  readonly schedule: (turn: () => void) => void;
  /** The last error message of the previous process, if that process crashed. */
  readonly crashMessage?: string | undefined;
  /** The renewal of the agent's certificate. Absent: the agent does not report on its certificate. */
  readonly renewal?: Pick<Renewal, 'trouble' | 'onTrouble' | 'onRenewed'> | undefined;
  /** The authorities of nodes that the agent trusts. Absent: they never change. */
  readonly trust?: Pick<TreeTrust, 'receive' | 'onChange' | 'whyUntrusted' | 'report'> | undefined;
  /** Present if this agent succeeds another agent with the same identity. */
  readonly successor?: Successor | undefined;
  /** Called when a parent has welcomed this start of the agent. */
  attached?(): void;
  /**
   * Called when the agent has stored everything that the parent has sent, and the parent's feed is complete: a row that the feed does not have is not
   * desired.
   */
  caughtUp?(): void;
  /** Called when users were revoked, or no longer are. */
  revocationsChanged?(): void;
  /** Called when the cluster was restored to an earlier state. */
  wentBack?(): void;
}

export interface Successor {
  /** The paths that the agent had before. */
  readonly formerPaths: readonly string[];
  readonly forebear?: Forebear;
  /** Present if the cluster may be newer than this store. The value names what the agent waits for. Until `resume`, the agent applies nothing. */
  readonly waiting?: WatermarkWait;
}

export interface AssembledAgent extends AsyncDisposable {
  readonly agent: Agent;
  readonly uplink: Uplink;
  /** The router of the agent's byte streams. */
  readonly streams: StreamRouter;
  readonly streamCounts: StreamCounts;
  readonly sessionEnds: SessionEnds;
  /** The API of the cluster, if the cluster is in this process. */
  readonly space?: Space;
  /** Decides about requests to this API. */
  readonly authorizer?: Authorizer;
  /** The tokens of the ServiceAccounts of this cluster. */
  readonly tokens?: TokenIssuer;
  /** The tokens for metrics of the nodes above. */
  readonly metricsTokens: MetricsTokens;
  readonly isRevoked: IsRevoked;
  /** Passes HTTP on a connection to the API server of a real cluster: see OpenCluster. */
  take?(connection: Duplex, user: UserInfo): void;
  /** The rows that the agent keeps although its parent lacks them. */
  held(reader: Reader): HeldRows | undefined;
  /** Quarantined entries from the parent: their content does not fit their keys, or the work on them ends the process. */
  quarantined(): QuarantinedAttributes | undefined;
  /** The objects on the cluster that carry this agent's mark. Undefined: the store knows all of them. */
  applied(): Promise<FoundObjects> | undefined;
  start(): void;
  /** Reports why the wait of `successor.waiting` continues. */
  scanFailed(why: string): void;
  /** Ends the wait of `successor.waiting`. */
  resume(): void;
}

/** The agent applies nothing and dials nobody before `start`. */
export async function assembleAgent(ports: AgentPorts): Promise<AssembledAgent> {
  const { path, version, store, dialer, clock, random, logger, schedule, successor } = ports;
  let waiting = successor?.waiting;
  const { identity, downstream, outbox } = openFeeds(ports);
  // The first hello and the first batch contain values of the store. These must be durable before the agent sends them.
  await store.flushed();
  const opened = ports.openCluster({ store, clock, random, logger, schedule });
  const shared = { path, store, downstream, outbox, clock, random, logger };
  const agent: Agent = new Agent({
    ...shared,
    downstream: downstream.sound,
    quarantine: downstream,
    version,
    accept: ports.accept,
    schedule,
    crashMessage: ports.crashMessage,
    memory: ports.memory,
    certificateTrouble: () => ports.renewal?.trouble,
    trust: () => ports.trust?.report(),
    cluster: opened.cluster,
    wentBack: () => ports.wentBack?.(),
    held: (reader) => downstream.held(reader),
    diverged: () => uplink.diverged,
    waiting: () => waiting ?? uplink.waiting,
    isHeldBack: waiting !== undefined,
    reportedAllChanged: () => uplink.readyChanged(),
  });
  const revocations = new Revocations();
  let isStarted = false;
  const readRevocations = () => {
    revocations.setAbove(store.read((reader) => revokedAbove(reader, downstream.sound)));
    ports.revocationsChanged?.();
    if (isStarted) uplink.endRevoked();
  };
  readRevocations();
  const metricsTokens = metricsTokensAt({ clock, path, fromAbove: ports.fromAbove });
  const readMetricsIssuers = () =>
    metricsTokens.setIssuers(store.read((reader) => metricsIssuersAbove(reader, downstream.sound)));
  readMetricsIssuers();
  const readAuthorities = () => {
    const handed = store.read((reader) => authoritiesAbove(reader, downstream.sound));
    if (handed) ports.trust?.receive(handed);
  };
  readAuthorities();
  const streamCounts = new StreamCounts();
  const streams: StreamRouter = agentStreams({
    path,
    version,
    clock,
    observer: streamCounts,
    fromAbove: ports.fromAbove,
    parent: () => uplink.streams,
  });
  const uplink: Uplink = new Uplink({
    ...shared,
    software: version,
    identity,
    dialer,
    whyRevoked: (peer) => revocations.whyRevoked(peer) ?? ports.trust?.whyUntrusted(peer),
    received: (changes) => {
      agent.received(changes);
      if (changes.some(({ key }) => key === entryKey.revoked())) readRevocations();
      if (changes.some(({ key }) => key === entryKey.metrics())) readMetricsIssuers();
      if (changes.some(({ key }) => key === entryKey.authorities())) readAuthorities();
    },
    streamsOf: (link) => streams.sessionWith('parent', link),
    reportSelf: () => agent.reportSelf(),
    approved: (token) => agent.approveHeldRemovals(token),
    ready: () => agent.hasReportedAll,
    attached: () => ports.attached?.(),
    caughtUp: () => ports.caughtUp?.(),
  });
  return {
    agent,
    uplink,
    streams,
    streamCounts,
    metricsTokens,
    isRevoked: (user, validFromMs) => revocations.isRevoked(user, validFromMs),
    sessionEnds: uplink.sessionEnds,
    ...(opened.space ? { space: opened.space } : {}),
    ...(opened.authorizer ? { authorizer: opened.authorizer } : {}),
    ...(opened.tokens ? { tokens: opened.tokens } : {}),
    ...(opened.take ? { take: opened.take } : {}),
    held: (reader) => downstream.held(reader),
    quarantined: () => agent.quarantined(),
    applied: () => opened.applied?.([path, ...(successor?.formerPaths ?? [])]),
    start() {
      ports.renewal?.onTrouble(() => agent.reportSelf());
      ports.renewal?.onRenewed(() => agent.reportSelf());
      ports.trust?.onChange(() => {
        agent.reportSelf();
        uplink.endRevoked();
      });
      agent.start();
      uplink.start();
      isStarted = true;
    },
    scanFailed(why) {
      if (!waiting || !successor?.waiting) return;
      waiting = { ...waiting, for: `${successor.waiting.for}; the agent does not know what is applied: ${why}` };
      agent.reportSelf();
    },
    resume() {
      waiting = undefined;
      agent.resume();
      agent.reportSelf();
    },
    async [Symbol.asyncDispose]() {
      uplink.close();
      await agent.stop();
      await opened[Symbol.asyncDispose]();
    },
  };
}

function openFeeds({ path, store, clock, random, limits, successor }: AgentPorts) {
  return store.write((t) => {
    const identity = beginBoot(t, clock, random, successor?.forebear);
    if (successor?.waiting) forgetAttachment(t);
    const outbox = FeedProducer.open(t, { name: 'outbox', bootNonce: identity.bootNonce, random });
    leaveFormerPath(t, path, outbox);
    return {
      identity,
      outbox,
      downstream: FeedConsumer.open(t, {
        name: 'upstream',
        keepRule: keepObjectRule,
        guard: deletionGuard(clock, limits),
        judge: downFeedJudge('agent'),
        isFarAhead: farAheadBy(clock),
      }),
    };
  });
}
