/** The rooms of an agent on a store and a way to its parent, without sockets: embedded cluster, agent and uplink. */
import type { Space } from '../core/apiserver/space.ts';
import { FeedConsumer } from '../core/feed/consumer.ts';
import type { Held } from '../core/feed/deletions.ts';
import { FeedProducer } from '../core/feed/producer.ts';
import type { Clock } from '../core/runtime/clock.ts';
import type { Logger } from '../core/runtime/logger.ts';
import type { Random } from '../core/runtime/random.ts';
import { beginBoot } from '../core/session/node-identity.ts';
import type { SessionEnds } from '../core/session/session-ends.ts';
import type { Reader, Store } from '../core/store/store.ts';
import type { StreamRouter } from '../core/stream/router.ts';
import { StreamCounts } from '../core/stream/stream-counts.ts';
import { deletionGuard, type Limits } from '../core/wire/deletion-guard.ts';
import type { QuarantinedAttributes } from '../core/wire/entry-attributes.ts';
import { downFeedJudge } from '../core/wire/entry-shape.ts';
import { keeping } from '../core/wire/keeping.ts';
import type { Dialer } from '../core/wire/link.ts';
import { Agent } from './agent.ts';
import { assembleCluster } from './cluster/embedded/assemble.ts';
import type { ClusterPace } from './cluster/embedded/pace.ts';
import { agentStreams } from './streams/streams.ts';
import { Uplink } from './uplink/uplink.ts';

export interface AgentPorts {
  readonly path: string;
  readonly version: string;
  readonly pace: ClusterPace;
  /** What it keeps back until a person has said so. */
  readonly limits?: Limits | undefined;
  readonly store: Store;
  readonly dialer: Dialer;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Has `turn` called soon, after the commit that runs now. */
  readonly schedule: (turn: () => void) => void;
  /** What the process said as it ended last. */
  readonly lastWords?: string | undefined;
}

export interface AssembledAgent extends AsyncDisposable {
  readonly agent: Agent;
  readonly uplink: Uplink;
  readonly streamCounts: StreamCounts;
  readonly sessionEnds: SessionEnds;
  /** Of the embedded cluster. */
  readonly space: Space;
  /** What is kept although the parent lacks it. */
  held(reader: Reader): Held | undefined;
  /** Entries from the parent that are not what their keys say, or end the process. */
  quarantined(): QuarantinedAttributes | undefined;
  start(): void;
}

/** Nothing is applied and nobody is dialled before `start`. */
export async function assembleAgent(ports: AgentPorts): Promise<AssembledAgent> {
  const { path, version, store, dialer, clock, random, logger, schedule, pace } = ports;
  const { identity, downstream, outbox } = openFeeds(ports);
  // What the first hello and the first batch say must have survived before they are said.
  await store.flushed();
  const assembled = assembleCluster({ store, clock, random, logger, schedule, pace });
  const shared = { path, store, downstream, outbox, clock, random, logger };
  const agent: Agent = new Agent({
    ...shared,
    downstream: downstream.sound,
    quarantine: downstream,
    version,
    schedule,
    lastWords: ports.lastWords,
    cluster: assembled.cluster,
    wrote: () => uplink.wake(),
    held: (reader) => downstream.held(reader),
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
  });
  return {
    agent,
    uplink,
    streamCounts,
    sessionEnds: uplink.sessionEnds,
    space: assembled.space,
    held: (reader) => downstream.held(reader),
    quarantined: () => agent.quarantined(),
    start() {
      agent.start();
      uplink.start();
    },
    async [Symbol.asyncDispose]() {
      uplink.close();
      await agent.stop();
      await assembled[Symbol.asyncDispose]();
    },
  };
}

function openFeeds({ store, clock, random, limits }: AgentPorts) {
  return store.write((t) => {
    const identity = beginBoot(t, clock, random);
    return {
      identity,
      downstream: FeedConsumer.open(t, {
        name: 'upstream',
        keeping,
        guard: deletionGuard(clock, limits),
        judge: downFeedJudge('agent'),
      }),
      outbox: FeedProducer.open(t, { name: 'outbox', bootNonce: identity.bootNonce, random }),
    };
  });
}
