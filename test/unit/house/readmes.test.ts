import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { flawsOf, type Listing, namedIn } from './readmes.ts';

/** Generated folders have no README. */
const folders = globSync('{core,relay,edge-agent,center,test/sim}{,/**}/', {
  exclude: ['**/generated', '**/generated/**'],
});

function listingOf(folder: string): Listing {
  const entries = readdirSync(folder, { withFileTypes: true });
  const readme = join(folder, 'README.md');
  return {
    entries: entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)),
    readme: existsSync(readme) ? readFileSync(readme, 'utf8') : undefined,
  };
}

describe('the README of a folder', () => {
  it('is found in every folder', () => {
    expect(folders.length).toBeGreaterThan(80);
  });

  it.each(folders.sort())('names the contents of %s, once, and nothing else', (folder) => {
    expect(flawsOf(listingOf(folder))).toEqual([]);
  });
});

describe('the check of a README', () => {
  const table = ['Words about `far.ts`.', '', '| file | is |', '| --- | --- |'];
  const readme = (...rows: string[]) => [...table, ...rows].join('\n');

  it('takes names of files and folders from the first cells, also several from one', () => {
    const rows = [
      '| `a.ts`, `b.ts` | like `c.ts` |',
      '| `main.ts, run.ts` | the process |',
      '| `deep/` | more |',
      '| all `spec.x` | |',
    ];
    expect(namedIn(readme(...rows))).toEqual(['a.ts', 'b.ts', 'main.ts', 'run.ts', 'deep/']);
  });

  it('finds names that are missing, repeated or outdated', () => {
    const entries = ['a.ts', 'b.ts', 'deep/', 'data.json', 'README.md'];
    expect(flawsOf({ entries, readme: readme('| `a.ts` | |', '| `b.ts`, `deep/` | |') })).toEqual([]);
    expect(flawsOf({ entries, readme: readme('| `a.ts` | |', '| `a.ts`, `gone.ts` | |') })).toEqual([
      'b.ts is not in the table: add a row',
      'deep/ is not in the table: add a row',
      'a.ts is in the table more than once: leave one row',
      'gone.ts is in the table and not in the folder: take it out',
    ]);
  });

  it('is required if a folder has more than three files', () => {
    const files = ['a.ts', 'b.ts', 'c.ts'];
    expect(flawsOf({ entries: files, readme: undefined })).toEqual([]);
    const flaw = 'has 4 source files and no README.md with a table of them: write one';
    for (const readme of [undefined, 'only words'])
      expect(flawsOf({ entries: [...files, 'd.ts', 'e/'], readme })).toEqual([flaw]);
  });
});
