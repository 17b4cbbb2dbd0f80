/** The names that the program's files export, and the files that define each name. */

/** A definition stands at the start of a line; the formatter keeps it there. */
const definition =
  /^export (?:abstract |async |declare )*(?:class|interface|type|function\*?|const|let|enum) ([A-Za-z_$][\w$]*)/gm;

/** Each exported name with the files that define it. A file that passes on the name of another file (`export … from`) defines nothing. */
export function definitionsOf(texts: ReadonlyMap<string, string>): Map<string, string[]> {
  const files = new Map<string, string[]>();
  for (const [file, text] of texts) {
    const names = new Set([...text.matchAll(definition)].map(([, name = '']) => name));
    for (const name of names) files.set(name, [...(files.get(name) ?? []), file]);
  }
  return files;
}

/** The names with more than one meaning, in the order of the alphabet. */
export function ambiguousNames(texts: ReadonlyMap<string, string>): string[] {
  const definitions = [...definitionsOf(texts)];
  return definitions
    .filter(([, files]) => files.length > 1)
    .map(([name, files]) => `${name}: ${files.join(', ')}`)
    .sort();
}
