/** `banyan topology validate`, `render`, `diff` and `apply`. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { readBytes } from '../../core/runtime/config-file.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { problemText } from '../../core/runtime/schema-problems.ts';
import { deploymentProblems } from '../install/deployment-problems.ts';
import { deploymentsOf } from '../install/deployments.ts';
import { renderedFiles } from '../install/render.ts';
import type { TreeDifference } from '../topology/differences.ts';
import { seconds } from './arguments.ts';
import { asksTree, type CommandRun } from './command-run.ts';
import { dataOf } from './data-of.ts';
import { applyDeployed } from './deployed-apply.ts';
import { checkSeen, type DeployedTopology, deployedOutput, openDeployed } from './deployed-topology.ts';
import { differenceOutput, lossesOf } from './difference-output.ts';
import { exitCode } from './exit-codes.ts';
import type { TreeOptions } from './open-tree.ts';
import { noMore, type Output, outputOption, printed } from './output.ts';
import { writeFolder } from './rendered-folder.ts';
import { applyTopology, differences, runningTree, wantedOf } from './topology-change.ts';
import { plannedNodes, readTopology, runningSupervisor } from './up.ts';
import { UsageError } from './usage-error.ts';

export function addTopologyCommands(program: Command, run: CommandRun): void {
  const { print } = run;
  const topology = program.command('topology').description('work on topology files');
  topology
    .command('validate')
    .description('check a topology file; if it is wrong, exit with code 2 and show every problem with its line')
    .requiredOption('-f, --file <topology>', 'the topology file')
    .action((options) => {
      const { name, relays, clusters } = readTopology(options.file);
      print(`${options.file}: "${name}" is fine: a center, ${relays.length} relays, ${clusters.length} clusters`);
    });
  topology
    .command('render')
    .description('write what the places of a topology need: values of the chart, files for machines, the next commands')
    .requiredOption('-f, --file <topology>', 'the topology file')
    .requiredOption('-o, --output <folder>', 'the folder, which has no other files')
    .action(({ file, output }) => print(render(file, output)));
  addDiff(topology, run);
  addApply(topology, run);
}

const ofTopology = 'data directory of a tree of `banyan up` (default: .banyan beside the topology file)';
const ofDeployed = 'kubeconfig of a deployed tree';

function addDiff(topology: Command, { print, exitWith }: CommandRun): void {
  const diff = topology
    .command('diff')
    .description('show how a topology file differs from the tree that runs; exit with code 4 if it does')
    .requiredOption('-f, --file <topology>', 'the topology file')
    .addOption(outputOption(noMore));
  asksTree(diff, ofTopology, ofDeployed).action(async (options) => {
    const show = (output: Output, found: readonly TreeDifference[]) => {
      print(printed(output, options.output));
      exitWith(found.length === 0 ? exitCode.done : exitCode.changes);
    };
    if (isHere(options)) {
      const { record } = runningTree(dataOf(options));
      const found = differences(record, wantedOf(record, options.file));
      show(differenceOutput(found), found);
      return;
    }
    await withDeployed(options, async (deployed) => {
      show(deployedOutput(deployed), deployed.differences);
      checkSeen(deployed);
    });
  });
}

function addApply(topology: Command, { print, warn }: CommandRun): void {
  const ports = { clock: systemClock, random: systemRandom, print, warn, pause };
  const apply = topology
    .command('apply')
    .description('make the tree that runs the tree of a topology file; only what differs is restarted')
    .requiredOption('-f, --file <topology>', 'the topology file')
    .option('--yes', 'also apply changes that take workloads away', false)
    .option('--timeout <seconds>', 'how long to wait for each step', seconds, 120);
  asksTree(apply, ofTopology, ofDeployed).action(async (options) => {
    const agreed = (losses: string | undefined) => {
      if (losses === undefined || options.yes) return;
      throw new UsageError(
        `${options.file}: nothing was changed, because this takes workloads away:\n  ${losses}\nto do it all the same, add --yes`,
      );
    };
    const timeoutMs = options.timeout * 1_000;
    if (isHere(options)) {
      const data = dataOf(options);
      const running = runningTree(data);
      const wanted = wantedOf(running.record, options.file);
      const found = differences(running.record, wanted);
      print(differenceOutput(found).text);
      agreed(lossesOf(running.record.nodes, found));
      if (found.length === 0) return;
      await applyTopology(data, running, wanted, timeoutMs, ports);
      print('applied');
      return;
    }
    await withDeployed(options, async (deployed) => {
      print(deployedOutput(deployed).text);
      agreed(lossesOf(deployed.seen.nodes, deployed.differences));
      checkSeen(deployed);
      if (deployed.differences.length === 0) return;
      const left = await applyDeployed(deployed, timeoutMs, ports);
      print(left === 0 ? 'applied' : stepsLeft(left, options.file));
    });
  });
}

function stepsLeft(left: number, file: string): string {
  const render = cliCommand('topology', 'render', '-o', 'DIR', '-f', file);
  return `
applied as far as the API can. ${left} ${left === 1 ? 'step is' : 'steps are'} left for persons, as shown; DIR is the folder of: ${render}
afterwards, run the command again`;
}

/** Returns whether the tree is one of `banyan up` on this machine. A kubeconfig names a tree by its API. */
function isHere({ kubeconfig, context, ...options }: TreeOptions & { readonly file: string }): boolean {
  if (kubeconfig !== undefined || context !== undefined) return false;
  return options.data !== undefined || runningSupervisor(dataOf(options)) !== undefined || !hasKubeconfig();
}

/** Returns whether the environment names a kubeconfig. Without one, the person means a tree of `banyan up`. */
function hasKubeconfig(): boolean {
  return (process.env.KUBECONFIG ?? '') !== '';
}

async function withDeployed(
  options: TreeOptions & { readonly file: string },
  use: (deployed: DeployedTopology) => Promise<void>,
): Promise<void> {
  const deployed = await openDeployed(options.file, options);
  try {
    await use(deployed);
  } finally {
    deployed.api.close();
  }
}

/** Returns what the person reads. */
function render(file: string, folder: string): string {
  const topology = readTopology(file);
  const deployments = deploymentsOf(topology, plannedNodes(topology, file));
  const problems = deploymentProblems(deployments);
  if (problems.length > 0) {
    throw new UsageError(problems.map((problem) => `${file}: ${problemText(problem, 'the file')}`).join('\n'));
  }
  writeFolder(folder, renderedFiles(deployments, { readFile: (named) => readBytes(named).toString('utf8') }));
  return `${folder}: the files of ${deployments.length} nodes; README.md there has the commands, in their order`;
}
