/**
 * `npm run sim -- [--runs N] [--seed S] [--mode safety|liveness] [--canary NAME|list] [--minutes M] [--coverage]`: see docs/testing.md. The last line is
 * `runs N, violations V, steps S, hash H`. Exit codes: 0 no violation, 1 violations, 2 bad usage.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { canaryNames } from './canaries/canaries.ts';
import type { Mode } from './plan/plan.ts';
import { describeCoverage } from './reach/table.ts';
import { describeFailure } from './report.ts';
import type { Outcome } from './simulate.ts';
import { type SeedList, Workers } from './workers.ts';

interface Options {
  readonly runs: number;
  /** The seed of the first run; the next runs use the next seeds. Absent: first the seeds of fixed bugs, then seeds from 1 on. */
  readonly seed?: number;
  readonly mode: Mode;
  readonly canary?: string;
  readonly minutes?: number;
  readonly coverage: boolean;
}

const usage =
  'usage: npm run sim -- [--runs N] [--seed S] [--mode safety|liveness] [--canary NAME|list] [--minutes M] [--coverage]';
/** The number of failures that are shown in full. The other failures are only counted. */
const shownMax = 3;
/** The number of runs in one pass of `--minutes`. */
const runsPerPass = 500;

const options = readOptions();
process.exitCode = (await (options.minutes === undefined ? once(options) : forMinutes(options, options.minutes)))
  ? 1
  : 0;

/** Runs once. Returns true if there were violations. */
async function once(asked: Options): Promise<boolean> {
  const outcomes = await runAll(asked, seedsOf(asked));
  return printResult(outcomes);
}

/** Runs new seeds until the time is over. */
async function forMinutes(asked: Options, minutes: number): Promise<boolean> {
  const untilMs = Date.now() + minutes * 60_000;
  const all: Outcome[] = [];
  while (Date.now() < untilMs) {
    const first = Date.now() % 1_000_000_000;
    console.log(`seeds ${first} to ${first + runsPerPass - 1}`);
    all.push(...(await runAll(asked, { length: runsPerPass, at: (i) => first + i }, untilMs)));
  }
  return printResult(all);
}

async function runAll(asked: Options, seeds: SeedList, untilMs = Number.POSITIVE_INFINITY): Promise<Outcome[]> {
  const { mode, canary, coverage } = asked;
  await using workers = new Workers({ mode, coverage, ...(canary === undefined ? {} : { canary }) });
  const outcomes: Outcome[] = [];
  let shown = 0;
  // Results arrive in the order of their seeds, whichever worker made them. So the hash does not depend on the number of workers.
  for await (const outcome of workers.run(seeds, () => Date.now() > untilMs)) {
    outcomes.push(outcome);
    if (!outcome.violation) continue;
    if (shown++ < shownMax) console.log(await describeFailure(outcome, asked, workers));
    else console.log(`seed ${outcome.seed}: ${outcome.violation.check}: ${outcome.violation.message}`);
    if (canary === undefined) continue;
    console.log(`the canary ${canary} was found after ${outcomes.length} runs, by: ${outcome.violation.check}`);
    break;
  }
  if (coverage) console.log(describeCoverage(await workers.coverage()));
  return outcomes;
}

function printResult(outcomes: readonly Outcome[]): boolean {
  const hash = createHash('sha256');
  for (const outcome of outcomes) hash.update(outcome.hash);
  const violations = outcomes.filter(({ violation }) => violation).length;
  const steps = outcomes.reduce((sum, outcome) => sum + outcome.steps, 0);
  console.log(
    `runs ${outcomes.length}, violations ${violations}, steps ${steps}, hash ${hash.digest('hex').slice(0, 16)}`,
  );
  return violations > 0;
}

/** The seeds to run. Seeds of fixed bugs are first, unless the user names a seed. */
function seedsOf({ seed, runs, canary, mode }: Options): SeedList {
  if (seed !== undefined) return { length: runs, at: (i) => seed + i };
  const fixed = canary === undefined ? fixedSeeds(mode) : [];
  return { length: runs, at: (i) => fixed[i] ?? 1 + i - fixed.length };
}

/** Reads the seeds of fixed bugs. Each line has a seed, a mode, and a text about the bug. */
function fixedSeeds(mode: Mode): number[] {
  const lines = readFileSync(new URL('seeds.txt', import.meta.url), 'utf8').split('\n');
  const fields = lines.filter((line) => line !== '' && !line.startsWith('#')).map((line) => line.split(' '));
  return fields.filter(([, of]) => of === mode).map(([seed]) => Number(seed));
}

function readOptions(): Options {
  const text = { type: 'string' } as const;
  try {
    const { values } = parseArgs({
      options: { runs: text, seed: text, mode: text, canary: text, minutes: text, coverage: { type: 'boolean' } },
    });
    const { mode = 'safety', canary } = values;
    if (canary === 'list') {
      console.log(canaryNames().join('\n'));
      process.exit(0);
    }
    if (canary !== undefined && !canaryNames().includes(canary)) {
      throw new Error(`--canary ${canary}: there is none; --canary list names them`);
    }
    if (mode !== 'safety' && mode !== 'liveness') throw new Error(`--mode ${mode}: safety or liveness`);
    return {
      runs: numberOf('runs', values.runs) ?? 2_000,
      mode,
      coverage: values.coverage ?? false,
      ...given('seed', numberOf('seed', values.seed)),
      ...given('minutes', numberOf('minutes', values.minutes)),
      ...given('canary', canary),
    };
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${usage}\n`);
    process.exit(2);
  }
}

function given<K extends string, V>(key: K, value: V | undefined): { [key in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [key in K]?: V });
}

function numberOf(name: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const number = Number(value);
  if (value.trim() === '' || !Number.isSafeInteger(number) || number < (name === 'seed' ? 0 : 1)) {
    throw new Error(`--${name} ${value}: a whole number from ${name === 'seed' ? 0 : 1} on`);
  }
  return number;
}
