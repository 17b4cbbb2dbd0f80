/** `banyan up` and `banyan down`: start and end a whole tree on this machine. */

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { auditPolicyOf } from '../../core/audit/open-audit.ts';
import { parseAuthentication } from '../../core/authentication/oidc-config.ts';
import { cliCommand, shellWord } from '../../core/runtime/cli-command.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { readBytes } from '../../core/runtime/config-file.ts';
import { durationText } from '../../core/runtime/duration-text.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import { logDestination } from '../../core/runtime/log-destination.ts';
import { makeAllPrivate, makeOnlyPrivateFiles } from '../../core/runtime/private-files.ts';
import { isAlive } from '../../core/runtime/process-alive.ts';
import { endOnUncaught, logWarnings } from '../../core/runtime/process-log.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { writeWhole } from '../../core/runtime/whole-file.ts';
import { formatProblem } from '../../core/runtime/yaml-text.ts';
import { serveChanges } from '../supervisor/change-requests.ts';
import { type DataDirectory, readJson, removeFile } from '../supervisor/data-directory.ts';
import { endOrphans } from '../supervisor/orphans.ts';
import { assignPorts, type NodePortNumbers } from '../supervisor/ports.ts';
import { ensureKeys } from '../supervisor/sealing-keys.ts';
import { Supervisor } from '../supervisor/supervisor.ts';
import { ensureTreePki } from '../supervisor/tree-pki.ts';
import { moveStores, nextRecord, readRecord, type TreeRecord, writeRecord } from '../supervisor/tree-record.ts';
import { wantedTree } from '../supervisor/wanted-tree.ts';
import { parseTopology } from '../topology/parse.ts';
import { type PlannedNode, planOf } from '../topology/plan.ts';
import type { FileContent, Topology } from '../topology/topology.ts';
import { dataOf } from './data-of.ts';
import { exitCode } from './exit-codes.ts';
import { progressReporter } from './start-progress.ts';
import { UsageError } from './usage-error.ts';

export interface UpOptions {
  readonly file: string;
  readonly data?: string | undefined;
  readonly readyFile?: string | undefined;
  readonly timeoutSeconds: number;
  readonly detach: boolean;
  readonly restart: boolean;
  /** The file for events, as JSON lines. Absent: events are printed to the terminal. */
  readonly logFile?: string | undefined;
}

export function readTopology(file: string): Topology {
  let text: string;
  try {
    text = readBytes(file).toString('utf8');
  } catch (error) {
    throw new UsageError(describeError(error), { cause: error });
  }
  const parsed = parseTopology(text, (named, content) => problemOf(namedFile(file, named), content));
  if ('topology' in parsed) return parsed.topology;
  throw new UsageError(parsed.problems.map((problem) => formatProblem(file, problem)).join('\n'));
}

function problemOf(path: string, content: FileContent | undefined): string | undefined {
  if (!existsSync(path)) return `there is no file ${path}`;
  try {
    if (content === 'auditPolicy') auditPolicyOf({ policyFile: path });
    if (content === 'authentication') parseAuthentication(readBytes(path).toString('utf8'), path);
    return undefined;
  } catch (error) {
    return describeError(error);
  }
}

export interface StartedTree {
  readonly supervisor: Supervisor;
  readonly data: DataDirectory;
  /** Absent: the tree was ended before it was ready. */
  readonly readyMs?: number;
}

/** Starts a tree, for `banyan up` and for the demo. `stop` resolves when the tree has to end. */
export async function startTree(
  options: UpOptions,
  print: (line: string) => void,
  stop: Promise<void>,
): Promise<StartedTree> {
  const { topology, data, nodes } = plannedTree(options);
  const startedMs = systemClock.monotonicMs();
  const orphans = await endOrphans(data, systemClock);
  if (orphans.length > 0) print(`ended ${orphans.length} nodes of an earlier run whose supervisor had died`);
  let ports: ReadonlyMap<string, NodePortNumbers>;
  let record: TreeRecord;
  try {
    makeOnlyPrivateFiles();
    mkdirSync(data.root, { recursive: true });
    makeAllPrivate(data.root);
    record = startRecord(data, topology, nodes);
    moveStores(data, record.moved);
    ensureKeys(nodes, data, systemRandom);
    ports = await assignPorts(nodes, data);
  } catch (error) {
    throw new UsageError(`${options.file}: ${describeError(error)}`, { cause: error });
  }
  writeRecord(data, { ...record, moved: {} });
  writeWhole(data.supervisor, JSON.stringify({ pid: process.pid }));
  const pki = await ensureTreePki(data, topology.name, nodes, systemClock, record.removedAtMs);
  warnOfLeftovers(record, options.file, data, print);
  if (pki.refusesFormer) {
    const command = cliCommand('user', 'add', 'NAME', '--data', data.root);
    print(
      `users have an authority of their own now: certificates of users from before are refused. New ones: ${command}`,
    );
  }
  if (pki.isAuthorityDue) {
    const command = cliCommand('authority', 'add', '--data', data.root);
    print(`two thirds of the time of the authority of nodes are over. Replace it while the tree runs: ${command}`);
  }
  const supervisor = new Supervisor({
    nodes,
    ports,
    pki,
    logs: topology.logs,
    data,
    clock: systemClock,
    restart: options.restart,
    readyFile: options.readyFile,
    print,
  });
  if (options.readyFile !== undefined) removeFile(options.readyFile);
  // An earlier supervisor may have been asked for another tree: the topology of this start is newer.
  removeFile(data.wanted);
  supervisor.start();
  print(`starting ${nodes.length} nodes of "${topology.name}" in ${data.root}`);
  let isReady = false;
  void stop.then(() => (isReady ? undefined : supervisor.end()));
  try {
    const progress = progressReporter(nodes.length, systemClock, print);
    isReady = await supervisor.ready(options.timeoutSeconds * 1000, '; all nodes were ended', progress);
  } catch (error) {
    await endTree(supervisor, data);
    throw error;
  }
  if (isReady) serveChanges(supervisor, { data, clock: systemClock, random: systemRandom, print });
  return { supervisor, data, ...(isReady ? { readyMs: systemClock.monotonicMs() - startedMs } : {}) };
}

/** Reads the topology, and finds all its problems before anything is changed. */
function plannedTree(options: UpOptions): { topology: Topology; data: DataDirectory; nodes: PlannedNode[] } {
  const topology = readTopology(options.file);
  const data = dataOf(options);
  const running = runningSupervisor(data);
  if (running !== undefined) {
    throw new UsageError(
      `${data.root}: a tree runs here already (process ${running}); end it with: ${cliCommand('down', '--data', data.root)}`,
    );
  }
  return { topology, data, nodes: plannedNodes(topology, options.file) };
}

/**
 * The record of the directory from this start on. Nodes that the topology has at another place go on with their stores. Nodes that it no longer has are still known to
 * their parents.
 */
function startRecord(data: DataDirectory, { name, logs }: Topology, nodes: readonly PlannedNode[]): TreeRecord {
  const before = readRecord(data);
  const wanted = wantedTree(before, { name, logs, nodes });
  return nextRecord(before, wanted, systemClock.wallMs());
}

function warnOfLeftovers(
  { withdraw }: TreeRecord,
  file: string,
  { root }: DataDirectory,
  print: (line: string) => void,
): void {
  if (withdraw.length === 0) return;
  const command = cliCommand('topology', 'apply', '-f', file, '--data', root);
  print(
    `the tree still knows nodes that the topology no longer has: ${withdraw.join(', ')}; to remove them: ${command}`,
  );
}

/** The nodes of a topology, with the absolute paths of the files that it names. */
export function plannedNodes(topology: Topology, file: string): PlannedNode[] {
  return planOf(topology).map((node) => withNamedFiles(node, file));
}

/** The path of a file that a topology names. */
function namedFile(topologyFile: string, file: string): string {
  return resolve(dirname(topologyFile), file);
}

function withNamedFiles(node: PlannedNode, topologyFile: string): PlannedNode {
  const { link, kubeconfig, audit, authentication, frontProxy, encryption } = node;
  const policyFile = audit?.policyFile;
  const keyFile = encryption?.keyFile;
  return {
    ...node,
    ...(link?.ca === undefined ? {} : { link: { ...link, ca: namedFile(topologyFile, link.ca) } }),
    ...(audit && policyFile !== undefined
      ? { audit: { ...audit, policyFile: namedFile(topologyFile, policyFile) } }
      : {}),
    ...(encryption && keyFile !== undefined
      ? { encryption: { ...encryption, keyFile: namedFile(topologyFile, keyFile) } }
      : {}),
    ...(kubeconfig ? { kubeconfig: { ...kubeconfig, path: namedFile(topologyFile, kubeconfig.path) } } : {}),
    ...(authentication ? { authentication: { file: namedFile(topologyFile, authentication.file) } } : {}),
    ...(frontProxy ? { frontProxy: { ...frontProxy, clientCA: namedFile(topologyFile, frontProxy.clientCA) } } : {}),
  };
}

/** Runs until a signal ends the tree. Returns the exit code. */
export async function up(options: UpOptions, print: (line: string) => void): Promise<number> {
  if (options.detach) return detach(options, print);
  if (options.logFile === undefined) return run(options, print);
  makeOnlyPrivateFiles();
  const log = pino({ base: { pid: process.pid } }, logDestination(options.logFile, readTopology(options.file).logs));
  logWarnings(log);
  endOnUncaught(log, () => {});
  try {
    return await run(options, (line) => log.info({}, line));
  } catch (error) {
    log.error({}, describeError(error));
    throw error;
  }
}

async function run(options: UpOptions, print: (line: string) => void): Promise<number> {
  // Timers of the clock do not keep a process alive. While the only node of a tree waits to be started again, nothing else would.
  const alive = setInterval(() => {}, aliveMs);
  try {
    return await runTree(options, print);
  } finally {
    clearInterval(alive);
  }
}

async function runTree(options: UpOptions, print: (line: string) => void): Promise<number> {
  const stop = untilSignal();
  const { supervisor, data, readyMs } = await startTree(options, print, stop);
  if (readyMs === undefined) return endTree(supervisor, data);
  print(`ready after ${durationText(readyMs)}`);
  for (const line of firstThingsToTry(data)) print(line);
  await stop;
  return endTree(supervisor, data);
}

export async function endTree(supervisor: Supervisor, data: DataDirectory): Promise<number> {
  await supervisor.end();
  // Meanwhile, somebody may have emptied the directory, and another tree may use it.
  if (readJson<{ pid: number }>(data.supervisor)?.pid === process.pid) removeFile(data.supervisor);
  return exitCode.done;
}

export async function down(
  options: { file?: string | undefined; data?: string | undefined },
  print: (line: string) => void,
): Promise<number> {
  const data = dataOf(options);
  const pid = runningSupervisor(data);
  if (pid === undefined) {
    const orphans = await endOrphans(data, systemClock);
    if (orphans.length === 0) {
      throw new BanyanError(
        'NotFound',
        `${data.root}: no tree runs here; name the topology with -f, or the data directory with --data`,
      );
    }
    print(`ended ${orphans.length} nodes whose supervisor had died`);
    return exitCode.done;
  }
  process.kill(pid, 'SIGTERM');
  const deadline = systemClock.monotonicMs() + 30_000;
  while (runningSupervisor(data) !== undefined) {
    if (systemClock.monotonicMs() > deadline)
      throw new BanyanError('Timeout', `process ${pid} has not ended within 30 s; see ${data.logs}`);
    await new Promise((done) => setTimeout(done, 50));
  }
  // If the supervisor was killed meanwhile, its nodes still run.
  await endOrphans(data, systemClock);
  print('ended');
  return exitCode.done;
}

/** The longest time for which the process looks at nothing. The value has no other effect. */
const aliveMs = 3_600_000;

export function untilSignal(): Promise<void> {
  return new Promise((done) => {
    // The listeners stay. A terminal, npm and a parent process may each pass on the same signal. A second signal without a listener would end this process
    // before its nodes.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => done());
  });
}

function firstThingsToTry(data: DataDirectory): string[] {
  return [
    `export KUBECONFIG=${shellWord(data.kubeconfig)}`,
    'kubectl config get-contexts -o name     # every node, space, fleet, cluster and mailbox',
    `${cliCommand('tree', '-w')}          # the tree, live`,
  ];
}

/** The process id of the directory's supervisor. Undefined: it does not run. */
export function runningSupervisor(data: DataDirectory): number | undefined {
  const pid = readJson<{ pid: number }>(data.supervisor)?.pid;
  return pid !== undefined && pid !== process.pid && isAlive(pid) ? pid : undefined;
}

/** Starts the same command in the background, and waits for its ready file. */
async function detach(options: UpOptions, print: (line: string) => void): Promise<number> {
  const { data } = plannedTree(options);
  const readyFile = options.readyFile ?? join(data.root, 'ready.json');
  makeOnlyPrivateFiles();
  mkdirSync(join(data.root, 'logs'), { recursive: true });
  removeFile(readyFile);
  const logFile = join(data.root, 'logs', 'supervisor.log');
  // The file for output of the process before it has a log, and for output of Node itself when it crashes.
  const printedFile = join(data.root, 'supervisor.out');
  const printed = openSync(printedFile, 'w', 0o600);
  const program = fileURLToPath(new URL(import.meta.url));
  const entry = join(dirname(program), basename(program).startsWith('up.') ? 'banyan.ts' : basename(program));
  const args = [
    'up',
    '-f',
    resolve(options.file),
    '--data',
    data.root,
    '--ready-file',
    resolve(readyFile),
    '--timeout',
    String(options.timeoutSeconds),
    '--log-file',
    logFile,
  ];
  const child = spawn(process.execPath, [entry, ...args, ...(options.restart ? [] : ['--no-restart'])], {
    detached: true,
    stdio: ['ignore', printed, printed],
  });
  const ended = new Promise<number>((done) => child.once('exit', (code) => done(code ?? exitCode.failed)));
  child.unref();
  for (;;) {
    if (existsSync(readyFile)) break;
    const code = await Promise.race([ended, new Promise<undefined>((done) => setTimeout(() => done(undefined), 50))]);
    if (code !== undefined) throw notStarted(code, readFileSync(printedFile, 'utf8'), logFile);
  }
  for (const line of [
    `running in the background; end it with: ${cliCommand('down', '--data', data.root)}`,
    ...firstThingsToTry(data),
  ])
    print(line);
  return exitCode.done;
}

const messageCharactersMax = 2_000;

/** The error when the process in the background has ended, with its message and exit code. */
function notStarted(code: number, output: string, logFile: string): Error {
  const message = output
    .split(/^banyan: /m)
    .at(-1)
    ?.trim()
    .slice(0, messageCharactersMax);
  const reason = message
    ? `${message}\nThe log of the supervisor is ${logFile}`
    : `the tree did not start (exit code ${code}); see ${logFile}`;
  if (code === exitCode.usage) return new UsageError(reason);
  return new BanyanError(code === exitCode.timeout ? 'Timeout' : 'Internal', reason);
}
