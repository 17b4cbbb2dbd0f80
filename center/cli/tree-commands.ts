/** The commands that change a running tree: `topology` (in a file of its own), `cordon`, `uncordon`, `drain`, `remove`. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { isAtOrBelow } from '../../core/identity/node-path.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import type { DataDirectory } from '../supervisor/data-directory.ts';
import { readRecord } from '../supervisor/tree-record.ts';
import { wantedTree } from '../supervisor/wanted-tree.ts';
import { withoutPath } from '../topology/plan.ts';
import type { NodeApiClient } from './api-client.ts';
import { nodePath, pathWithoutReplica, seconds } from './arguments.ts';
import { asksTree, type CommandRun, withTree } from './command-run.ts';
import { cordon, drain, uncordon } from './drain.ts';
import { ownDirectoryOf } from './open-tree.ts';
import { checkRemoval, drainFirst, forget, type RemoveOptions, removedText } from './remove.ts';
import { type ApplyPorts, takeTree } from './topology-change.ts';
import { addTopologyCommands } from './topology-commands.ts';
import { checkKnown } from './tree-targets.ts';
import { runningSupervisor } from './up.ts';

export function addTreeCommands(program: Command, run: CommandRun): void {
  addTopologyCommands(program, run);
  addDrain(program, run);
  addRemove(program, run);
}

function addDrain(program: Command, { print, warn }: CommandRun): void {
  const onClusters = (
    command: Command,
    run: (api: NodeApiClient, path: string, timeoutMs: number) => Promise<string>,
  ): void => {
    command.argument('<path>', 'path of a cluster, or of a relay for all clusters below it', pathWithoutReplica);
    asksTree(command).action((path: string, options) =>
      withTree(options, async (api) => print(await run(api, path, (options.timeout ?? 0) * 1_000))),
    );
  };
  onClusters(
    program.command('cordon').description('let clusters keep their placements and get no new ones'),
    (api, path) => cordon(api, path, { warn }),
  );
  onClusters(
    program.command('uncordon').description('let placements come to clusters again, after cordon or drain'),
    (api, path) => uncordon(api, path, { warn }),
  );
  onClusters(
    program
      .command('drain')
      .description('remove all placements from clusters, and wait until no delivered object is left')
      .option('--timeout <seconds>', 'how long to wait', seconds, 120),
    async (api, path, timeoutMs) => {
      const paths = await drain(api, path, timeoutMs, { clock: systemClock, print, warn, pause });
      return `${paths.join(', ')}: drained; placements come again after: ${cliCommand('uncordon', path)}`;
    },
  );
}

function addRemove(program: Command, { print, warn }: CommandRun): void {
  const remove = program
    .command('remove')
    .description('take a node out of the tree for good, with everything below it; its certificates end')
    .argument('<path>', 'path of the node, for example eu:paris:store-17', nodePath)
    .option('--orphan', 'leave the delivered objects at the clusters', false)
    .option('--delete-workloads', 'delete the delivered objects first', false)
    .option('--force', 'do not wait for nodes that do not answer', false)
    .option('--timeout <seconds>', 'how long to wait until the objects are deleted', seconds, 120);
  asksTree(remove).action((path: string, options) =>
    withTree(options, async (api) => {
      const ports = { clock: systemClock, print, warn, pause };
      const asked: RemoveOptions = { ...options, timeoutMs: options.timeout * 1_000 };
      await checkKnown(api, path, 'remove');
      await checkRemoval(api, path, asked);
      await drainFirst(api, path, asked, ports);
      const directory = ownDirectoryOf(options);
      if (!directory || !(await removeHere(path, directory, asked.timeoutMs, { ...ports, random: systemRandom }))) {
        await forget(api, path, ports);
      }
      print(removedText(path, asked));
    }),
  );
}

/** Removes nodes that are processes of a supervisor on this machine: it ends them first, and does not start them again. Returns false if there are none. */
async function removeHere(path: string, data: DataDirectory, timeoutMs: number, ports: ApplyPorts): Promise<boolean> {
  const [pid, record] = [runningSupervisor(data), readRecord(data)];
  if (pid === undefined || !record?.nodes.some((node) => isAtOrBelow(node.path, path))) return false;
  const wanted = wantedTree(record, { ...record, nodes: withoutPath(record.nodes, path) });
  await takeTree(data, pid, wanted, timeoutMs, ports);
  const command = cliCommand('topology', 'apply', '-f', 'TOPOLOGY');
  ports.print(`if the topology file still names ${path}, take it out there: otherwise ${command} starts it again`);
  return true;
}
