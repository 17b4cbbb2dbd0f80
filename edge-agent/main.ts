/**
 * The agent's process: `main.ts --config FILE`. It writes only logs, and ends properly on SIGTERM and SIGINT. Exit codes: 0 ended properly, 1 failed while
 * running, 2 bad usage or configuration, 4 another agent is active, 5 the process used more memory than its limit, 6 the kubeconfig names another API server.
 */
import module from 'node:module';
import { hostname, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import v8 from 'node:v8';
import { type Logger as Pino, pino } from 'pino';
import { takeCrashMessage, writeCrashMessage } from '../core/crash/crash-message.ts';
import { systemClock } from '../core/runtime/clock.ts';
import { readBytes } from '../core/runtime/config-file.ts';
import { BanyanError, describeError } from '../core/runtime/errors.ts';
import { logDestination } from '../core/runtime/log-destination.ts';
import { packageVersion } from '../core/runtime/package-version.ts';
import { makeOnlyPrivateFiles } from '../core/runtime/private-files.ts';
import { endOnUncaught, logWarnings } from '../core/runtime/process-log.ts';
import { systemRandom } from '../core/runtime/random.ts';
import { writeWhole } from '../core/runtime/whole-file.ts';
import { proxiesOf } from '../core/wire/dialer/proxy-choice.ts';
import type { IdentityStore } from '../core/wire/join/identity-store.ts';
import { currentOf, renewedAuthorities } from '../core/wire/node-credentials.ts';
import type { Access, AccessOptions } from './cluster/kubernetes/access.ts';
import type { KubeconfigEvents } from './cluster/kubernetes/changing-kubeconfig.ts';
import { type AgentConfig, parseAgentConfig } from './config/config.ts';
import { identityOf, type SecretName } from './identity/credentials.ts';
import { bootClock } from './lease/boot-clock.ts';
import { type LeaseOptions, type NodeOptions, type RunningNode, startNode } from './node.ts';

const serviceAccount = '/var/run/secrets/kubernetes.io/serviceaccount';
/** How long the process waits at its end for requests to a cluster that does not answer. At this point, the client sends no more requests. */
const lostEndMsMax = 5_000;
/** Exit codes after which a supervisor starts the agent again at once, because the agent itself is healthy. */
const lostLease = 4;
const tooMuchMemory = 5;
const otherServer = 6;
const usage = 'usage: main.ts --config FILE';

// An agent is one of many programs on a small machine, and works only from time to time (docs/decisions/0038-agents-compile-little.md).
for (const flag of ['--optimize-for-size', '--no-turbofan', '--no-maglev']) v8.setFlagsFromString(flag);
makeOnlyPrivateFiles();
let logger: Pino | undefined;
try {
  const config = readConfig();
  logger = loggerOf(config);
  await run(config, logger);
} catch (error) {
  if (!(error instanceof BanyanError)) throw error;
  if (error.code === 'BadRequest') process.stderr.write(`${error.message}\n`);
  logger?.error({ code: error.code }, `the agent can't start: ${error.message}`);
  process.exit(error.code === 'BadRequest' ? 2 : 1);
}

async function run(config: AgentConfig, logger: Pino): Promise<void> {
  const crashMessage = join(config.data, 'crash-message');
  logWarnings(logger);
  endOnUncaught(logger, (error) => writeCrashMessage(crashMessage, error));
  let ending = false;
  let starting: Promise<RunningNode> | undefined;
  // The handlers are registered before anything that may wait, such as the connection to the parent. In a container, a signal without a handler does not end
  // the first process.
  const endBy = (signal: string) => {
    logger.info({ signal }, 'the agent is ending');
    end(0);
  };
  process.on('SIGTERM', endBy);
  process.on('SIGINT', endBy);
  const linkCaPem = config.link.ca === undefined ? undefined : readBytes(config.link.ca);
  const environment = proxiesOf(process.env);
  const { trust, renewal } = await identityOf({
    config,
    linkCaPem,
    environment,
    clock: systemClock,
    random: systemRandom,
    log: logger,
    openSecret: (secret) => secretOf(config, secret),
  });
  const { credentials } = trust;
  const { users } = config.pki;
  const kubeconfigEvents: KubeconfigEvents = {
    moved: (why) => {
      logger.error({ reason: why }, 'this agent ends, so that it is started again with the new kubeconfig');
      end(otherServer);
      setTimeout(() => process.exit(otherServer), lostEndMsMax);
    },
    unusable: (why) =>
      logger.error(
        { error: why },
        "the kubeconfig was changed and can't be used: the agent continues with the previous one",
      ),
  };
  const authority = () => currentOf(credentials).caPem.toString();
  const openCluster = await clusterOf(config, kubeconfigEvents, authority);
  const lease = await leaseOf(config, kubeconfigEvents, (why) => {
    logger.error({ reason: why }, 'this agent is not active any more');
    end(lostLease);
    setTimeout(() => process.exit(lostLease), lostEndMsMax);
  });
  starting = startNode({
    config,
    version: packageVersion(),
    credentials,
    treeTrust: trust,
    usersCa: users && renewedAuthorities({ clock: systemClock, log: logger, read: () => readBytes(users.ca) }),
    renewal,
    ...(linkCaPem ? { linkCaPem } : {}),
    environment,
    clock: systemClock,
    random: systemRandom,
    logger,
    schedule: setImmediate,
    crashMessage: takeCrashMessage(crashMessage),
    openCluster,
    lease,
    residentBytes: () => process.memoryUsage.rss(),
    containerBytes: containerBytes(),
    exceeded: (why) => {
      logger.error({ reason: why }, 'this agent ends, so that it is started again with less memory in use');
      end(tooMuchMemory);
    },
    storeFailed: endAtOnce(crashMessage, logger),
  });
  const node = await starting;
  if (config.statusFile !== undefined) {
    writeWhole(config.statusFile, JSON.stringify({ url: node.url, pid: process.pid }));
  }
  logger.info({ url: node.url }, 'the agent is running');
  // The cache is written now, and not only at a proper end: an agent that is killed then starts faster. Older versions of Node.js have no compile cache.
  module.flushCompileCache?.();

  function end(code: number): void {
    if (ending) return;
    ending = true;
    // The node has not begun to start.
    if (!starting) process.exit(code);
    starting
      .then((node) => node[Symbol.asyncDispose]())
      .then(
        () => process.exit(code),
        (error: unknown) => {
          logger.error({ error: describeError(error) }, 'the agent did not end properly');
          process.exit(1);
        },
      );
  }
}

/** Ends the process at once, without a proper end. Writes that the process regards as durable may be lost, and all further work would depend on them. */
function endAtOnce(crashMessage: string, logger: Pino): (error: Error) => void {
  return (error) => {
    writeCrashMessage(crashMessage, error);
    logger.error({}, 'this agent ends, so that it is started again from its disk');
    process.exit(1);
  };
}

/** The memory limit of the control group. Without a control group, the system returns the memory of the machine or more. */
function containerBytes(): number | undefined {
  const bytes = process.constrainedMemory();
  return bytes > 0 && bytes < totalmem() ? bytes : undefined;
}

/** The Kubernetes client is a large program. Agents of embedded clusters do not load it. */
async function clusterOf(
  { cluster, streams, path, access: { fromAbove } }: AgentConfig,
  events: KubeconfigEvents,
  authority: () => string,
): Promise<NodeOptions['openCluster']> {
  if ('embedded' in cluster) {
    const { assembleCluster } = await import('./cluster/embedded/assemble.ts');
    return (ports) => assembleCluster({ ...ports, pace: cluster.embedded, path, fromAbove, authority });
  }
  const { openKubernetes } = await import('./open-kubernetes.ts');
  const access = await accessTo(cluster.kubernetes, events);
  const visitors = { fromAbove, ...streams?.cluster };
  return (ports, guard) => openKubernetes(ports, { ...cluster.kubernetes, access, visitors }, guard);
}

async function leaseOf(
  { cluster }: AgentConfig,
  events: KubeconfigEvents,
  lost: (why: string) => void,
): Promise<LeaseOptions | undefined> {
  if ('embedded' in cluster || !cluster.kubernetes.lease) return undefined;
  const { identity = hostname(), ...lease } = cluster.kubernetes.lease;
  const { openLease } = await import('./open-kubernetes.ts');
  const clock = bootClock(systemClock);
  return { port: openLease(clock, await accessTo(cluster.kubernetes, events), lease), clock, identity, lost };
}

async function secretOf({ cluster }: AgentConfig, secret: SecretName): Promise<IdentityStore> {
  if ('embedded' in cluster)
    throw new Error('the configuration was not checked: an embedded cluster has no such Secret');
  const { openSecret } = await import('./open-kubernetes.ts');
  return openSecret(systemClock, await accessTo(cluster.kubernetes), secret);
}

async function accessTo(options: AccessOptions, events: Partial<KubeconfigEvents> = {}): Promise<Access> {
  const { accessOf } = await import('./cluster/kubernetes/access.ts');
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;
  return accessOf(options, { host, port, directory: serviceAccount }, events);
}

function readConfig(): AgentConfig {
  let file: string | undefined;
  try {
    file = parseArgs({ options: { config: { type: 'string' } } }).values.config;
  } catch (error) {
    throw new BanyanError('BadRequest', `${describeError(error)}\n${usage}`, {}, { cause: error });
  }
  if (file === undefined) throw new BanyanError('BadRequest', usage);
  return parseAgentConfig(readBytes(file).toString('utf8'), file);
}

function loggerOf({ logFile, logRotation, logLevel, path }: AgentConfig): Pino {
  return pino({ level: logLevel, base: { node: path } }, logDestination(logFile, logRotation));
}
