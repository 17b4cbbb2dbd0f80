/**
 * An agent with its store on disk, its line to the parent and, where its cluster is embedded, the API of that. Started without a parent that answers, all but
 * the line do their work.
 */
import { join } from 'node:path';
import { ApiServer } from '../core/apiserver/http/api-server.ts';
import type { UserInfo } from '../core/apiserver/space.ts';
import type { Clock } from '../core/runtime/clock.ts';
import { BanyanError } from '../core/runtime/errors.ts';
import type { Logger } from '../core/runtime/logger.ts';
import type { Random } from '../core/runtime/random.ts';
import { failoverDialer } from '../core/session/failover-dialer.ts';
import { LmdbStore } from '../core/store/lmdb/lmdb-store.ts';
import type { EnvironmentProxies } from '../core/wire/dialer/proxy-choice.ts';
import { type NodeCredentials, perCredentials } from '../core/wire/node-credentials.ts';
import { dialerTo } from '../core/wire/tls-network.ts';
import { storedTransport } from '../core/wire/transport-memory.ts';
import { assembleAgent } from './assembly.ts';
import type { ClusterPorts, OpenCluster } from './cluster/cluster.ts';
import type { AgentConfig } from './config.ts';
import { metricsOf } from './metrics.ts';

export interface NodeOptions {
  readonly config: AgentConfig;
  readonly version: string;
  readonly credentials: NodeCredentials;
  /** The file that `link.ca` of the configuration names. */
  readonly linkCaPem?: Buffer;
  /** The proxies that were found there. */
  readonly environment: EnvironmentProxies;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Has `turn` called soon, after the commit that runs now. */
  readonly schedule: (turn: () => void) => void;
  openCluster(ports: ClusterPorts): OpenCluster;
  residentBytes(): number;
  /** What the process said as it ended last. */
  readonly lastWords?: string | undefined;
}

export interface RunningNode extends AsyncDisposable {
  /** Where health, metrics and the API of an embedded cluster are. */
  readonly url: string;
}

/** The group whose members may do everything, as in Kubernetes. */
const masters = 'system:masters';

export async function startNode(options: NodeOptions): Promise<RunningNode> {
  const { config, clock, random, logger, version, schedule } = options;
  const store = LmdbStore.open({ directory: join(config.data, 'store') }, logger);
  const assembled = await assembleAgent({
    path: config.path,
    version,
    openCluster: options.openCluster,
    limits: config.limits,
    store,
    dialer: failoverDialer(
      { clock, random },
      [config.parent.address, ...(config.parent.siblings ?? [])].map((address) =>
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
    lastWords: options.lastWords,
  });
  const { agent, uplink } = assembled;
  const api = apiServer(options, {
    notReady: () => {
      const why = uplink.unreached === undefined ? '' : `: ${uplink.unreached}`;
      return uplink.joined ? undefined : `not attached to the parent yet${why}`;
    },
    metrics: metricsOf({
      desiredObjects: () => agent.counts().desired,
      placements: () => agent.counts().placements,
      appliedObjects: () => agent.counts().applied,
      heldEntries: () => store.read((reader) => assembled.held(reader)?.entries ?? 0),
      quarantinedEntries: () => assembled.quarantined()?.count ?? 0,
      isAttached: () => uplink.attached,
      streams: assembled.streamCounts,
      sessionEnds: assembled.sessionEnds,
      rootAgeMs: () => uplink.rootAgeMs(),
      storeBytes: () => store.size().usedBytes,
      residentBytes: () => options.residentBytes(),
    }),
  });
  if (assembled.space) api.mount('', assembled.space);
  const url = await api.listen();
  assembled.start();
  return {
    url,
    async [Symbol.asyncDispose]() {
      await api[Symbol.asyncDispose]();
      await assembled[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

function apiServer(
  { config, credentials, clock, logger }: NodeOptions,
  answers: { notReady(): string | undefined; metrics(): Promise<string> },
): ApiServer {
  return new ApiServer({
    ...config.api,
    ...answers,
    tls: perCredentials(credentials, ({ caPem, certPem, keyPem }) => ({ ca: caPem, cert: certPem, key: keyPem })),
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
