/**
 * The assembly of an agent: store, embedded cluster with its API, the agent, the session with the parent. Started without a parent that
 * answers, all but the last do their work.
 */
import { join } from 'node:path';
import { ApiServer } from '../core/apiserver/http/api-server.ts';
import type { UserInfo } from '../core/apiserver/space.ts';
import { FeedConsumer } from '../core/feed/consumer.ts';
import { FeedProducer } from '../core/feed/producer.ts';
import type { Clock } from '../core/runtime/clock.ts';
import { BanyanError } from '../core/runtime/errors.ts';
import type { Logger } from '../core/runtime/logger.ts';
import type { Random } from '../core/runtime/random.ts';
import { beginBoot } from '../core/session/node-identity.ts';
import { LmdbStore } from '../core/store/lmdb/lmdb-store.ts';
import type { Store } from '../core/store/store.ts';
import { grpcDialer } from '../core/wire/grpc/grpc-dialer.ts';
import { Agent } from './agent.ts';
import { assembleCluster } from './cluster/embedded/assemble.ts';
import type { AgentConfig } from './config.ts';
import { metricsOf } from './metrics.ts';
import { Uplink } from './uplink/uplink.ts';

export interface Credentials {
  readonly caPem: Buffer;
  readonly certPem: Buffer;
  readonly keyPem: Buffer;
}

export interface NodeOptions {
  readonly config: AgentConfig;
  readonly version: string;
  readonly credentials: Credentials;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Has `turn` called soon, after the commit that runs now. */
  readonly schedule: (turn: () => void) => void;
  residentBytes(): number;
}

export interface RunningNode extends AsyncDisposable {
  /** Of the embedded cluster's API. */
  readonly url: string;
}

/** The group whose members may do everything, as in Kubernetes. */
const masters = 'system:masters';

export async function startNode(options: NodeOptions): Promise<RunningNode> {
  const { config, clock, random, logger, version, schedule } = options;
  const store = LmdbStore.open({ directory: join(config.data, 'store') }, logger);
  const { identity, downstream, outbox } = openFeeds(store, clock, random);
  // What the first hello and the first batch say must have survived before they are said.
  await store.flushed();
  const assembled = assembleCluster({
    store,
    clock,
    random,
    logger,
    schedule,
    pace: config.cluster.embedded,
  });
  const { path } = config;
  const shared = { path, store, downstream, outbox, clock, random, logger };
  const agent: Agent = new Agent({ ...shared, version, cluster: assembled.cluster, wrote: () => uplink.wake() });
  const uplink: Uplink = new Uplink({
    ...shared,
    software: version,
    identity,
    dialer: grpcDialer({
      address: config.parent.address,
      parentPath: config.parent.path,
      credentials: options.credentials,
      clock,
    }),
    received: (changes) => agent.received(changes),
  });
  const api = apiServer(options, {
    notReady: () => (uplink.joined ? undefined : 'not attached to the parent yet'),
    metrics: metricsOf({
      desiredObjects: () => agent.counts().desired,
      placements: () => agent.counts().placements,
      appliedObjects: () => agent.counts().applied,
      isAttached: () => uplink.attached,
      storeBytes: () => store.size().usedBytes,
      residentBytes: () => options.residentBytes(),
    }),
  });
  api.mount('', assembled.space);
  const url = await api.listen();
  agent.start();
  uplink.start();
  return {
    url,
    async [Symbol.asyncDispose]() {
      uplink.close();
      await agent.stop();
      await api[Symbol.asyncDispose]();
      await assembled[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

function openFeeds(store: Store, clock: Clock, random: Random) {
  return store.write((t) => {
    const identity = beginBoot(t, clock, random);
    return {
      identity,
      downstream: FeedConsumer.open(t, { name: 'upstream' }),
      outbox: FeedProducer.open(t, { name: 'outbox', bootNonce: identity.bootNonce, random }),
    };
  });
}

function apiServer(
  { config, credentials, clock, logger }: NodeOptions,
  answers: { notReady(): string | undefined; metrics(): Promise<string> },
): ApiServer {
  const { caPem, certPem, keyPem } = credentials;
  return new ApiServer({
    ...config.api,
    ...answers,
    tls: { ca: caPem, cert: certPem, key: keyPem },
    clock,
    log: logger,
    authenticate: (certificate) => authenticate(certificate?.subject),
  });
}

/** CN is the name, every O a group: https://kubernetes.io/docs/reference/access-authn-authz/authentication/#x509-client-certificates */
export function authenticate(subject: Record<string, unknown> | undefined): UserInfo | undefined {
  if (typeof subject?.CN !== 'string') return undefined;
  const groups = [subject.O ?? []].flat().filter((group) => typeof group === 'string');
  if (!groups.includes(masters)) {
    throw new BanyanError('Forbidden', `${subject.CN} may not use this cluster: it is not a member of ${masters}`);
  }
  return { name: subject.CN, groups };
}
