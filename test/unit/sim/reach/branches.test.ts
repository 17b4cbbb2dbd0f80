import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { branchesOf } from '../../../sim/reach/branches.ts';
import { countAt } from '../../../sim/reach/counts.ts';
import { isMachine } from '../../../sim/reach/machines.ts';
import { unreached, whyLeft } from '../../../sim/reach/unreached.ts';

function namesOf(text: string): string[] {
  return branchesOf('a.ts', text).map(({ what }) => what);
}

describe('the branches of a text', () => {
  it('include both ways of an if, also without an else', () => {
    expect(namesOf('if (a) b();')).toEqual(['if', 'not']);
    expect(namesOf('if (a) b(); else c();')).toEqual(['if', 'else']);
  });

  it('include functions, conditionals, right sides of operators, cases, loops and catches', () => {
    expect(namesOf('const f = (x?: number) => x ?? 1;')).toEqual(['function', '??']);
    expect(namesOf('const y = a ? b : c && d;')).toEqual(['?', ':', '&&']);
    expect(namesOf('switch (a) { case 1: case 2: b(); break; default: c(); }')).toEqual(['case', 'case']);
    expect(namesOf('for (const x of y) { z(); }')).toEqual(['loop']);
    expect(namesOf('try { a(); } catch { b(); }')).toEqual(['catch']);
  });

  it('do not include types', () => {
    expect(namesOf('type A = B extends C ? D : E; interface F { g(): void }')).toEqual([]);
    expect(namesOf('(a as B) && c!(d && e)')).toEqual(['&&', '&&']);
  });
});

describe('the list of unreachable branches', () => {
  const named = unreached.flatMap(({ lines }) => Object.entries(lines));

  it('names lines as they are now', () => {
    for (const [file, lines] of named) {
      const text = readFileSync(new URL(`../../../../${file}`, import.meta.url), 'utf8');
      const read = text.split('\n').map((line) => line.trim());
      expect([file, isMachine(file), lines.filter((line) => !read.some((one) => one.startsWith(line)))]).toEqual([
        file,
        true,
        [],
      ]);
    }
  });

  it('has a reason for each file and line, and no other entries', () => {
    const [file, [line]] = named[0] as [string, [string]];
    expect([whyLeft(file, line), whyLeft('core/feed/feed.ts', line)]).toEqual([unreached[0]!.why, undefined]);
  });
});

describe('the count of a place', () => {
  it('is the count of the smallest block around it', () => {
    const blocks = [
      { start: 0, end: 100, count: 3 },
      { start: 10, end: 20, count: 0 },
    ];
    expect([5, 10, 15, 20, 99].map((at) => countAt(blocks, at))).toEqual([3, 0, 0, 3, 3]);
  });

  it('is zero if the file was not loaded', () => {
    expect(countAt([], 5)).toBe(0);
  });
});
