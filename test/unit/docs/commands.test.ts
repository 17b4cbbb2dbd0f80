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

describe('a command that somebody is to type', () => {
  it('runs in a checkout wherever a page shows it on a line of its own', () => {
    expect(linesOf(['README.md', ...filesBelow('docs', '.md')], (line) => /^\s*(\$ )?banyan [a-z]/.test(line))).toEqual(
      [],
    );
  });

  // Between backticks of a comment or a description stands the name of a command, which nobody is told to type there.
  it('is written by cliCommand() wherever the program prints it', () => {
    const sources = ['core', 'relay', 'edge-agent', 'center'].flatMap((folder) => filesBelow(folder, '.ts'));
    const isComment = (line: string) => /^\s*(\/\/|\/?\*)/.test(line);
    const isBare = (line: string) =>
      /(?<![`\w./@-])banyan (up|down|topology|tree|ping|status|why|enroll|join-token|release)\b/.test(line);
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
