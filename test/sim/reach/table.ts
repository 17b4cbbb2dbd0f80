/** Makes a table of the branches that the runs reached: one line for each file, then each branch that no run reached, with its line. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Branch, branchesOf } from './branches.ts';
import { type Counted, countAt } from './counts.ts';
import { machines } from './machines.ts';
import { whyLeft } from './unreached.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const textShown = 110;

interface Missed {
  readonly line: string;
  readonly why: string | undefined;
}

export function describeCoverage(processes: readonly Counted[]): string {
  let [all, reached] = [0, 0];
  const table: string[] = [];
  const missed: Missed[] = [];
  for (const file of machines(root)) {
    const text = readFileSync(`${root}${file}`, 'utf8');
    const branches = branchesOf(file, text);
    if (branches.length === 0) continue;
    const counted = processes.flatMap((one) => one.filter((each) => each.file === file).map(({ blocks }) => blocks));
    const count = (at: number) => counted.reduce((sum, blocks) => sum + countAt(blocks, at), 0);
    const wayNot = branches.filter((branch) => !isReached(branch, count));
    all += branches.length;
    reached += branches.length - wayNot.length;
    table.push(line(file, branches.length - wayNot.length, branches.length));
    missed.push(...wayNot.map((branch) => missedAt(file, text, branch)));
  }
  const known = missed.filter(({ why }) => why !== undefined);
  return [
    ...table,
    ...missed.filter(({ why }) => why === undefined).map((one) => `  not: ${one.line}`),
    ...known.map((one) => `  not, ${one.why}: ${one.line}`),
    `branches reached: ${percent(reached, all)} % (${reached} of ${all}; ${known.length} of those that are not are known)`,
  ].join('\n');
}

function isReached({ at, skipped }: Branch, count: (at: number) => number): boolean {
  return skipped === undefined ? count(at) > 0 : count(at) < count(skipped);
}

function line(file: string, reached: number, all: number): string {
  return `${file.padEnd(40)} ${String(reached).padStart(4)} of ${String(all).padStart(4)}  ${percent(reached, all).padStart(6)} %`;
}

function missedAt(file: string, text: string, { at, what }: Branch): Missed {
  const number = text.slice(0, at).split('\n').length;
  const source = text.split('\n')[number - 1]!.trim();
  return { line: `${file}:${number} ${what} | ${source.slice(0, textShown)}`, why: whyLeft(file, source) };
}

/** The percentage, rounded down, so that a printed bound has really been reached. */
function percent(part: number, whole: number): string {
  return (Math.floor((10_000 * part) / Math.max(1, whole)) / 100).toFixed(2);
}
