/** The files and folders that the README of a folder names, and the differences from the folder. */

/** Names in the first cell of a row; a cell may have several. */
const named = /^[\w.-]+(?:\/|\.(?:ts|js|json))$/;

/** What the tables of a README name, in their order. */
export function namedIn(readme: string): string[] {
  return readme
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)])
    .flatMap(([, cell = '']) => cell.split(',').map((name) => name.trim()))
    .filter((name) => named.test(name));
}

export interface Listing {
  /** All entries of the folder; folders end with a slash. */
  readonly entries: readonly string[];
  /** Undefined: there is no README. */
  readonly readme: string | undefined;
}

/** More files than this need a README. */
const withoutReadmeMax = 3;

/** Messages with the remedy. */
export function flawsOf({ entries, readme }: Listing): string[] {
  const sources = entries.filter((entry) => entry.endsWith('.ts'));
  const names = namedIn(readme ?? '');
  if (names.length === 0) {
    if (sources.length <= withoutReadmeMax) return [];
    return [`has ${sources.length} source files and no README.md with a table of them: write one`];
  }
  const wanted = [...sources, ...entries.filter((entry) => entry.endsWith('/'))];
  return [
    ...wanted.filter((entry) => !names.includes(entry)).map((entry) => `${entry} is not in the table: add a row`),
    ...[...new Set(names)]
      .filter((name) => names.indexOf(name) !== names.lastIndexOf(name))
      .map((name) => `${name} is in the table more than once: leave one row`),
    ...names
      .filter((name) => !entries.includes(name))
      .map((name) => `${name} is in the table and not in the folder: take it out`),
  ];
}
