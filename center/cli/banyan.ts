#!/usr/bin/env node
import { spawn } from 'node:child_process';
import { dirname } from 'node:path';
import { Argument, Command, CommanderError, Option } from 'commander';
/** The `banyan` command. */
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import { packageVersion } from '../../core/runtime/package-version.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { DataDirectory } from '../supervisor/data-directory.ts';
import { launchOf } from '../supervisor/launch.ts';
import { type ProgramRole, programOf } from '../supervisor/programs.ts';
import { hasUserAuthority, issueTreeAgent, issueTreeUser } from '../supervisor/tree-pki.ts';
import { NodeApiClient } from './api-client.ts';
import { approveDeletions } from './approve-deletions.ts';
import {
  agentPath,
  byteCount,
  checkOrigin,
  checkRoleOptions,
  host,
  label,
  listed,
  nodePath,
  type ObjectOfKind,
  objectOfKind,
  pathWithoutReplica,
  placementName,
  revisionNumber,
  seconds,
  secretName,
  spaceContext,
  timeToLive,
} from './arguments.ts';
import { demo } from './demo.ts';
import { enroll } from './enroll.ts';
import { historyTable } from './history.ts';
import { joinToken, shownToken, tokenFormats } from './join-token.ts';
import { pingLine } from './ping.ts';
import { plan } from './plan.ts';
import { configsOf, rekey } from './rekey.ts';
import { requestUser } from './requested-user.ts';
import { nodeRevokedAtMs, revokedAtMs, revokeNode, revokeUser } from './revoke.ts';
import { placementReport, spaceReport } from './status.ts';
import { formatTree, treeRows } from './tree.ts';
import { addTreeCommands } from './tree-commands.ts';
import { undo } from './undo.ts';
import { dataOf, down, exitCode, up } from './up.ts';
import { UsageError } from './usage-error.ts';
import { addUser, type UserRequest, userName } from './user.ts';
import { why } from './why.ts';

const print = (line: string) => console.log(line);
const warn = (line: string) => console.error(`banyan: ${line}`);
/** Interval at which `-w` shows the tree again. */
const watchEveryMs = 1_000;
let code: number = exitCode.done;

const program = new Command(cliCommand())
  .description('A multi-level relay mesh for Kubernetes workloads')
  .version(packageVersion())
  .exitOverride();

program
  .command('up')
  .description('run the whole tree of a topology as local processes, until Ctrl-C')
  .requiredOption('-f, --file <topology>', 'the topology file')
  .option('--data <dir>', 'data directory of the tree (default: .banyan beside the topology file)')
  .option('--ready-file <file>', 'file to write when every node has joined and every API answers')
  .option('--timeout <seconds>', 'how long to wait until the tree is ready', seconds, 120)
  .option('--detach', 'return when the tree is ready, and leave it running', false)
  .option('--no-restart', 'do not restart a node that ends')
  .addOption(new Option('--log-file <file>', 'write events to this file, as JSON lines').hideHelp())
  .action(async (options) => {
    code = await up({ ...options, timeoutSeconds: options.timeout }, print);
  });

program
  .command('down')
  .description('end a tree that runs in the background')
  .option('-f, --file <topology>', 'the topology file that it was started with')
  .option('--data <dir>', 'its data directory')
  .action(async (options) => {
    code = await down(options, print);
  });

addTreeCommands(program, {
  print,
  warn,
  clientOf,
  directoryOf: treeDirectoryOf,
  exit: (exit) => {
    code = exit;
  },
});

program
  .command('tree')
  .description('the tree with its sessions and counts')
  .addArgument(
    new Argument('[path]', 'show this node and the nodes below it').argParser(nodePath).default('', 'the center'),
  )
  .option('-w, --watch', 'show the tree again every second', false)
  .addOption(new Option('-o, --output <format>', 'wide: also show the transport of each session').choices(['wide']))
  .option('--data <dir>', 'data directory of the tree')
  .option('--kubeconfig <file>', 'kubeconfig of the tree')
  .action(async (path: string, options) => {
    const api = clientOf(options);
    do {
      const rows = await treeRows(api, path);
      const text = formatTree(rows, Date.now(), options.output === 'wide');
      if (options.watch && process.stdout.isTTY) process.stdout.write('\x1b[H\x1b[2J');
      print(text);
      if (options.watch) await new Promise((done) => setTimeout(done, watchEveryMs));
    } while (options.watch);
    api.close();
  });

program
  .command('ping')
  .description('ask a node through the tree: its role, its version, whether it is ready, and the round-trip time')
  .argument('<path>', 'path of the node, for example eu:paris:store-17; center for the center', pathWithoutReplica)
  .option('--bytes <n>', 'also send this many bytes there and back, and compare them', byteCount, 0)
  .addOption(new Option('--from <path>', 'the node that asks').argParser(nodePath).default('', 'the center'))
  .option('--timeout <seconds>', 'how long to wait for each answer', seconds, 5)
  .option('--data <dir>', 'data directory of the tree')
  .option('--kubeconfig <file>', 'kubeconfig of the tree')
  .action(async (path: string, options) => {
    const api = clientOf(options);
    print(await pingLine(api, { ...options, path, timeoutSeconds: options.timeout }));
    api.close();
  });

program
  .command('enroll')
  .description('admit an agent that runs elsewhere, and print its certificate and key as a Secret for the chart')
  .argument('<path>', 'path of the agent, for example eu:paris:store-17', agentPath)
  .addOption(labelOption())
  .option('--secret <name>', 'the name of the Secret', secretName, 'banyan-identity')
  .option('--again', 'print another certificate for an agent that was admitted before', false)
  .option('--data <dir>', 'data directory of the tree, with its certificate authority')
  .option('--kubeconfig <file>', 'kubeconfig of the tree')
  .action(async (path: string, options) => {
    const api = clientOf(options);
    const issue = async (agent: string) =>
      issueTreeAgent(dataOf(options), agent, systemClock, await nodeRevokedAtMs(api, agent));
    process.stdout.write(await enroll(api, { ...options, path, labels: options.label }, issue, warn));
    api.close();
  });

program
  .command('join-token')
  .description(
    'admit an agent or a relay that runs elsewhere, and print a token with which it gets a certificate, once',
  )
  .argument('<path>', 'path of the node, for example eu:paris:store-17', agentPath)
  .option('--relay', 'admit a relay; it gets an authority for its own subtree', false)
  .option('--host <name>', 'for a relay: DNS name or IP address of its API, for its certificate; repeatable', host, [])
  .addOption(labelOption())
  .addOption(
    new Option('--ttl <time>', 'how long the token is valid: 30m, 24h, 7d')
      .argParser(timeToLive)
      .default(timeToLive('24h'), '24h'),
  )
  .option('--again', 'print another token for a node that was admitted before', false)
  .addOption(
    new Option(
      '-o, --output <format>',
      'json, yaml: the token and its object; name: only the name of the object',
    ).choices(tokenFormats),
  )
  .option('--data <dir>', 'data directory of the tree')
  .option('--kubeconfig <file>', 'kubeconfig of the tree')
  .action(async (path: string, options) => {
    const api = clientOf(options);
    const ports = { clock: systemClock, random: systemRandom };
    const role = options.relay ? ('Relay' as const) : ('Agent' as const);
    checkRoleOptions(options);
    const { label: labels, host: hosts, again, ttl: ttlMs } = options;
    const made = await joinToken(api, { path, role, labels, hosts, again, ttlMs }, ports, warn);
    print(shownToken(made, options.output));
    api.close();
  });

program
  .command('revoke')
  .description('end all certificates of an agent or a relay, and those that the relay has signed, with their sessions')
  .argument('<path>', 'path of the node, for example eu:paris', agentPath)
  .option('--data <dir>', 'data directory of the tree')
  .option('--kubeconfig <file>', 'kubeconfig of the tree')
  .action(async (path: string, options) => {
    const api = clientOf(options);
    print(await revokeNode(api, path, systemClock, warn));
    api.close();
  });

const user = program.command('user').description('people and programs that use the APIs of the tree');
user
  .command('add')
  .description(
    'make a certificate for a user, and print a kubeconfig; roles and AccessGrants decide what the user may do',
  )
  .argument('<name>', 'name of the user', userName)
  .option('--group <group>', 'a group of the user, repeatable', listed, [])
  .addOption(
    new Option('--ttl <time>', 'how long the certificate is valid: 30m, 24h, 7d')
      .argParser(timeToLive)
      .default(timeToLive('30d'), '30d'),
  )
  .option('--data <dir>', 'data directory of the tree: its authority signs; default: the center signs')
  .option('--kubeconfig <file>', 'kubeconfig with the contexts')
  .action(async (name: string, options) => {
    const kubeconfig = kubeconfigOf(options);
    const data = treeDirectoryOf(options);
    const issue = async (asked: UserRequest) => {
      const api = clientOf(options);
      try {
        if (!hasUserAuthority(data)) return await requestUser(api, asked);
        const revoked = await revokedAtMs(api, name).catch((error: unknown) =>
          warn(
            `${describeError(error)}: if ${name} was revoked in the last hour, the new certificate is refused at first`,
          ),
        );
        return await issueTreeUser(data, { ...asked, ...(revoked ? { afterMs: revoked } : {}) }, systemClock);
      } finally {
        api.close();
      }
    };
    process.stdout.write(await addUser(kubeconfig, { name, groups: options.group, ttlMs: options.ttl }, issue));
  });
user
  .command('revoke')
  .description('end all certificates of a user, with the watches and streams that the user has open')
  .argument('<name>', 'name of the user', userName)
  .option('--at <path>', 'the node where the revocation begins; it holds there and below', nodePath, '')
  .option('--data <dir>', 'data directory of the tree')
  .option('--kubeconfig <file>', 'kubeconfig of the tree')
  .action(async (name: string, options) => {
    const api = clientOf(options);
    print(await revokeUser(api, name, options.at, systemClock, warn));
    api.close();
  });

program
  .command('rekey')
  .description('give the stores of nodes a new first key, and wait until everything is sealed with it')
  .option('--at <path>', 'only this node (default: all nodes of the local tree)', nodePath)
  .addOption(new Option('--config <file>', 'only the node with this configuration file').conflicts(['at', 'data']))
  .option('--drop-old', 'remove the former keys from the key file at the end; older backups need them', false)
  .option('--timeout <seconds>', 'how long to wait for each node', seconds, 600)
  .option('--data <dir>', 'data directory of the tree')
  .action(async (options) => {
    const configs = options.config === undefined ? configsOf(dataOf(options), options.at) : [options.config];
    const ports = { clock: systemClock, random: systemRandom, print };
    await rekey(configs, { dropOld: options.dropOld, timeoutSeconds: options.timeout }, ports);
  });

program
  .command('approve-deletions')
  .description('confirm deletions that were held back after a parent lost data, and acknowledge the loss of a store')
  .argument('<path>', 'path of the node, for example eu:paris or eu:paris:store-17; center for the root', nodePath)
  .option('--dry-run', 'only show the held entries', false)
  .option('--data <dir>', 'data directory of the tree')
  .option('--kubeconfig <file>', 'kubeconfig of the tree')
  .action(async (path: string, options) => {
    const api = clientOf(options);
    await approveDeletions(api, path, options.dryRun, print);
    api.close();
  });

program
  .command('status')
  .description(
    'the placements of a space, and what is wrong with them; or one placement with its counts and conditions',
  )
  .argument('[placement]', 'epl/NAME', placementName)
  .addOption(spaceOption('the space of the placements'))
  .option('--data <dir>', 'data directory of the tree')
  .option('--kubeconfig <file>', 'kubeconfig of the tree')
  .action(async (name: string | undefined, options) => {
    const api = clientOf(options);
    const space = options.space ?? currentSpace(api);
    const nowMs = Date.now();
    print(await (name === undefined ? spaceReport(api, space, nowMs) : placementReport(api, space, name, nowMs)));
    api.close();
  });

program
  .command('why')
  .description('show hop by hop why an object is, or is not, on a cluster')
  .argument('<object>', 'KIND/NAME, for example deployment/till', objectOfKind)
  .requiredOption('--at <path>', 'path of the cluster, for example eu:paris:store-17', nodePath)
  .option('-n, --namespace <namespace>', 'namespace of the object', 'default')
  .addOption(spaceOption('the space of the object'))
  .option('--data <dir>', 'data directory of the tree')
  .option('--kubeconfig <file>', 'kubeconfig of the tree')
  .action(async (object: ObjectOfKind, options) => {
    const api = clientOf(options);
    const space = options.space ?? currentSpace(api);
    for (const line of await why(api, { object, namespace: options.namespace, space, at: options.at })) print(line);
    api.close();
  });

program
  .command('plan')
  .description('show what would change if the objects of a file were applied: places, objects, or one cluster')
  .option('-f, --file <file>', 'a file with objects, repeatable; - for the standard input', listed, [])
  .option('--at <path>', 'print what would be at this cluster, and the difference to what it was sent', nodePath)
  .option('--exit-code', 'end with exit code 4 if something would change', false)
  .addOption(spaceOption('the space to which the objects would be applied'))
  .option('--data <dir>', 'data directory of the tree')
  .option('--kubeconfig <file>', 'kubeconfig of the tree')
  .action(async (options) => {
    const { file: files, at } = options;
    if (files.length === 0 && at === undefined) {
      throw new UsageError('plan: name what to plan: a file with -f, or a cluster with --at');
    }
    const api = clientOf(options);
    const space = originSpace(api, options);
    const { lines, isChange } = await plan(api, { space, files, ...(at === undefined ? {} : { at }) });
    for (const line of lines) print(line);
    api.close();
    if (isChange && options.exitCode) code = exitCode.changes;
  });

program
  .command('history')
  .description('the promoted revisions of a placement: what was promoted, and when')
  .argument('<placement>', 'epl/NAME', placementName)
  .addOption(spaceOption('the space of the placement'))
  .option('--data <dir>', 'data directory of the tree')
  .option('--kubeconfig <file>', 'kubeconfig of the tree')
  .action(async (name: string, options) => {
    const api = clientOf(options);
    print(await historyTable(api, originSpace(api, options), name));
    api.close();
  });

program
  .command('undo')
  .description('write the objects of a promoted revision back into the space; the waves of the placement apply')
  .argument('<placement>', 'epl/NAME', placementName)
  .option('--to <revision>', 'the revision (default: the one before the newest change)', revisionNumber)
  .option('--prune', 'also delete objects that the revision does not have', false)
  .option('--dry-run', 'only show what would be written', false)
  .addOption(spaceOption('the space of the placement'))
  .option('--data <dir>', 'data directory of the tree')
  .option('--kubeconfig <file>', 'kubeconfig of the tree')
  .action(async (name: string, options) => {
    const api = clientOf(options);
    const { to, prune, dryRun } = options;
    const question = { space: originSpace(api, options), name, prune, dryRun };
    for (const line of await undo(api, { ...question, ...(to === undefined ? {} : { to }) })) print(line);
    api.close();
  });

for (const role of ['center', 'relay', 'agent'] as const satisfies readonly ProgramRole[]) {
  program
    .command(role)
    .description(`run one ${role}`)
    .requiredOption('--config <file>', 'configuration file of the node')
    .action(async (options) => {
      code = await runNode(role, options.config);
    });
}

program
  .command('demo', { hidden: true })
  .description('run an example tree and deploy something to it: npm start')
  .option('--timeout <seconds>', 'how long to wait for the tree, and then again for its workload', seconds, 300)
  .action(async ({ timeout }) => {
    code = await demo(timeout, print);
  });

pointToHelp(program, []);
try {
  await program.parseAsync();
} catch (error) {
  code = codeOf(error);
  if (!(error instanceof CommanderError)) console.error(`banyan: ${describeError(error)}`);
}
process.exit(code);

function codeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.usage;
  if (error instanceof UsageError) return exitCode.usage;
  if (error instanceof BanyanError && error.code === 'Timeout') return exitCode.timeout;
  return exitCode.failed;
}

/** An error of a command shows the help of this command. */
function pointToHelp(command: Command, words: readonly string[]): void {
  command.showHelpAfterError(`see: ${cliCommand(...words, '--help')}`);
  for (const one of command.commands) pointToHelp(one, [...words, one.name()]);
}

function labelOption(): Option {
  return new Option('--label <key=value>', 'label of its Location; repeatable').argParser(label).default({}, 'none');
}

function spaceOption(description: string): Option {
  return new Option('--space <context>', `${description} (default: the current context of the kubeconfig)`).argParser(
    (context) => spaceContext(context),
  );
}

function currentSpace(api: NodeApiClient): string {
  return spaceContext(api.currentContext(), 'the current context of the kubeconfig');
}

/** A space at the node that has it: only this node knows what was promoted, and only there can a person write. */
function originSpace(api: NodeApiClient, options: { space?: string }): string {
  const space = options.space ?? currentSpace(api);
  checkOrigin(space);
  return space;
}

/** Options of the command line have precedence over the environment of the terminal. */
function kubeconfigOf(options: { data?: string; kubeconfig?: string }): string {
  const fromEnvironment = options.data === undefined ? process.env.KUBECONFIG : undefined;
  return options.kubeconfig ?? fromEnvironment ?? dataOf(options).kubeconfig;
}

/** The directory of the tree that the kubeconfig belongs to, if the tree runs on this machine. */
function treeDirectoryOf(options: { data?: string; kubeconfig?: string }): DataDirectory {
  return options.data === undefined ? new DataDirectory(dirname(kubeconfigOf(options))) : dataOf(options);
}

function clientOf(options: { data?: string; kubeconfig?: string }): NodeApiClient {
  return new NodeApiClient(kubeconfigOf(options));
}

/** Runs the node as a process of its own, with the program of its role. Passes signals on to the process, and returns its exit code. */
function runNode(role: ProgramRole, config: string): Promise<number> {
  const { flags, env } = launchOf(role);
  const child = spawn(process.execPath, [...flags, programOf(role), '--config', config], {
    env: { ...env, ...process.env },
    stdio: 'inherit',
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  return new Promise((done, fail) => {
    child.once('error', fail);
    child.once('exit', (exit) => done(exit ?? exitCode.failed));
  });
}
