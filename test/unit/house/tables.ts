/** Tables by word: constants that are plain objects. Asked by a user's text such as `constructor`, a plain object answers with a member of its prototype. */

export interface Lookup {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

const table = /\bconst (\w+): (?:Readonly<)?(?:Partial<)?Record<string,/g;

/** The lookups in tables of the same file, or in exported ones of the other files, by a value in brackets. Objects that begin empty or as a copy are no tables. */
export function lookupsInTables(texts: ReadonlyMap<string, string>): Lookup[] {
  const exported = [...texts.values()].flatMap((text) => tablesOf(text, true));
  return [...texts].flatMap(([file, text]) => {
    const names = [...new Set([...tablesOf(text, false), ...exported])];
    const lookup = new RegExp(
      `(?<!delete )(?<![.\\w])(?:${names.join('|')})(?:\\?\\.)?\\[(?!['"\`])[^\\]]*\\](?! =[^=])`,
    );
    return text.split('\n').flatMap((line, i) => (lookup.test(line) ? [{ file, line: i + 1, text: line.trim() }] : []));
  });
}

function tablesOf(text: string, isExported: boolean): string[] {
  return [...text.matchAll(table)]
    .filter(({ index }) => !isExported || text.slice(0, index).endsWith('export '))
    .filter(({ index }) => !/ = \{(?:\}| \.\.\.)/.test(text.slice(index, text.indexOf('\n', index))))
    .map(([, name = '']) => name);
}
