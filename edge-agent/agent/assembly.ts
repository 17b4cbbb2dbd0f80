/** The rooms of an agent on a store, a way to its parent and a cluster: agent, uplink and streams, without sockets of their own. */
import type { Duplex } from 'node:stream';
import type { Space, UserInfo } from '../../core/apiserver/space.ts';
import { deletionGuard, type Limits } from '../../core/entries/deletion-guard.ts';
import { downFeedJudge } from '../../core/entries/down-check.ts';
import { keepObjectRule } from '../../core/entries/keep-object.ts';
import { farAheadBy } from '../../core/entries/source-incarnations.ts';
import type { QuarantinedAttributes } from '../../core/entries/up-attributes.ts';
import { FeedConsumer } from '../../core/feed/consumer.ts';
import type { HeldRows } from '../../core/feed/deletions.ts';
import { FeedProducer } from '../../core/feed/producer.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Random } from '../../core/runtime/random.ts';
import { forgetAttachment } from '../../core/session/attach.ts';
import { beginBoot, type Forebear } from '../../core/session/node-identity.ts';
import type { SessionEnds } from '../../core/session/session-ends.ts';
import type { WatermarkWait } from '../../core/session/watermark-gate.ts';
import type { Reader, Store } from '../../core/store/store.ts';
import type { StreamRouter } from '../../core/stream/router.ts';
import { StreamCounts } from '../../core/stream/stream-counts.ts';
import type { Dialer } from '../../core/wire/link.ts';
import type { ClusterPorts, FoundObjects, OpenCluster } from '../cluster/cluster.ts';
import type { Renewal } from '../identity/renewal.ts';
import type { LimitUse } from '../limits/limit-use.ts';
import { agentStreams } from '../streams/streams.ts';
import { Uplink } from '../uplink/uplink.ts';
import { Agent } from './agent.ts';

export interface AgentPorts {
  readonly path: string;
  readonly version: string;
  openCluster(ports: ClusterPorts): OpenCluster;
  /** What it keeps back until a person has said so. */
  readonly limits?: Limits | undefined;
  /** What its process uses of its cap on memory; undefined: it has none. */
  readonly memory?: (() => LimitUse | undefined) | undefined;
  readonly store: Store;
  readonly dialer: Dialer;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Has `turn` called soon, after the commit that runs now. */
  readonly schedule: (turn: () => void) => void;
  /** What the process said as it ended last. */
  readonly crashMessage?: string | undefined;
  /** Of its certificate; absent: nothing is said of that. */
  readonly renewal?: Pick<Renewal, 'trouble' | 'onTrouble'> | undefined;
  /** Of one that succeeds another with the same identity. */
  readonly heir?: Heir | undefined;
  /** A parent has welcomed this start. */
  attached?(): void;
  /** All that the parent has to say is stored, and what it lacks is meant to be lacking. */
  caughtUp?(): void;
  /** The cluster was put back to an earlier time. */
  wentBack?(): void;
}

export interface Heir {
  readonly forebear?: Forebear;
  /** What this store holds may be older than what was applied: why nothing is applied before `resume`. */
  readonly waiting?: WatermarkWait;
}

export interface AssembledAgent extends AsyncDisposable {
  readonly agent: Agent;
  readonly uplink: Uplink;
  /** Where its byte streams meet. */
  readonly streams: StreamRouter;
  readonly streamCounts: StreamCounts;
  readonly sessionEnds: SessionEnds;
  /** The API of the cluster, where it is in this process. */
  readonly space?: Space;
  /** See OpenCluster. */
  take?(connection: Duplex, user: UserInfo): void;
  /** What is kept although the parent lacks it. */
  held(reader: Reader): HeldRows | undefined;
  /** Entries from the parent that are not what their keys say, or end the process. */
  quarantined(): QuarantinedAttributes | undefined;
  /** What the cluster has of this agent; undefined: nothing that its store does not know of. */
  applied(): Promise<FoundObjects> | undefined;
  start(): void;
  /** Why what `heir.waiting` says goes on. */
  hindered(why: string): void;
  /** What `heir.waiting` says is over. */
  resume(): void;
}

/** Nothing is applied and nobody is dialled before `start`. */
export async function assembleAgent(ports: AgentPorts): Promise<AssembledAgent> {
  const { path, version, store, dialer, clock, random, logger, schedule, heir } = ports;
  let waiting = heir?.waiting;
  const { identity, downstream, outbox } = openFeeds(ports);
  // What the first hello and the first batch say must have survived before they are said.
  await store.flushed();
  const opened = ports.openCluster({ store, clock, random, logger, schedule });
  const shared = { path, store, downstream, outbox, clock, random, logger };
  const agent: Agent = new Agent({
    ...shared,
    downstream: downstream.sound,
    quarantine: downstream,
    version,
    schedule,
    crashMessage: ports.crashMessage,
    memory: ports.memory,
    certificateTrouble: () => ports.renewal?.trouble,
    cluster: opened.cluster,
    wentBack: () => ports.wentBack?.(),
    held: (reader) => downstream.held(reader),
    diverged: () => uplink.diverged,
    waiting: () => waiting ?? uplink.waiting,
    isHeldBack: waiting !== undefined,
    spoke: () => uplink.readyChanged(),
  });
  const streamCounts = new StreamCounts();
  const streams: StreamRouter = agentStreams({
    path,
    version,
    clock,
    observer: streamCounts,
    parent: () => uplink.streams,
  });
  const uplink: Uplink = new Uplink({
    ...shared,
    software: version,
    identity,
    dialer,
    received: (changes) => agent.received(changes),
    streamsOf: (link) => streams.sessionWith('parent', link),
    said: () => agent.said(),
    released: (token) => agent.approveHeldRemovals(token),
    ready: () => agent.isHeardOut,
    attached: () => ports.attached?.(),
    caughtUp: () => ports.caughtUp?.(),
  });
  return {
    agent,
    uplink,
    streams,
    streamCounts,
    sessionEnds: uplink.sessionEnds,
    ...(opened.space ? { space: opened.space } : {}),
    ...(opened.take ? { take: opened.take } : {}),
    held: (reader) => downstream.held(reader),
    quarantined: () => agent.quarantined(),
    applied: () => opened.applied?.(path),
    start() {
      ports.renewal?.onTrouble(() => agent.said());
      agent.start();
      uplink.start();
    },
    hindered(why) {
      if (!waiting || !heir?.waiting) return;
      waiting = { ...waiting, for: `${heir.waiting.for}; what is applied is not known: ${why}` };
      agent.said();
    },
    resume() {
      waiting = undefined;
      agent.resume();
      agent.said();
    },
    async [Symbol.asyncDispose]() {
      uplink.close();
      await agent.stop();
      await opened[Symbol.asyncDispose]();
    },
  };
}

function openFeeds({ store, clock, random, limits, heir }: AgentPorts) {
  return store.write((t) => {
    const identity = beginBoot(t, clock, random, heir?.forebear);
    if (heir?.waiting) forgetAttachment(t);
    return {
      identity,
      downstream: FeedConsumer.open(t, {
        name: 'upstream',
        keepRule: keepObjectRule,
        guard: deletionGuard(clock, limits),
        judge: downFeedJudge('agent'),
        isFarAhead: farAheadBy(clock),
      }),
      outbox: FeedProducer.open(t, { name: 'outbox', bootNonce: identity.bootNonce, random }),
    };
  });
}
