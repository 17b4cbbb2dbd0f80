import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../../..');

function filesBelow(folder: string, ending: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending))
    .map((file) => join(folder, file));
}

/** Lines with their numbers for which `isWrong` holds, of each file. */
function linesOf(files: readonly string[], isWrong: (line: string) => boolean): string[] {
  return files.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .flatMap((line, i) => (isWrong(line) ? [`${file}:${i + 1}: ${line.trim()}`] : [])),
  );
}

interface Described {
  readonly name: string;
  /** Forms of each option: `-f`, `--file`. */
  readonly options: readonly (readonly string[])[];
}

/** The files that define commands. */
const programs = ['center/cli/banyan.ts', 'center/cli/tree-commands.ts'];

/** Parsed from the text of the program, which runs as soon as it is loaded. Hidden commands and options are not for people. */
function commands(): Described[] {
  const parts = programs.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split(/\.command\(/)
      .slice(1),
  );
  return parts.flatMap((part) => {
    const [, name, hidden] = /^'([\w-]+)'(, \{ hidden: true \})?/.exec(part) ?? [];
    if (name === undefined || hidden !== undefined) return [];
    const options = [...part.matchAll(/(?:\.option|\.requiredOption|new Option)\(\s*'([^']+)'(?!.*hideHelp)/g)];
    return [{ name, options: options.map(([, flags = '']) => flags.match(/--?[a-z-]+/g) ?? []) }];
  });
}

/** Options with which each command finds its tree: the page describes them once for all commands. */
const ofMany = new Set(['--data', '--kubeconfig']);

describe('the page of the command line', () => {
  const page = readFileSync(join(root, 'docs/reference/cli.md'), 'utf8');
  const tables = page.split('\n\n').filter((block) => block.startsWith('| command |'));
  const rows = tables.flatMap((table) => table.split('\n')).flatMap((line) => /^\| `(.+?)` \|/.exec(line)?.[1] ?? []);
  /** `revoke` and `user revoke` have a row each. */
  const rowsOf = (name: string) => rows.filter((row) => row.split(/[ `,]+/).includes(name));

  it('is compared with the commands of the program', () => {
    expect(commands().map(({ name }) => name)).toEqual(
      expect.arrayContaining(['up', 'validate', 'tree', 'join-token']),
    );
  });

  it('has no row for an unknown command', () => {
    const names = new Set([...commands().map(({ name }) => name), 'center']);
    expect(rows.map((row) => row.split(/[ `,]+/)[0] ?? '').filter((name) => !names.has(name))).toEqual([]);
  });

  it.each(commands())('has a row for $name, with each of its options', ({ name, options }) => {
    const missing = rowsOf(name).map((row) =>
      options.filter((forms) => !forms.some((form) => ofMany.has(form) || row.split(/[ [\]]+/).includes(form))),
    );
    expect(missing).toContainEqual([]);
  });
});

describe('a command that somebody is to type', () => {
  it('runs in a checkout wherever a page shows it on a line of its own', () => {
    expect(linesOf(['README.md', ...filesBelow('docs', '.md')], (line) => /^\s*(\$ )?banyan [a-z]/.test(line))).toEqual(
      [],
    );
  });

  // Text between backticks in a comment or a description is the name of a command that nobody has to type there.
  it('is written by cliCommand() wherever the program prints it', () => {
    const sources = ['core', 'relay', 'edge-agent', 'center'].flatMap((folder) => filesBelow(folder, '.ts'));
    const isComment = (line: string) => /^\s*(\/\/|\/?\*)/.test(line);
    const names = new Set(commands().map(({ name }) => name));
    const isBare = (line: string) =>
      [...line.matchAll(/(?<![`\w./@-])banyan ([a-z-]+)/g)].some(([, name = '']) => names.has(name));
    expect(linesOf(sources, (line) => !isComment(line) && isBare(line))).toEqual([]);
  });
});

describe('an example', () => {
  it('is a program that Node 20 runs: no sources that it would have to strip types from', () => {
    expect(filesBelow('docs/examples', '.ts')).toEqual([]);
    const pages = filesBelow('docs/examples', '.md');
    expect(linesOf(pages, (line) => /node [\w/-]+\.ts\b/.test(line))).toEqual([]);
  });
});
