import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unifiedDiff } from '../../../../center/cli/unified-diff.ts';

const names = { before: 'a', after: 'b' };
const text = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('');

/** Applies a difference, as `patch` does. */
function patched(before: readonly string[], diff: readonly string[]): string[] {
  const after: string[] = [];
  let at = 0;
  for (const line of diff.slice(2)) {
    const [, start, count = '1'] = /^@@ -(\d+)(?:,(\d+))? /.exec(line) ?? [];
    if (start !== undefined) {
      const from = count === '0' ? Number(start) : Number(start) - 1;
      after.push(...before.slice(at, from));
      at = from;
    } else if (line.startsWith('+')) after.push(line.slice(1));
    else {
      expect(before[at]).toBe(line.slice(1));
      if (line.startsWith(' ')) after.push(line.slice(1));
      at += 1;
    }
  }
  return [...after, ...before.slice(at)];
}

describe('a unified difference', () => {
  it('is empty for equal texts', () => {
    expect(unifiedDiff('a\n', 'a\n', names)).toEqual([]);
  });

  it('shows the changed lines with three lines around them', () => {
    const before = Array.from({ length: 9 }, (_, i) => `line ${i + 1}`);
    const after = before.map((line, i) => (i === 4 ? 'changed' : line));
    expect(unifiedDiff(text(before), text(after), names)).toEqual([
      '--- a',
      '+++ b',
      '@@ -2,7 +2,7 @@',
      ' line 2',
      ' line 3',
      ' line 4',
      '-line 5',
      '+changed',
      ' line 6',
      ' line 7',
      ' line 8',
    ]);
  });

  it('of a new text and of a removed one has line 0 on the empty side', () => {
    expect(unifiedDiff('', 'x\n', names)).toEqual(['--- a', '+++ b', '@@ -0,0 +1 @@', '+x']);
    expect(unifiedDiff('x\n', '', names)).toEqual(['--- a', '+++ b', '@@ -1 +0,0 @@', '-x']);
  });

  it('makes one text from the other', () => {
    const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 30 });
    void fc.assert(
      fc.property(lines, lines, (before, after) => {
        const diff = unifiedDiff(text(before), text(after), names);
        expect(patched(before, diff)).toEqual(after);
      }),
    );
  });

  it('of two long texts without a common line is still right, and quick', () => {
    const before = Array.from({ length: 3_000 }, (_, i) => `a${i}`);
    const after = Array.from({ length: 3_000 }, (_, i) => `b${i}`);
    const beginMs = performance.now();
    expect(patched(before, unifiedDiff(text(before), text(after), names))).toEqual(after);
    expect(performance.now() - beginMs).toBeLessThan(5_000);
  });
});
