import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { commandTable } from '../../../center/cli/program.ts';
import { withCommandTables } from '../../support/command-tables.ts';

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

/** Hidden commands are not for people. */
function namesOf(command: Command): string[] {
  const shown = command.createHelp().visibleCommands(command);
  return shown.flatMap((one) => [one.name(), ...namesOf(one)]).filter((name) => name !== 'help');
}

describe('the page of the command line', () => {
  it('has the tables that the commands and exit codes give', () => {
    const page = readFileSync(join(root, 'docs/reference/cli.md'), 'utf8');
    expect(withCommandTables(page)).toBe(page);
    expect(page).toContain('| `user add NAME [--group GROUP]… [--ttl TIME] [--server URL] [-o ');
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
    const names = new Set(namesOf(commandTable()));
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
