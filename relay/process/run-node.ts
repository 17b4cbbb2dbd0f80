/** A node as a process: configuration, store, logs, signals. Exit codes: 0 ended properly, 1 failed while running, 2 bad configuration. */
import { readFileSync } from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { userOfCertificate } from '../../core/access/certificate-user.ts';
import { ApiServer } from '../../core/apiserver/http/api-server.ts';
import { apiTls } from '../../core/apiserver/http/api-tls.ts';
import { noteActs } from '../../core/audit/node-acts.ts';
import { openAudit } from '../../core/audit/open-audit.ts';
import { fetchJson } from '../../core/authentication/bounded-fetch.ts';
import { keptKeys } from '../../core/authentication/kept-keys.ts';
import { type OidcAuthenticator, parseAuthentication } from '../../core/authentication/oidc-config.ts';
import { OidcTokens } from '../../core/authentication/oidc-tokens.ts';
import { takeCrashMessage, writeCrashMessage } from '../../core/crash/crash-message.ts';
import { openNodeStore } from '../../core/encryption/open-store.ts';
import { withReplica } from '../../core/identity/replica.ts';
import { userSigner } from '../../core/identity/user-signer.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { parseConfig, readBytes } from '../../core/runtime/config-file.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import { logDestination } from '../../core/runtime/log-destination.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import { packageVersion } from '../../core/runtime/package-version.ts';
import { makeOnlyPrivateFiles } from '../../core/runtime/private-files.ts';
import { endOnUncaught, logWarnings } from '../../core/runtime/process-log.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { writeWhole } from '../../core/runtime/whole-file.ts';
import type { EnvironmentProxies } from '../../core/wire/dialer/proxy-choice.ts';
import { tlsNetwork } from '../../core/wire/network/tls-network.ts';
import { storedTransport } from '../../core/wire/network/transport-memory.ts';
import { currentOf, renewedAuthorities } from '../../core/wire/node-credentials.ts';
import { type NodeConfig, nodeConfigSchema } from '../config/config.ts';
import { unreadableFiles } from '../config/config-files.ts';
import { configHash, liveConfig } from '../config/live-config.ts';
import { measureNode, processMetrics } from '../node/metrics.ts';
import { Node } from '../node/node.ts';
import { openCrashJournal } from './crash-journal.ts';
import { setHeapFlags } from './heap-flags.ts';
import { giveMemoryBackWhenIdle } from './idle-memory.ts';
import { nodeCertificates } from './node-certificates.ts';

/** Makes the files that a configuration leaves to the node, and returns the configuration that names them. Throws BadRequest. */
export type MakeFiles = (config: NodeConfig, log: Logger) => Promise<NodeConfig>;

/** `environment`: the proxies that the environment names. */
export async function runNode(
  role: 'center' | 'relay',
  environment: EnvironmentProxies,
  makeFiles: MakeFiles = async (config) => config,
): Promise<void> {
  makeOnlyPrivateFiles();
  setHeapFlags();
  giveMemoryBackWhenIdle(systemClock);
  const { file, config: given, hash } = readConfig(role);
  const authenticators = readAuthentication(given);
  const log = pino(
    {
      level: given.logLevel,
      base: { node: given.path === '' ? 'center' : withReplica(given.path, given.replica ?? 0), pid: process.pid },
    },
    logDestination(given.logFile, given.logRotation),
  );
  const crashMessageFile = join(given.data, 'crash-message');
  logWarnings(log);
  const fatal = endOnUncaught(log, (error) => writeCrashMessage(crashMessageFile, error));
  let endInOrder = async () => {};
  // The handlers of signals are set before any wait, for example for a disk: a signal ends the first process of a container only if the process handles it.
  endBySignal(log, () => endInOrder());
  const ports = { clock: systemClock, random: systemRandom, environment, log };
  const { data: directory, encryption } = given;
  const opening = openNodeStore({ directory, encryption, failed: fatal, ...ports });
  // Keys that can't be read, or do not fit the store, are a mistake in the configuration. The error of a broken or full store stays uncaught: then the next start
  // reports it.
  const store = await orEnd(log, opening, ({ code }) => code === 'BadRequest');
  const config = await orEnd(log, makeFiles(given, log));
  const { trust, signer, renewal } = await orEnd(log, nodeCertificates(config, ports));
  const { credentials } = trust;
  const pem = (file: string) => readFileSync(file);
  // With an authority that is still to be made, the node would have no certificates.
  const pki = 'tree' in config.pki ? undefined : config.pki;
  const authorities = (file: string | undefined) =>
    file === undefined ? undefined : renewedAuthorities({ clock: systemClock, log, read: () => pem(file) });
  const users = pki?.users?.signer;
  const audit = config.audit && openAudit(config.audit, { clock: systemClock, random: systemRandom, log });
  const node = new Node(config, {
    store,
    signer,
    trust,
    authority: () => currentOf(credentials).caPem.toString(),
    // Read now: the keys may be needed much later, and then the file may be absent.
    tokenKeys: pki?.tokenKeys === undefined ? undefined : pem(pki.tokenKeys).toString(),
    userSigner:
      users &&
      userSigner(() => ({ certPem: pem(users.cert).toString(), keyPem: pem(users.key).toString() }), {
        clock: systemClock,
        random: systemRandom,
      }),
    renewal,
    clock: systemClock,
    random: systemRandom,
    log,
    network: tlsNetwork({
      ...config.mesh,
      link: config.link,
      ...(config.link.ca === undefined ? {} : { linkCaPem: readBytes(config.link.ca) }),
      environment,
      credentials,
      memory: storedTransport(store),
      log,
      clock: systemClock,
      random: systemRandom,
    }),
    software: packageVersion(),
    crashMessage: takeCrashMessage(crashMessageFile),
    noteAct: audit && noteActs({ ...audit, clock: systemClock, path: config.path }),
    crashJournal: openCrashJournal(join(config.data, 'work')),
    people: new OidcTokens({ authenticators, clock: systemClock, log, fetchJson, kept: keptKeys(store) }),
    defer: (run) => setImmediate(run),
    api: (answers) =>
      new ApiServer({
        ...config.api,
        ...answers,
        tls: apiTls({
          node: () => currentOf(credentials),
          users: authorities(pki?.users?.ca),
          frontProxies: authorities(config.frontProxy?.clientCA),
        }),
        clock: systemClock,
        log,
        authenticate: userOfCertificate,
        frontProxy: config.frontProxy,
        metrics: processMetrics,
        audit,
      }),
    fatal,
  });
  measureNode(node, audit?.lostEvents, renewal);
  const starting = node.start();
  endInOrder = async () => {
    await starting;
    await node[Symbol.asyncDispose]();
    await audit?.[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  };
  const { url, meshAddress } = await starting;
  const showStatus = (of: string) => {
    if (config.statusFile === undefined) return;
    writeWhole(config.statusFile, JSON.stringify({ url, meshAddress, pid: process.pid, config: of }));
  };
  showStatus(hash);
  reconfigureBySignal(node, { file, config: given }, log, showStatus);
  // The compile cache is written now, not only when the node ends properly: so a killed node starts faster too. Older versions of node have no compile cache.
  module.flushCompileCache?.();
}

/**
 * SIGHUP: the node reads its configuration again. A configuration that the node can't take changes nothing. `config`: the one of the start, as it is in the file,
 * without the files that the node has made.
 */
function reconfigureBySignal(
  node: Node,
  { file, config: present }: Pick<ReadConfig, 'file' | 'config'>,
  log: Logger,
  taken: (hash: string) => void,
): void {
  let turn = Promise.resolve();
  const reread = async () => {
    try {
      const { config, hash } = parsedConfig(file);
      await node.reconfigure(liveConfig(present, config));
      taken(hash);
      log.info({ file }, 'the node has taken its changed configuration');
    } catch (error) {
      log.error({ file, reason: describeError(error) }, 'the node goes on with its former configuration');
    }
  };
  process.on('SIGHUP', () => {
    turn = turn.then(reread);
  });
}

function endBySignal(log: Logger, inOrder: () => Promise<void>): void {
  let ending = false;
  const end = async (signal: string) => {
    if (ending) return;
    ending = true;
    log.info({ signal }, 'the node ends');
    await inOrder();
    process.exit(0);
  };
  process.on('SIGTERM', (signal) => void end(signal));
  process.on('SIGINT', (signal) => void end(signal));
}

/**
 * A mistake in the configuration, or a refusal by the parent, ends the start: only a person can help. While no parent answers, this waits. `ends`: whether an error is
 * such a mistake or refusal. Other errors are thrown.
 */
async function orEnd<T>(log: Logger, part: Promise<T>, ends: (error: BanyanError) => boolean = () => true): Promise<T> {
  try {
    return await part;
  } catch (error) {
    if (!(error instanceof BanyanError && ends(error))) throw error;
    log.error({ code: error.code }, `the node can't start: ${error.message}`);
    process.stderr.write(`${error.message}\n`);
    process.exit(error.code === 'BadRequest' ? 2 : 1);
  }
}

/** A mistake in the file ends the start. Otherwise people could not sign in, and nobody would know why. */
function readAuthentication({ authentication }: NodeConfig): readonly OidcAuthenticator[] {
  if (!authentication) return [];
  try {
    return parseAuthentication(readBytes(authentication.file).toString('utf8'), authentication.file);
  } catch (error) {
    process.stderr.write(`${describeError(error)}\n`);
    process.exit(2);
  }
}

interface ReadConfig {
  readonly file: string;
  readonly config: NodeConfig;
  /** The hash of the file's text, as the status file shows it. */
  readonly hash: string;
}

function readConfig(role: 'center' | 'relay'): ReadConfig {
  const usage = `usage: ${role} --config FILE`;
  try {
    const { config: file } = parseArgs({ options: { config: { type: 'string' } } }).values;
    if (file === undefined) throw new Error(usage);
    return { file, ...parsedConfig(file) };
  } catch (error) {
    process.stderr.write(`${describeError(error)}\n`);
    process.exit(2);
  }
}

/** Throws an error with all problems. */
function parsedConfig(file: string): { readonly config: NodeConfig; readonly hash: string } {
  const text = readBytes(file).toString('utf8');
  const config = parseConfig(text, file, nodeConfigSchema, 'configuration of a node', unreadableFiles);
  return { config: Object.freeze(config), hash: configHash(text) };
}
