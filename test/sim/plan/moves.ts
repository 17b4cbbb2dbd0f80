/**
 * Agents that attach to another parent. A path is an identity: an agent that moves to another path is another node from then on, with the disk and the
 * cluster of the old node. Between replicas of one path, an agent moves by itself (replicas.ts).
 */
import { type Step, spanMs } from './action.ts';
import type { Chance } from './chance.ts';
import { depthMax, depthOf, type PlannedNode, parentOf } from './tree.ts';

/** The original name of an agent, from its present name. */
export function nameBeforeMoves(name: string): string {
  return name.endsWith('m') ? name.slice(0, -1) : name;
}

/** Returns the tree and the steps. The tree contains the future places of the agents, which have no agent yet. */
export function movesOf(chance: Chance, nodes: readonly PlannedNode[]): { nodes: PlannedNode[]; steps: Step[] } {
  if (!chance.is(0.15)) return { nodes: [...nodes], steps: [] };
  const agent = chance.of(nodes.filter(({ role }) => role === 'agent'));
  const parents = nodes.filter(
    ({ role, path }) => role !== 'agent' && path !== parentOf(agent.path) && depthOf(path) < depthMax,
  );
  if (parents.length === 0) return { nodes: [...nodes], steps: [] };
  const { path: parent } = chance.of(parents);
  const name = `${agent.path.slice(agent.path.lastIndexOf(':') + 1)}m`;
  const to: PlannedNode = { ...agent, path: parent === '' ? name : `${parent}:${name}`, isVacant: true };
  const atMs = 2_000 + chance.below(spanMs - 4_000);
  const steps: Step[] = [{ atMs, action: { do: 'move', node: agent.path, to: to.path } }];
  // In some plans, the agent moves back again.
  if (chance.is(0.4)) {
    steps.push({ atMs: atMs + chance.below(15_000), action: { do: 'move', node: to.path, to: agent.path } });
  }
  return { nodes: [...nodes, to], steps };
}
