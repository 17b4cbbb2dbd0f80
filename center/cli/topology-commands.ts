/** `banyan topology validate`, `render`, `diff` and `apply`. */
import type { Command } from 'commander';
import { systemClock } from '../../core/runtime/clock.ts';
import { readBytes } from '../../core/runtime/config-file.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { problemText } from '../../core/runtime/schema-problems.ts';
import { deploymentProblems, deploymentsOf } from '../install/deployments.ts';
import { renderedFiles } from '../install/render.ts';
import { seconds } from './arguments.ts';
import type { CommandRun } from './command-run.ts';
import { dataOf } from './data-of.ts';
import { exitCode } from './exit-codes.ts';
import { noMore, outputOption, printed } from './output.ts';
import { writeFolder } from './rendered-folder.ts';
import { applyTopology, differenceOutput, differences, lossesOf, runningTree, wantedOf } from './topology-change.ts';
import { plannedNodes, readTopology } from './up.ts';
import { UsageError } from './usage-error.ts';

const pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

export function addTopologyCommands(program: Command, { print, warn, exitWith }: CommandRun): void {
  const applyPorts = { clock: systemClock, random: systemRandom, print, warn, pause };
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
  topology
    .command('diff')
    .description('show how a topology file differs from the tree that runs; exit with code 4 if it does')
    .requiredOption('-f, --file <topology>', 'the topology file')
    .addOption(outputOption(noMore))
    .option('--data <dir>', 'data directory of the tree (default: .banyan beside the topology file)')
    .action((options) => {
      const { record } = runningTree(dataOf(options));
      const found = differences(record, wantedOf(record, options.file));
      print(printed(differenceOutput(found), options.output));
      exitWith(found.length === 0 ? exitCode.done : exitCode.changes);
    });
  topology
    .command('apply')
    .description('make the tree that runs the tree of a topology file; only what differs is restarted')
    .requiredOption('-f, --file <topology>', 'the topology file')
    .option('--yes', 'also apply changes that take workloads away', false)
    .option('--timeout <seconds>', 'how long to wait for each step', seconds, 120)
    .option('--data <dir>', 'data directory of the tree (default: .banyan beside the topology file)')
    .action(async (options) => {
      const data = dataOf(options);
      const running = runningTree(data);
      const wanted = wantedOf(running.record, options.file);
      const found = differences(running.record, wanted);
      print(differenceOutput(found).text);
      const losses = lossesOf(found);
      if (losses !== undefined && !options.yes) {
        throw new UsageError(
          `${options.file}: nothing was changed, because this takes workloads away:\n  ${losses}\nto do it all the same, add --yes`,
        );
      }
      if (found.length === 0) return;
      await applyTopology(data, running, wanted, options.timeout * 1_000, applyPorts);
      print('applied');
    });
}

/** Returns what the person reads. */
function render(file: string, folder: string): string {
  const topology = readTopology(file);
  const deployments = deploymentsOf(topology, plannedNodes(topology, file));
  const problems = deploymentProblems(topology, deployments);
  if (problems.length > 0) {
    throw new UsageError(problems.map((problem) => `${file}: ${problemText(problem, 'the file')}`).join('\n'));
  }
  writeFolder(folder, renderedFiles(deployments, { readFile: (named) => readBytes(named).toString('utf8') }));
  return `${folder}: the files of ${deployments.length} nodes; README.md there has the commands, in their order`;
}
