/**
 * Finds where a pattern matches. The RE2 engine of pattern.ts tells only whether a text matches. So this file runs the program that the engine has compiled,
 * with all its threads at once (https://swtch.com/~rsc/regexp/regexp2.html, "Pike's algorithm"): the time is linear in the length of the text.
 */
import type { RE2JS } from '@bufbuild/re2';
import type { Charge } from './charge.ts';

type Program = ReturnType<RE2JS['re2']>['prog'];

/** A thread has matched the text from `start` on, and continues at the instruction `pc`. */
interface Thread {
  readonly pc: number;
  readonly start: number;
}

/** The engine's codes of instructions. Version 0.6 is pinned, and a test checks these codes. */
const op = { alternative: 1, alternativeMatch: 2, capture: 3, emptyWidth: 4, match: 6, nothing: 7 } as const;
/** Instructions from this code on match a character. */
const firstCharacterOp = 8;
/** Threads that one step of the budget pays for. */
const threadsPerStep = 8;

/** The matching parts of the text, from left to right, without overlaps: as Go's FindAllString. */
export function findParts(program: Program, text: string, limit: number, charge: Charge): string[] {
  const characters = Array.from(text);
  const codes = characters.map((character) => character.codePointAt(0)!);
  const parts: string[] = [];
  let from = 0;
  let previousEnd = -1;
  while (from <= codes.length && parts.length < limit) {
    const found = findFrom(program, codes, from, charge);
    if (!found) break;
    const [start, end] = found;
    // An empty match directly after the previous match does not count.
    if (end > start || start !== previousEnd) parts.push(characters.slice(start, end).join(''));
    previousEnd = end;
    from = end > start ? end : end + 1;
  }
  return parts;
}

/** The first match, of several that begin at the same place the one that the pattern prefers. */
function findFrom(
  program: Program,
  codes: readonly number[],
  from: number,
  charge: Charge,
): readonly [start: number, end: number] | undefined {
  let found: readonly [number, number] | undefined;
  let threads: Thread[] = [];
  let reached = new Set<number>();
  for (let at = from; at <= codes.length; at++) {
    // A thread that begins later has less priority than all that run.
    if (!found) follow(program, program.start, at, { threads, reached, codes, at });
    if (found && threads.length === 0) break;
    charge(1 + Math.floor(threads.length / threadsPerStep));
    const next = { threads: [] as Thread[], reached: new Set<number>(), codes, at: at + 1 };
    for (const { pc, start } of threads) {
      const instruction = program.getInst(pc);
      if (instruction.op === op.match) {
        found = [start, at];
        // The other threads have less priority.
        break;
      }
      if (at < codes.length && instruction.matchRune(codes[at]!)) follow(program, instruction.out, start, next);
    }
    ({ threads, reached } = next);
  }
  return found;
}

interface Step {
  readonly threads: Thread[];
  readonly reached: Set<number>;
  readonly codes: readonly number[];
  /** The place in the text. */
  readonly at: number;
}

/** Follows instructions that match no character, and adds the threads at the others. */
function follow(program: Program, pc: number, start: number, step: Step): void {
  if (step.reached.has(pc)) return;
  step.reached.add(pc);
  const instruction = program.getInst(pc);
  switch (instruction.op) {
    case op.alternative:
    case op.alternativeMatch:
      follow(program, instruction.out, start, step);
      follow(program, instruction.arg, start, step);
      break;
    case op.capture:
    case op.nothing:
      follow(program, instruction.out, start, step);
      break;
    case op.emptyWidth:
      if ((instruction.arg & ~conditionsAt(step)) === 0) follow(program, instruction.out, start, step);
      break;
    default:
      if (instruction.op === op.match || instruction.op >= firstCharacterOp) step.threads.push({ pc, start });
  }
}

const lineFeed = 0x0a;
const condition = { beginLine: 1, endLine: 2, beginText: 4, endText: 8, wordBoundary: 16, noWordBoundary: 32 } as const;

/** The conditions without width that hold between two characters: `^`, `$`, `\b` and the like. */
function conditionsAt({ codes, at }: Step): number {
  const [before, after] = [codes[at - 1], codes[at]];
  const begin = before === undefined ? condition.beginText | condition.beginLine : 0;
  const end = after === undefined ? condition.endText | condition.endLine : 0;
  const lines = (before === lineFeed ? condition.beginLine : 0) | (after === lineFeed ? condition.endLine : 0);
  const boundary = isWord(before) === isWord(after) ? condition.noWordBoundary : condition.wordBoundary;
  return begin | end | lines | boundary;
}

function isWord(code: number | undefined): boolean {
  return code !== undefined && code < 128 && /\w/.test(String.fromCharCode(code));
}
