/** What the README of a folder says of its files and folders, and where the two differ. */

/** In the first cell of a row; a cell may name several. */
const named = /^[\w.-]+(?:\/|\.(?:ts|js|json))$/;

/** What the tables of a README name, in their order. */
export function namedIn(readme: string): string[] {
  return readme
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)])
    .flatMap(([, words = '']) => words.split(',').map((word) => word.trim()))
    .filter((word) => named.test(word));
}

export interface Listing {
  /** All that the folder has; folders end in a slash. */
  readonly entries: readonly string[];
  /** Undefined: there is none. */
  readonly readme: string | undefined;
}

/** More files than this are not seen at a glance. */
const withoutReadmeMax = 3;

/** In words, with what to do. */
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
