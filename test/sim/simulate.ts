/**
 * One run of a plan. People work while faults happen; then everything is healed and compared. After that, faults happen without work, and everything is
 * healed and compared again.
 */
import { acknowledged } from './check/acknowledged.ts';
import { wrongAfterLoss } from './check/after-loss.ts';
import { attachments } from './check/attachments.ts';
import { bounds } from './check/bounds.ts';
import { certificates } from './check/certificates.ts';
import { notConverged } from './check/converged.ts';
import { copies } from './check/copies.ts';
import { cutOffBy, keptByRelays, lateTo } from './check/cut-off.ts';
import { exposure } from './check/exposure.ts';
import { fence } from './check/fence.ts';
import { handedKept } from './check/handed-kept.ts';
import { origins } from './check/origins.ts';
import { promotion } from './check/promotion.ts';
import { quiet } from './check/quiet.ts';
import { readiness } from './check/readiness.ts';
import { resumeCost } from './check/resume-cost.ts';
import { resumes } from './check/resumes.ts';
import { returns } from './check/returns.ts';
import { revived } from './check/revived.ts';
import { tombstones } from './check/tombstones.ts';
import { totals } from './check/totals.ts';
import { transmitted } from './check/transmitted.ts';
import { watermarks } from './check/watermarks.ts';
import { welcomes } from './check/welcomes.ts';
import type { StoreFaults } from './disk.ts';
import type { Host } from './host.ts';
import { expectation } from './model/expected.ts';
import { stillHeld, toRelease } from './model/held.ts';
import { Releases } from './model/releases.ts';
import { Performer } from './perform/perform.ts';
import { releaseHeld } from './perform/releases.ts';
import type { Step } from './plan/action.ts';
import { hasOrder } from './plan/ordered.ts';
import type { Plan } from './plan/plan.ts';
import { hasReleases } from './plan/rollouts.ts';
import { type Violation, World } from './world.ts';

export interface Outcome {
  readonly seed: number;
  readonly steps: number;
  readonly hash: string;
  readonly violation?: Violation;
  /** The newest events before the violation. */
  readonly last: readonly string[];
}

/**
 * Longest time until the tree has the expected state. A dead line is noticed after 60 s, waits grow to 60 s, and a refused child dials again after 30 s. This
 * is twice the sum of these times.
 */
const convergeWithinMs = 300_000;
/** The time after which a person looks at held rows. By then, the nodes have done everything that they can. */
const releaseAfterMs = 100_000;
/** A view of objects that a node makes itself announces a change up to a second later. */
const announcedWithinMs = 2_000;
/** Interval of the checks whether the state is as expected. */
const lookEveryMs = 2_000;

/** The running world. A process has one at a time, so an unhandled rejection belongs to this world. */
let running: World | undefined;

export function catchEscaped(): void {
  const escaped = (error: unknown) => {
    if ((error as Error)?.name === 'Crash') return;
    if (!running) throw error;
    running.violation('no process ends by itself', `a promise failed: ${(error as Error)?.stack ?? String(error)}`);
  };
  process.on('unhandledRejection', escaped);
  process.on('uncaughtException', escaped);
}

export async function simulate(plan: Plan, storeFaults?: (host: Host) => StoreFaults | undefined): Promise<Outcome> {
  const world = new World(plan.seed, plan.nodes);
  running = world;
  world.storeFaults = storeFaults;
  const undisturbed = quiet(world);
  const checks = [
    acknowledged,
    attachments,
    bounds,
    certificates,
    fence,
    origins,
    readiness,
    resumeCost,
    resumes,
    returns,
    revived,
    tombstones,
    totals,
    transmitted,
    watermarks,
    welcomes,
  ];
  world.checks.push(...checks.map((check) => check(world)), undisturbed);
  try {
    await phases(world, plan, undisturbed);
  } catch (error) {
    // Without this, the process that runs the seeds would wait for ever.
    world.violation('the simulation runs to its end', (error as Error).stack ?? String(error));
  }
  running = undefined;
  const { steps, last, violations } = world;
  const [violation] = violations;
  return { seed: plan.seed, steps, hash: world.hash(), last, ...(violation ? { violation } : {}) };
}

async function phases(world: World, plan: Plan, undisturbed: ReturnType<typeof quiet>): Promise<void> {
  const releases = new Releases();
  if (hasReleases(plan))
    world.checks.push(exposure(world, releases), promotion(world, releases), handedKept(world, releases));
  if (hasOrder(plan)) world.checks.push(copies(world, plan));
  const performer = new Performer(world);
  for (const host of world.hosts.values()) host.start();
  await perform(world, performer, plan.steps);
  await heal(world, performer, plan, releases, !plan.forgets);
  if (plan.quiet.length > 0 && world.violations.length === 0) {
    const model = expectation(world, releases);
    const isKept = keptByRelays(world);
    const mayHave = (path: string, entry: string) =>
      world.hosts.get(path)?.deceived.has('upstream') === true || isKept(path, entry);
    undisturbed.begin(model ? lateTo(model, cutOffBy(world, plan.dead), mayHave) : undefined);
    await perform(world, performer, plan.quiet);
    await heal(world, performer, plan, releases, false);
    undisturbed.end();
  }
}

async function perform(world: World, performer: Performer, steps: readonly Step[]): Promise<void> {
  const beginMs = world.nowMs;
  for (const { atMs, action } of steps) {
    await world.run(beginMs + atMs);
    if (world.violations.length > 0) return;
    performer.perform(action);
  }
}

/**
 * Ends all faults, except for lines that stay dead. Then all reached nodes have to get the expected state. A person approves the deletion of held rows where
 * this is allowed. The rows stay in two cases: in a run in which an origin has lost objects, and in the phase in which nobody writes anything.
 */
async function heal(
  world: World,
  performer: Performer,
  plan: Plan,
  releases: Releases,
  mayRelease: boolean,
): Promise<void> {
  const { dead } = plan;
  if (world.violations.length > 0) return;
  world.note('all is healed');
  for (const path of [...world.clones.keys()]) performer.perform({ do: 'unclone', node: path });
  for (const host of world.hosts.values()) {
    host.disk.isFull = false;
    host.disk.flushMinMs = 0;
    host.simProcess.crashAtEffect = Number.POSITIVE_INFINITY;
    performer.perform({ do: 'mend', node: host.id });
    performer.perform({ do: 'truth', node: host.id });
    if (host.certifiedUntilMs < Number.POSITIVE_INFINITY) performer.perform({ do: 'certify', node: host.id });
    if (dead.includes(host.id)) performer.perform({ do: 'cut', node: host.id });
    host.start();
    if (!host.isGone) performer.perform({ do: 'list', node: host.id });
  }
  const isCutOff = cutOffBy(world, dead);
  const releaseFromMs = mayRelease ? world.nowMs + releaseAfterMs : Number.POSITIVE_INFINITY;
  await settle(world, () => wrongNow(world, plan, releases, isCutOff), releaseFromMs);
  if (world.violations.length > 0 || !plan.holds || dead.length > 0) return;
  world.note('what is held is released');
  await settle(world, () => {
    for (const { node, at } of toRelease(world)) performer.perform({ do: 'release', node, at });
    return stillHeld(world) ?? wrongNow(world, plan, releases, isCutOff);
  });
}

/** Runs until nothing is wrong any more, or until the time is over. */
async function settle(
  world: World,
  wrongOf: () => string | undefined,
  releaseFromMs = Number.POSITIVE_INFINITY,
): Promise<void> {
  const deadlineMs = world.nowMs + convergeWithinMs;
  for (;;) {
    await world.run(world.nowMs + lookEveryMs);
    if (world.violations.length > 0) return;
    const wrong = wrongOf();
    const unfinished = world.talks.unfinished();
    if (wrong === undefined && unfinished === undefined) return checkWatches(world);
    if (world.nowMs >= releaseFromMs) releaseHeld(world);
    if (world.nowMs < deadlineMs) continue;
    if (wrong !== undefined) world.violation('after healing, every agent has the expected objects', wrong);
    else world.violation('every stream ends, at both ends', unfinished!);
    return;
  }
}

/** Looks once: a list of a view reports to watchers what they lack, so a second look would find nothing. */
async function checkWatches(world: World): Promise<void> {
  await world.run(world.nowMs + announcedWithinMs);
  const wrong = world.watches.wrong();
  if (wrong !== undefined) world.violation(world.watches.name, wrong);
}

function wrongNow(
  world: World,
  plan: Plan,
  releases: Releases,
  isCutOff: (path: string) => boolean,
): string | undefined {
  if (!plan.forgets) return notConverged(world, releases, isCutOff);
  // After an origin has lost a part of a release, the model does not know the state of the release.
  return hasReleases(plan) ? undefined : wrongAfterLoss(world, releases, isCutOff);
}
