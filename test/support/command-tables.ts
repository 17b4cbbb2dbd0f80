/** The tables of docs/reference/cli.md, made from the table of commands and from the exit codes. */
import type { Argument, Command, Option } from 'commander';
import { exitCode, exitCodeMeanings } from '../../center/cli/exit-codes.ts';
import { commandTable } from '../../center/cli/program.ts';

/** The page describes these options once for all commands. */
const treeOptions = new Set(['data', 'kubeconfig', 'context']);

/** Returns the page with its tables made again. The page has a place for each group of commands, in its own order. */
export function withCommandTables(page: string): string {
  const leaves = leavesOf(commandTable());
  const groups = [...new Set(leaves.map(({ group }) => group))];
  const rowsOf = (group: string) => leaves.filter((leaf) => leaf.group === group).map(rowOf);
  const tables = new Map(groups.map((group) => [group, table(['command', 'does'], rowsOf(group))]));
  const codes = Object.entries(exitCode).map(([name, code]) => [
    String(code),
    exitCodeMeanings[name as keyof typeof exitCode],
  ]);
  tables.set('exit codes', table(['code', 'meaning'], codes));
  return [...tables].reduce((text, [name, made]) => {
    const [begin, end] = [`<!-- generated: ${name} -->\n`, '<!-- /generated -->'];
    if (!text.includes(begin)) throw new Error(`docs/reference/cli.md has no place for the table "${name}": ${begin}`);
    const from = text.indexOf(begin) + begin.length;
    return `${text.slice(0, from)}\n${made}\n${text.slice(text.indexOf(end, from))}`;
  }, page);
}

interface Leaf {
  readonly words: readonly string[];
  readonly command: Command;
  readonly group: string;
}

/** The commands that do something, without hidden ones. */
function leavesOf(command: Command, words: readonly string[] = [], group = ''): Leaf[] {
  const shown = command.createHelp().visibleCommands(command);
  const below = shown.filter((one) => one.name() !== 'help');
  if (below.length === 0) return [{ words, command, group }];
  return below.flatMap((one) =>
    leavesOf(one, [...words, one.name()], group || (one.helpGroup() ?? '').replace(/:$/, '')),
  );
}

function rowOf({ words, command }: Leaf): string[] {
  const asksTree = command.options.some((option) => option.attributeName() === 'kubeconfig');
  const shown = command.options.filter(
    (option) => !option.hidden && !(asksTree && treeOptions.has(option.attributeName())),
  );
  const usage = [...words, ...command.registeredArguments.map(argumentText), ...shown.map(optionText)].join(' ');
  return [`\`${usage.replaceAll('|', '\\|')}\``, command.description()];
}

function argumentText(argument: Argument): string {
  const name = valueText(argument.name());
  return argument.required ? name : `[${name}]`;
}

function optionText(option: Option): string {
  const [, value] = /[<[](.+)[>\]]/.exec(option.flags) ?? [];
  const choices = option.argChoices?.join('|');
  const flag = [option.short ?? option.long, ...(value === undefined ? [] : [choices ?? valueText(value)])].join(' ');
  const isRepeatable = option.parseArg !== undefined && typeof option.defaultValue === 'object';
  return `${option.mandatory ? flag : `[${flag}]`}${isRepeatable ? '…' : ''}`;
}

/** `PATH` for `path`; a form such as `epl/NAME` stays. */
function valueText(name: string): string {
  return name === name.toLowerCase() ? name.toUpperCase() : name;
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  return [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}
