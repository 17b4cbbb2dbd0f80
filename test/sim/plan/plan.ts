/**
 * What one seed decides: a tree, and steps at their times. All of it is data, and each step stands by itself: one whose node or object is not there
 * is passed over, so that a failing run is made smaller by leaving nodes and steps out.
 */
import { seedOf } from '../seeds.ts';
import type { Step } from './action.ts';
import { burdensOf } from './burdens.ts';
import { Chance } from './chance.ts';
import { faultsOf, lostOriginOf } from './faults.ts';
import { liesOf } from './lies.ts';
import { madeOf } from './made.ts';
import { rolloutsOf } from './rollouts.ts';
import { siblingFaultsOf, withSiblings } from './siblings.ts';
import { talksOf } from './talk.ts';
import { type PlannedNode, sourceOf, treeOf } from './tree.ts';
import { objectOf, workOf } from './work.ts';

export type Mode = 'safety' | 'liveness';

export interface Plan {
  readonly seed: number;
  readonly mode: Mode;
  /** Parents before children; the first is the center. */
  readonly nodes: readonly PlannedNode[];
  /** People work and things go wrong. */
  readonly steps: readonly Step[];
  /** After all has healed once: things go wrong, and nobody does anything. */
  readonly quiet: readonly Step[];
  /** Children whose lines stay dead while the rest heals. */
  readonly dead: readonly string[];
  /** A node at which objects are born loses some of them: what is below keeps what is newer, so that nothing is compared in the end. */
  readonly forgets: boolean;
}

export function planOf(seed: number, mode: Mode): Plan {
  const chance = new Chance(seedOf(seed, 'plan'));
  const nodes = treeOf(chance);
  const siblings = new Chance(seedOf(seed, 'siblings'));
  const planned = withSiblings(siblings, nodes);
  const origins = nodes.filter(({ spaces }) => spaces.length > 0);
  const forgets = mode === 'safety' && chance.is(0.06) ? lostOriginOf(chance, chance.of(origins)) : [];
  const sources = origins.flatMap((node) => node.spaces.map((space) => sourceOf(node, space)));
  const burdened = new Chance(seedOf(seed, 'burdens'));
  const burdens = burdensOf(burdened, nodes, sources, (source) => objectOf(burdened, source));
  const talks = talksOf(new Chance(seedOf(seed, 'talks')), nodes);
  const steps = [...workOf(chance, nodes), ...faultsOf(chance, nodes, 'work'), ...forgets, ...talks, ...burdens];
  steps.push(...liesOf(new Chance(seedOf(seed, 'lies')), nodes));
  steps.push(...siblingFaultsOf(siblings, planned));
  steps.push(...rolloutsOf(new Chance(seedOf(seed, 'rollouts')), planned));
  steps.push(...madeOf(new Chance(seedOf(seed, 'made')), planned));
  const quiet = forgets.length === 0 && chance.is(0.35) ? faultsOf(chance, nodes, 'quiet') : [];
  if (quiet.length > 0) quiet.push(...siblingFaultsOf(siblings, planned));
  const children = nodes.slice(1).map(({ path }) => path);
  const dead = mode === 'liveness' && chance.is(0.7) ? children.filter(() => chance.is(1.2 / children.length)) : [];
  return {
    seed,
    mode,
    nodes: planned,
    steps: steps.sort(byTime),
    quiet: quiet.sort(byTime),
    dead,
    forgets: forgets.length > 0,
  };
}

function byTime(a: Step, b: Step): number {
  return a.atMs - b.atMs;
}
