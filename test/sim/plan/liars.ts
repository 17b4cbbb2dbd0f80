/** Nodes that are replaced by liars for a while, and requests of other nodes to these liars. */
import { type Step, spanMs } from './action.ts';
import type { Chance } from './chance.ts';
import { talkOf } from './talk.ts';
import { isChildOf, type PlannedNode, parentOf } from './tree.ts';

/** The first number of streams to a liar or through it. No other stream of a plan has these numbers. */
const firstTalk = 10_000;
/** The share of liars that also play rare lies. */
const atLimits = 0.2;

export function liarsOf(chance: Chance, nodes: readonly PlannedNode[]): Step[] {
  if (!chance.is(0.25)) return [];
  const { path: node } = chance.of(nodes);
  const atMs = 2_000 + chance.below(spanMs / 2);
  const begin: Step['action'] = { do: 'lie', node, chance: chance.below(2 ** 31) };
  const lastsMs = 3_000 + chance.below(17_000);
  const end: Step = { atMs: atMs + lastsMs, action: { do: 'truth', node } };
  if (!chance.is(atLimits)) return [{ atMs, action: begin }, end];
  const steps: Step[] = [{ atMs, action: { ...begin, atLimits: true } }, end];
  const neighbours = nodes.filter(({ path }) => isChildOf({ path }, node) || (node !== '' && path === parentOf(node)));
  if (neighbours.length === 0) return steps;
  for (let i = 0; i < 6; i++) {
    const { path } = chance.of(neighbours);
    const kind = chance.is(0.3) ? ('ping' as const) : ('sim' as const);
    const talk = { ...talkOf(chance, firstTalk + i), kind };
    steps.push({ atMs: atMs + 300 + chance.below(lastsMs), action: { do: 'talk', node: path, to: node, talk } });
  }
  return steps;
}
