/** Chooses the long test files that run with a commit. */

/** Number of parts. With six, the commits of a week run nearly every file, and one part takes about five minutes. */
const parts = 6;

/**
 * `commit`: hexadecimal digits. The first eight choose the part. Files with similar names are neighbours in the order of names, so they are in different
 * parts.
 */
export function rotatingPart(files: readonly string[], commit: string): readonly string[] {
  const chosen = Number.parseInt(commit.slice(0, 8), 16) % parts;
  return files.toSorted().filter((_, index) => index % parts === chosen);
}
