/**
 * A plan: the tree and the timed steps that one seed decides. A plan is only data, and each step is independent: a step whose node or object does not exist
 * is skipped. So a failing run can be made smaller: nodes and steps are left out.
 */
import { seedOf } from '../seeds.ts';
import type { Action, Step } from './action.ts';
import { burdensOf } from './burdens.ts';
import { certificatesOf } from './certificates.ts';
import { Chance } from './chance.ts';
import { comparedOf } from './compared.ts';
import { cutOffOf } from './cut-off.ts';
import { endingsOf } from './endings.ts';
import { faultsOf, lostOriginOf } from './faults.ts';
import { handedOf } from './handed.ts';
import { liarsOf } from './liars.ts';
import { lostBelowOf } from './lost-below.ts';
import { madeOf } from './made.ts';
import { movesOf } from './moves.ts';
import { calmed, orderedOf } from './ordered.ts';
import { lossesOf } from './releases.ts';
import { replicaFaultsOf, withReplicas } from './replicas.ts';
import { reportedElsewhereOf } from './reported-elsewhere.ts';
import { reportsOf } from './reports.ts';
import { hasReleases, rolloutsOf } from './rollouts.ts';
import { takeoverOf, unlistingOf } from './takeovers.ts';
import { pingsOf, talksOf } from './talk.ts';
import { type PlannedNode, sourceOf, treeOf } from './tree.ts';
import { watchesOf } from './watches.ts';
import { objectOf, trafficOf, workOf } from './work.ts';

export type Mode = 'safety' | 'liveness';

export interface Plan {
  readonly seed: number;
  readonly mode: Mode;
  /** The nodes. Parents come before children; the first node is the center. */
  readonly nodes: readonly PlannedNode[];
  /** The first phase: people work, and faults happen. */
  readonly steps: readonly Step[];
  /** The phase after the first healing: faults happen, and nobody writes anything. */
  readonly quiet: readonly Step[];
  /** Children whose lines stay dead while everything else is healed. */
  readonly dead: readonly string[];
  /** Whether a node with spaces loses some of its objects. The nodes below keep newer rows, so less can be compared at the end. */
  readonly forgets: boolean;
  /** Whether rows are held at the end. Then people approve their deletion, and everything is compared again. */
  readonly holds: boolean;
}

/** Actions that move an agent from its place. */
const leaves = new Set<Action['do']>(['leave', 'unlist', 'move']);

export function planOf(seed: number, mode: Mode): Plan {
  const chance = new Chance(seedOf(seed, 'plan'));
  const nodes = treeOf(chance);
  const replicas = new Chance(seedOf(seed, 'siblings'));
  const settled = withReplicas(replicas, nodes);
  const moves = movesOf(new Chance(seedOf(seed, 'moves')), settled);
  const planned = moves.nodes;
  const origins = nodes.filter(({ spaces }) => spaces.length > 0);
  const forgets = mode === 'safety' && chance.is(0.06) ? lostOriginOf(chance, chance.of(origins)) : [];
  const sources = origins.flatMap((node) => node.spaces.map((space) => sourceOf(node, space)));
  const burdened = new Chance(seedOf(seed, 'burdens'));
  const burdens = burdensOf(burdened, nodes, sources, (source) => objectOf(burdened, source));
  const talks = talksOf(new Chance(seedOf(seed, 'talks')), nodes);
  const steps = [...workOf(chance, nodes), ...faultsOf(chance, nodes, 'work'), ...forgets, ...talks, ...burdens];
  steps.push(...liarsOf(new Chance(seedOf(seed, 'lies')), nodes));
  steps.push(...replicaFaultsOf(replicas, planned), ...moves.steps, ...momentsOf(seed, nodes));
  steps.push(...rolloutsOf(new Chance(seedOf(seed, 'rollouts')), settled));
  steps.push(...endingsOf(new Chance(seedOf(seed, 'endings')), planned));
  steps.push(...certificatesOf(new Chance(seedOf(seed, 'certificates')), nodes));
  steps.push(...pingsOf(new Chance(seedOf(seed, 'pings')), nodes));
  steps.push(...cutOffOf(new Chance(seedOf(seed, 'cut off')), planned));
  steps.push(...comparedOf(new Chance(seedOf(seed, 'compared')), planned));
  steps.push(...lostBelowOf(new Chance(seedOf(seed, 'lost below')), planned, sources));
  steps.push(...watchesOf(new Chance(seedOf(seed, 'watches')), planned));
  const reported = reportedElsewhereOf(new Chance(seedOf(seed, 'told elsewhere')), planned, sources);
  steps.push(...reported.steps);
  const losses = lossesOf(seed, planned);
  steps.push(...losses.steps);
  steps.push(...madeOf(new Chance(seedOf(seed, 'made')), settled));
  steps.push(...reportsOf(new Chance(seedOf(seed, 'reports')), settled));
  if (!hasReleases({ steps })) steps.push(...handedOf(new Chance(seedOf(seed, 'handed')), planned, sources));
  const isLossy = forgets.length > 0 || losses.forgets;
  // A copy that waits for a removed agent waits until the deadline, because the agent's cluster may still have the old copy. The same is true if an agent
  // holds rows that may have been lost.
  const staysWhole = !isLossy && !losses.holds && !steps.some(({ action }) => leaves.has(action.do));
  const ordered = new Chance(seedOf(seed, 'ordered'));
  steps.push(...orderedOf(ordered, planned, mode === 'safety' && staysWhole));
  const quiet = !losses.holds && forgets.length === 0 && chance.is(0.35) ? faultsOf(chance, nodes, 'quiet') : [];
  if (quiet.length > 0) quiet.push(...replicaFaultsOf(replicas, planned));
  if (mode === 'safety' && !isLossy && !losses.holds) quiet.push(...reported.quiet);
  const children = nodes.slice(1).map(({ path }) => path);
  const dead = mode === 'liveness' && chance.is(0.7) ? children.filter(() => chance.is(1.2 / children.length)) : [];
  return {
    seed,
    mode,
    nodes: planned,
    steps: calmed(ordered, steps).sort(byTime),
    // A line that is dead for good must not be repaired in this phase. Otherwise earlier changes of people would arrive, and no fault would be the cause.
    quiet: quiet.filter(({ action }) => action.do !== 'mend' || !dead.includes(action.node)).sort(byTime),
    dead,
    forgets: isLossy,
    holds: isLossy || losses.holds,
  };
}

/** Steps that only some of the runs have: two connections of one child at once, and an agent that is removed from the inventory while it attaches. */
function momentsOf(seed: number, nodes: readonly PlannedNode[]): Step[] {
  const chance = new Chance(seedOf(seed, 'moments'));
  const steps: Step[] = [];
  if (chance.is(0.25)) steps.push(...takeoverOf(chance, nodes, trafficOf(chance, nodes)));
  if (chance.is(0.15)) steps.push(...unlistingOf(chance, nodes, trafficOf(chance, nodes)));
  return steps;
}

function byTime(a: Step, b: Step): number {
  return a.atMs - b.atMs;
}
