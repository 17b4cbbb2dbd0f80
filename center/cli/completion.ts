/**
 * Completion of command lines. The scripts of all shells, and kubectl's plugin, ask the hidden command `complete`, which works from the table of commands. So a
 * script never becomes outdated. Pure except for `WordSource`.
 */
import type { Argument, Command, Option } from 'commander';

/** The words that a tree gives for a command line. Each function may fail; then there are no values. */
export interface WordSource {
  /** Paths of nodes. */
  paths(options: TypedOptions): Promise<readonly string[]>;
  /** Contexts of the kubeconfig. */
  contexts(options: TypedOptions): Promise<readonly string[]>;
  /** `epl/NAME` of each placement. */
  placements(options: TypedOptions): Promise<readonly string[]>;
  /** `KIND/NAME` of each object of a kind. */
  objects(kind: string, options: TypedOptions): Promise<readonly string[]>;
}

/** Options that the person has typed, by their attribute names, such as `kubeconfig`. */
export type TypedOptions = Readonly<Record<string, string>>;

export interface Completions {
  readonly candidates: readonly { readonly value: string; readonly description?: string }[];
  /** The shell offers names of files. */
  readonly files: boolean;
}

/** `words`: the words after the name of the program. The last one is being typed, and may be empty. */
export async function completionsOf(
  program: Command,
  words: readonly string[],
  values: WordSource,
): Promise<Completions> {
  const { command, awaiting, typed, position } = typedSoFar(program, words.slice(0, -1));
  const word = words.at(-1) ?? '';
  const all = awaiting
    ? await valuesOf(awaiting, word, typed, values)
    : word.startsWith('-')
      ? optionsOf(command)
      : await wordsOf(command, position, { word, typed, values });
  return { ...all, candidates: all.candidates.filter(({ value }) => value.startsWith(word)) };
}

interface Typed {
  readonly command: Command;
  /** The option whose value is being typed. */
  readonly awaiting: Option | undefined;
  readonly typed: TypedOptions;
  /** Number of arguments before the word that is being typed. */
  readonly position: number;
}

function typedSoFar(program: Command, words: readonly string[]): Typed {
  let command = program;
  let awaiting: Option | undefined;
  let position = 0;
  const typed: Record<string, string> = {};
  for (const word of words) {
    if (awaiting) {
      typed[awaiting.attributeName()] = word;
      awaiting = undefined;
      continue;
    }
    const [flag = '', value] = word.startsWith('--') ? word.split('=', 2) : [word];
    const option = command.options.find(({ short, long }) => flag !== '' && (flag === short || flag === long));
    if (option?.required) {
      if (value === undefined) awaiting = option;
      else typed[option.attributeName()] = value;
      continue;
    }
    if (option) continue;
    const below = position === 0 ? command.commands.find((one) => one.name() === word) : undefined;
    if (below) command = below;
    else position++;
  }
  return { command, awaiting, typed, position };
}

function optionsOf(command: Command): Completions {
  const shown = command.createHelp().visibleOptions(command);
  const candidates = shown.map(({ long, short, description }) => ({ value: long ?? short ?? '', description }));
  return { candidates, files: false };
}

async function wordsOf(
  command: Command,
  position: number,
  { word, typed, values }: { readonly word: string; readonly typed: TypedOptions; readonly values: WordSource },
): Promise<Completions> {
  const below = position === 0 ? command.createHelp().visibleCommands(command) : [];
  const argument = command.registeredArguments[position];
  if (argument) return valuesOf(argument, word, typed, values);
  const candidates = below.map((one) => ({ value: one.name(), description: one.description() }));
  return { candidates, files: false };
}

async function valuesOf(
  of: Option | Argument,
  word: string,
  typed: TypedOptions,
  values: WordSource,
): Promise<Completions> {
  const some = async (make: Promise<readonly string[]>): Promise<Completions> => {
    const found = await make.catch(() => []);
    return { candidates: found.map((value) => ({ value })), files: false };
  };
  if (of.argChoices) return some(Promise.resolve(of.argChoices));
  switch (formOf(of)) {
    case 'path':
      return some(values.paths(typed));
    case 'context':
      return some(values.contexts(typed).then((all) => all.filter((one) => one.startsWith('space/'))));
    case 'context-name':
      return some(values.contexts(typed));
    case 'epl/NAME':
      return some(values.placements(typed));
    case 'KIND/NAME': {
      const [kind = '', name] = word.split('/');
      return name === undefined ? { candidates: [], files: false } : some(values.objects(kind, typed));
    }
    case 'file':
    case 'topology':
    case 'dir':
      return { candidates: [], files: true };
    default:
      return { candidates: [], files: false };
  }
}

/** The name of an argument, or of the value of an option: `path` in `--at <path>`. */
function formOf(of: Option | Argument): string {
  return 'flags' in of ? (/[<[](.+)[>\]]/.exec(of.flags)?.[1] ?? '') : of.name();
}

/**
 * The lines for a script: a candidate with its description after a tab, and at the end what else the shell offers: `:0` files, `:4` nothing. kubectl reads these
 * lines too: https://github.com/spf13/cobra/blob/main/site/content/completions/_index.md
 */
export function completionLines({ candidates, files }: Completions): string[] {
  const lines = candidates.map(({ value, description }) => (description ? `${value}\t${description}` : value));
  return [...lines, files ? ':0' : ':4'];
}
