#!/usr/bin/env node
import { spawn } from 'node:child_process';
import { Command, CommanderError, Option } from 'commander';
/** The `banyan` command. */
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import { packageVersion } from '../../core/runtime/package-version.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { launchOf } from '../supervisor/launch.ts';
import { type ProgramRole, programOf } from '../supervisor/programs.ts';
import { issueTreeAgent } from '../supervisor/tree-pki.ts';
import { NodeApiClient } from './api-client.ts';
import { approveDeletions } from './approve-deletions.ts';
import { byteCount, kindAndName, nodePath, seconds, spaceContext } from './arguments.ts';
import { demo } from './demo.ts';
import { enroll } from './enroll.ts';
import { joinToken } from './join-token.ts';
import { pingLine } from './ping.ts';
import { placementReport } from './status.ts';
import { formatTree, treeRows } from './tree.ts';
import { dataOf, down, exitCode, readTopology, up } from './up.ts';
import { UsageError } from './usage-error.ts';
import { why } from './why.ts';

const print = (line: string) => console.log(line);
const warn = (line: string) => console.error(`banyan: ${line}`);
/** Interval at which `-w` shows the tree again. */
const watchEveryMs = 1_000;
let code: number = exitCode.done;

const program = new Command(cliCommand())
  .description('A multi-level relay mesh for Kubernetes workloads')
  .version(packageVersion())
  .showHelpAfterError(`(${cliCommand('--help')} lists the commands)`)
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

program
  .command('topology')
  .description('work on topology files')
  .command('validate')
  .description('check a topology file; if it is wrong, exit with code 2 and show every problem with its line')
  .requiredOption('-f, --file <topology>', 'the topology file')
  .action((options) => {
    const { name, relays, clusters } = readTopology(options.file);
    print(`${options.file}: "${name}" is fine: a center, ${relays.length} relays, ${clusters.length} clusters`);
  });

program
  .command('tree')
  .description('the tree with its sessions and counts')
  .argument('[path]', 'show this node and the nodes below it', nodePath, '')
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
  .argument('<path>', 'path of the node, for example eu:paris:store-17; center for the center', nodePath)
  .option('--bytes <n>', 'also send this many bytes there and back, and compare them', byteCount, 0)
  .option('--from <path>', 'the node that asks', nodePath, '')
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
  .argument('<path>', 'path of the agent, for example eu:paris:store-17')
  .option('--label <key=value>', 'label of its Location; repeatable', (one: string, all: string[]) => [...all, one], [])
  .option('--secret <name>', 'the name of the Secret', 'banyan-identity')
  .option('--again', 'print another certificate for an agent that was admitted before', false)
  .option('--data <dir>', 'data directory of the tree, with its certificate authority')
  .option('--kubeconfig <file>', 'kubeconfig of the tree')
  .action(async (path: string, options) => {
    const api = clientOf(options);
    const issue = (agent: string) => issueTreeAgent(dataOf(options), agent, systemClock);
    process.stdout.write(await enroll(api, { ...options, path, labels: options.label }, issue, warn));
    api.close();
  });

program
  .command('join-token')
  .description('admit an agent that runs elsewhere, and print a token with which it gets a certificate, once')
  .argument('<path>', 'path of the agent, for example eu:paris:store-17')
  .option('--label <key=value>', 'label of its Location; repeatable', (one: string, all: string[]) => [...all, one], [])
  .option('--ttl <time>', 'how long the token is valid: 30m, 24h, 7d', '24h')
  .option('--again', 'print another token for an agent that was admitted before', false)
  .option('--data <dir>', 'data directory of the tree')
  .option('--kubeconfig <file>', 'kubeconfig of the tree')
  .action(async (path: string, options) => {
    const api = clientOf(options);
    const ports = { clock: systemClock, random: systemRandom };
    print(await joinToken(api, { ...options, path, labels: options.label }, ports, warn));
    api.close();
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
  .description('one placement: counts, conditions, a sample of failures')
  .argument('<placement>', 'epl/NAME')
  .option('--space <context>', 'the space of the placement (default: the current context of the kubeconfig)')
  .option('--data <dir>', 'data directory of the tree')
  .option('--kubeconfig <file>', 'kubeconfig of the tree')
  .action(async (placement: string, options) => {
    const [kind, name] = kindAndName(placement, 'epl/NAME');
    if (!['epl', 'edgeplacement', 'edgeplacements'].includes(kind)) {
      throw new UsageError(`"${placement}" is not of the form epl/NAME`);
    }
    const api = clientOf(options);
    print(await placementReport(api, spaceContext(options.space, api.currentContext()), name));
    api.close();
  });

program
  .command('why')
  .description('show hop by hop why an object is, or is not, on a cluster')
  .argument('<object>', 'KIND/NAME, for example deployment/till')
  .requiredOption('--at <path>', 'path of the cluster, for example eu:paris:store-17', nodePath)
  .option('-n, --namespace <namespace>', 'namespace of the object', 'default')
  .option('--space <context>', 'the space of the object (default: the current context of the kubeconfig)')
  .option('--data <dir>', 'data directory of the tree')
  .option('--kubeconfig <file>', 'kubeconfig of the tree')
  .action(async (object: string, options) => {
    const api = clientOf(options);
    const space = spaceContext(options.space, api.currentContext());
    for (const line of await why(api, { object, namespace: options.namespace, space, at: options.at })) print(line);
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

/** Options of the command line have precedence over the environment of the terminal. */
function clientOf(options: { data?: string; kubeconfig?: string }): NodeApiClient {
  const fromEnvironment = options.data === undefined ? process.env.KUBECONFIG : undefined;
  return new NodeApiClient(options.kubeconfig ?? fromEnvironment ?? dataOf(options).kubeconfig);
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
