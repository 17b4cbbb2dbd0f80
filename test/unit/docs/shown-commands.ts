/** Command lines of `banyan` on pages and in messages of programs, compared with the table of commands. */
import type { Command } from 'commander';
import { commandTable } from '../../../center/cli/program.ts';

/** Words of a shell: quoted texts are one word. */
const word = /'[^']*'|"[^"]*"|[^\s'"|;&<>()#]+/g;

/** The command lines of a text, without the name of the program. Comments, redirections and further commands of the line are cut off. */
export function commandLinesIn(text: string): string[][] {
  const inCode = [...text.matchAll(/```[\s\S]*?```|`[^`\n]+`/g)].map(([code]) => code.replaceAll('`', ''));
  return inCode
    .flatMap((code) =>
      code
        .replaceAll('\\\n', ' ')
        .replace(/\s#\s.*$/gm, '')
        .split('\n'),
    )
    .flatMap((line) => [...line.matchAll(/(?:npm exec -- |kubectl |^|[(] *)banyan ((?:[^|;&#>)…]|\\\|)*)/g)])
    .map(([, rest = '']) => (rest.match(word) ?? []).map((one) => one.replace(/^['"]|['"]$/g, '')))
    .filter(([first = '']) => /^[a-z]/.test(first));
}

/** The texts in the calls of `cliCommand()` in a source. Words that are not texts are left out. */
export function printedCommandsIn(source: string): string[][] {
  return [...source.matchAll(/cliCommand\(('[^)]*)\)/g)].map(([, list = '']) =>
    [...list.matchAll(/(?<![\w.$]\()'([^']*)'/g)].map(([, text = '']) => text),
  );
}

/** What is wrong with a command line. Undefined: nothing. `isWhole`: arguments may not be missing. */
export function flawOfCommand(words: readonly string[], isWhole: boolean): string | undefined {
  let command = commandTable();
  let rest = [...words];
  for (let below = named(command, rest[0]); below; below = named(command, rest[0])) {
    command = below;
    rest = rest.slice(1);
  }
  if (command.commands.length > 0) return rest.length > 0 ? `there is no command "${rest[0]}"` : undefined;
  let positionals = 0;
  while (rest.length > 0) {
    const [flag = '', value] = rest.shift()!.split('=', 2);
    if (!flag.startsWith('-') || flag === '-') {
      positionals++;
      continue;
    }
    if (['--help', '-h'].includes(flag)) return undefined;
    const option = command.options.find(({ short, long }) => flag === short || flag === long);
    if (!option) return `"${command.name()}" has no option ${flag}`;
    if (!option.required || value !== undefined) continue;
    if (rest.shift() === undefined && isWhole) return `the value of ${flag} is missing`;
  }
  const known = command.registeredArguments;
  if (positionals > known.length && !known.some(({ variadic }) => variadic)) {
    return `"${command.name()}" takes ${known.length} arguments`;
  }
  const missing = known.filter(({ required }, i) => required && i >= positionals);
  return isWhole && missing.length > 0 ? `the argument ${missing[0]!.name()} is missing` : undefined;
}

function named(command: Command, name: string | undefined): Command | undefined {
  return command.commands.find((one) => one.name() === name);
}
