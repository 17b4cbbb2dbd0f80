/** The difference of two texts in the unified format of `diff -u`. */

/** Lines around a change, as `diff -u` shows them. */
const contextLines = 3;

/** With more changes, the texts have little in common, and the difference shows one text removed and the other added. The cost grows with the square. */
const changesMax = 1_000;

interface DiffLine {
  readonly sign: ' ' | '-' | '+';
  readonly line: string;
}

/** Returns the lines of the difference. Empty: the texts are equal. `names`: what the two texts are. */
export function unifiedDiff(before: string, after: string, names: { before: string; after: string }): string[] {
  if (before === after) return [];
  const lines = diffLines(linesOf(before), linesOf(after));
  return [`--- ${names.before}`, `+++ ${names.after}`, ...hunksOf(lines)];
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/**
 * Finds a shortest list of changes (Myers, "An O(ND) Difference Algorithm", 1986): `reach[k]` is the furthest line of `a` on diagonal k that d changes reach.
 * The cost grows with the number of changes, and the texts are at most some thousand lines.
 */
function diffLines(a: readonly string[], b: readonly string[]): DiffLine[] {
  const max = Math.min(a.length + b.length, changesMax);
  const reach = new Map<number, number>([[1, 0]]);
  const steps: Map<number, number>[] = [];
  for (let d = 0; d <= max; d++) {
    steps.push(new Map(reach));
    for (let k = -d; k <= d; k += 2) {
      let x = goesDown(reach, k, d) ? reach.get(k + 1)! : reach.get(k - 1)! + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      reach.set(k, x);
      if (x >= a.length && x - k >= b.length) return traced(a, b, steps);
    }
  }
  return [...a.map((line) => ({ sign: '-' as const, line })), ...b.map((line) => ({ sign: '+' as const, line }))];
}

function goesDown(reach: ReadonlyMap<number, number>, k: number, d: number): boolean {
  return k === -d || (k !== d && (reach.get(k - 1) ?? 0) < (reach.get(k + 1) ?? 0));
}

/** Follows the steps back from the ends of both texts. */
function traced(a: readonly string[], b: readonly string[], steps: readonly Map<number, number>[]): DiffLine[] {
  const lines: DiffLine[] = [];
  let [x, y] = [a.length, b.length];
  for (let d = steps.length - 1; d >= 0; d--) {
    const reach = steps[d]!;
    const k = x - y;
    const before = goesDown(reach, k, d) ? k + 1 : k - 1;
    const fromX = d === 0 ? 0 : reach.get(before)!;
    const fromY = d === 0 ? 0 : fromX - before;
    while (x > fromX && y > fromY) {
      lines.push({ sign: ' ', line: a[--x]! });
      y--;
    }
    if (d === 0) break;
    if (x > fromX) lines.push({ sign: '-', line: a[--x]! });
    else if (y > fromY) lines.push({ sign: '+', line: b[--y]! });
  }
  return lines.reverse();
}

function hunksOf(lines: readonly DiffLine[]): string[] {
  const changed = lines.flatMap(({ sign }, i) => (sign === ' ' ? [] : [i]));
  const hunks: { from: number; to: number }[] = [];
  for (const i of changed) {
    const last = hunks.at(-1);
    const to = Math.min(lines.length, i + contextLines + 1);
    if (last && i - contextLines <= last.to) last.to = to;
    else hunks.push({ from: Math.max(0, i - contextLines), to });
  }
  return hunks.flatMap(({ from, to }) => {
    const hunk = lines.slice(from, to);
    const at = (sign: '-' | '+') => {
      const isOther = (one: DiffLine) => one.sign !== ' ' && one.sign !== sign;
      const count = hunk.filter((one) => !isOther(one)).length;
      const start = lines.slice(0, from).filter((one) => !isOther(one)).length;
      return `${sign}${count === 0 ? start : start + 1}${count === 1 ? '' : `,${count}`}`;
    };
    return [`@@ ${at('-')} ${at('+')} @@`, ...hunk.map(({ sign, line }) => `${sign}${line}`)];
  });
}
