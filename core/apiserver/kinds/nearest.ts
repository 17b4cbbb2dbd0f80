/** The word that someone may have meant. */

/** Of the candidates the one with the fewest edits, if these are at most a third of its length; ties go to the first. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestEdits = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const edits = editDistance(word.toLowerCase(), candidate);
    if (edits < bestEdits && edits * 3 <= Math.max(candidate.length, word.length)) {
      best = candidate;
      bestEdits = edits;
    }
  }
  return best;
}

/** Levenshtein's distance, one row at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
