/** The commands that run nodes on this machine. */
import { spawn } from 'node:child_process';
import { networkInterfaces, userInfo } from 'node:os';
import { resolve } from 'node:path';
import { Argument, type Command, Option } from 'commander';
import { systemClock } from '../../core/runtime/clock.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { launchOf } from '../supervisor/launch.ts';
import { type ProgramRole, programOf } from '../supervisor/programs.ts';
import { listed, nameOfApi, seconds } from './arguments.ts';
import type { CommandRun } from './command-run.ts';
import { demo } from './demo.ts';
import { exitCode } from './exit-codes.ts';
import { down, up } from './up.ts';

export function addLocalCommands(program: Command, { print, exitWith }: CommandRun): void {
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
    .action(async (options) => exitWith(await up({ ...options, timeoutSeconds: options.timeout }, print)));

  program
    .command('down')
    .description('end a tree that runs in the background')
    .option('-f, --file <topology>', 'the topology file that it was started with')
    .option('--data <dir>', 'its data directory')
    .action(async (options) => exitWith(await down(options, print)));

  addInit(program, print);

  for (const role of ['center', 'relay', 'agent'] as const satisfies readonly ProgramRole[]) {
    program
      .command(role)
      .description(`run one ${role}`)
      .requiredOption('--config <file>', 'configuration file of the node')
      .action(async (options) => exitWith(await runNode(role, options.config)));
  }

  program
    .command('demo', { hidden: true })
    .description('run an example tree and deploy something to it: npm start')
    .option('--timeout <seconds>', 'how long to wait for the tree, and then again for its workload', seconds, 300)
    .action(async ({ timeout }) => exitWith(await demo(timeout, print)));
}

function addInit(program: Command, print: CommandRun['print']): void {
  program
    .command('init')
    .description('write the configuration, the keys and a systemd unit of a node on a machine without Kubernetes')
    .addArgument(new Argument('<role>', 'the role of the node').choices(['center', 'relay', 'agent']))
    .requiredOption('--dir <dir>', 'a new or empty directory for the node')
    .option('--join <token>', 'for a relay or an agent: the join token, or a file with it')
    .option('--path <path>', 'for a relay or an agent: its place in the tree; not needed if the file of --join has it')
    .option('--parent <address>', 'for a relay or an agent: host:port where its parent listens for children')
    .option('--name <name>', 'for a center or a relay: DNS name or IP address of its API, repeatable', nameOfApi, [])
    .option('--space <name>', 'for a center or a relay: a workload space, repeatable', listed, [])
    .option('--tree <name>', 'for a center: the name of the tree (default: banyan)')
    .option('--cluster <kubeconfig>', 'for an agent: the kubeconfig of its cluster (default: a simulated cluster)')
    .action(async (role: ProgramRole, options) => {
      const { init } = await import('./init.ts');
      const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ family }) => family === 'IPv6'));
      const lines = await init(
        {
          ...options,
          role,
          names: options.name,
          spaces: options.space,
          dir: resolve(options.dir),
          cluster: options.cluster && resolve(options.cluster),
        },
        {
          clock: systemClock,
          random: systemRandom,
          anyAddress: hasIpv6 ? '::' : '0.0.0.0',
          program: { node: process.execPath, program: programOf(role), user: userInfo().username },
        },
      );
      for (const line of lines) print(line);
    });
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
