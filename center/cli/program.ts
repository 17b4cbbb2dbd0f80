/** The table of all commands. Help texts, the reference page and the completion of shells come from this table. */
import { Argument, Command } from 'commander';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { packageVersion } from '../../core/runtime/package-version.ts';
import { addAuthorityCommands } from './authority-commands.ts';
import { addChangeCommands } from './change-commands.ts';
import type { CommandRun } from './command-run.ts';
import { completionLines, completionsOf } from './completion.ts';
import { completionScript, shells } from './completion-scripts.ts';
import { treeValues } from './completion-values.ts';
import { addIdentityCommands } from './identity-commands.ts';
import { addLocalCommands } from './local-commands.ts';
import { addLookCommands } from './look-commands.ts';
import { addTreeCommands } from './tree-commands.ts';

export function makeProgram(run: CommandRun): Command {
  const program = new Command(cliCommand())
    .description('A multi-level relay mesh for Kubernetes workloads')
    .version(packageVersion())
    .exitOverride();
  addLocalCommands(program.commandsGroup('Run a tree on this machine:'), run);
  addTreeCommands(program.commandsGroup('Change a tree:'), run);
  addLookCommands(program.commandsGroup('Look at a tree:'), run);
  addChangeCommands(program.commandsGroup('Before and after a change:'), run);
  addIdentityCommands(program.commandsGroup('Nodes, users and keys:'), run);
  addAuthorityCommands(program, run);
  addCompletion(program.commandsGroup('Shells:'), run);
  pointToHelp(program, []);
  return program;
}

function addCompletion(program: Command, { print }: CommandRun): void {
  program
    .command('completion')
    .description('print the script with which a shell completes the words of a command')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .action((shell: (typeof shells)[number]) => print(completionScript(shell)));

  program
    .command('complete', { hidden: true })
    .description('the candidates for the last of these words: the scripts ask for them')
    .argument('[words...]')
    .action(async (words: string[]) => {
      print(completionLines(await completionsOf(program, words, treeValues)).join('\n'));
    });
}

/** The table alone, for programs that describe the commands and run none. */
export function commandTable(): Command {
  const nothing = () => {};
  const screen = { isTerminal: false, hasColours: false, write: nothing };
  return makeProgram({ screen, print: nothing, warn: nothing, exitWith: nothing });
}

/** An error of a command shows the help of this command. */
function pointToHelp(command: Command, words: readonly string[]): void {
  command.showHelpAfterError(`see: ${cliCommand(...words, '--help')}`);
  for (const one of command.commands) pointToHelp(one, [...words, one.name()]);
}
