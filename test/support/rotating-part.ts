/** Chooses the long files that run with a commit. */

/** Six parts: a week of commits runs nearly every file, and a part lasts some five minutes. */
const parts = 6;

/** `commit`: hexadecimal digits, of which the first eight choose. Neighbours in the order of names, which are similar, go into different parts. */
export function rotatingPart(files: readonly string[], commit: string): readonly string[] {
  const chosen = Number.parseInt(commit.slice(0, 8), 16) % parts;
  return files.toSorted().filter((_, index) => index % parts === chosen);
}
