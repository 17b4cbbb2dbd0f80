/** The commands before and after a change: previews, revisions, and deletions that wait for a person. */
import type { Command } from 'commander';
import { approveDeletions } from './approve-deletions.ts';
import { listed, nodePath, placementName, revisionNumber } from './arguments.ts';
import { asksTree, type CommandRun, originSpace, spaceOption, withTree } from './command-run.ts';
import { exitCode } from './exit-codes.ts';
import { historyTable } from './history.ts';
import { plan } from './plan.ts';
import { undo } from './undo.ts';
import { UsageError } from './usage-error.ts';

export function addChangeCommands(program: Command, { print, exitWith }: CommandRun): void {
  const planCommand = program
    .command('plan')
    .description('show what would change if the objects of a file were applied: places, objects, or one cluster')
    .option('-f, --file <file>', 'a file with objects, repeatable; - for the standard input', listed, [])
    .option('--at <path>', 'print what would be at this cluster, and the difference to what it was sent', nodePath)
    .option('--exit-code', 'end with exit code 4 if something would change', false)
    .addOption(spaceOption('the space to which the objects would be applied'));
  asksTree(planCommand).action((options) => {
    const { file: files, at } = options;
    if (files.length === 0 && at === undefined) {
      throw new UsageError('plan: name what to plan: a file with -f, or a cluster with --at');
    }
    return withTree(options, async (api) => {
      const space = originSpace(api, options);
      const { lines, isChange } = await plan(api, { space, files, ...(at === undefined ? {} : { at }) });
      for (const line of lines) print(line);
      if (isChange && options.exitCode) exitWith(exitCode.changes);
    });
  });

  const history = program
    .command('history')
    .description('the promoted revisions of a placement: what was promoted, and when')
    .argument('<epl/NAME>', 'the placement', placementName)
    .addOption(spaceOption('the space of the placement'));
  asksTree(history).action((name: string, options) =>
    withTree(options, async (api) => print(await historyTable(api, originSpace(api, options), name))),
  );

  const undoCommand = program
    .command('undo')
    .description('write the objects of a promoted revision back into the space; the waves of the placement apply')
    .argument('<epl/NAME>', 'the placement', placementName)
    .option('--to <revision>', 'the revision (default: the one before the newest change)', revisionNumber)
    .option('--prune', 'also delete objects that the revision does not have', false)
    .option('--dry-run', 'only show what would be written', false)
    .addOption(spaceOption('the space of the placement'));
  asksTree(undoCommand).action((name: string, options) =>
    withTree(options, async (api) => {
      const { to, prune, dryRun } = options;
      const question = { space: originSpace(api, options), name, prune, dryRun };
      for (const line of await undo(api, { ...question, ...(to === undefined ? {} : { to }) })) print(line);
    }),
  );

  const approve = program
    .command('approve-deletions')
    .description('confirm deletions that were held back after a parent lost data, and acknowledge the loss of a store')
    .argument('<path>', 'path of the node, for example eu:paris or eu:paris:store-17; center for the root', nodePath)
    .option('--dry-run', 'only show the held entries', false);
  asksTree(approve).action((path: string, options) =>
    withTree(options, (api) => approveDeletions(api, path, options.dryRun, print)),
  );
}
