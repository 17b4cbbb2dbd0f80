/** Makes a failing plan smaller: leaves out nodes, and steps in smaller and smaller groups, as long as the plan still fails in the same way. */
import type { Step } from './plan/action.ts';
import type { Plan } from './plan/plan.ts';
import type { PlannedNode } from './plan/tree.ts';
import type { Outcome } from './simulate.ts';

/** The highest number of runs for this. They need a minute or two for a small tree. */
const triesMax = 160;

export async function shrink(
  failing: Plan,
  run: (plan: Plan) => Promise<Outcome>,
): Promise<{ plan: Plan; outcome: Outcome }> {
  let outcome = await run(failing);
  let plan = failing;
  let tries = 0;
  const check = outcome.violation?.check;
  if (check === undefined) return { plan, outcome };
  const take = async (smaller: Plan): Promise<boolean> => {
    if (tries++ >= triesMax) return false;
    const next = await run(smaller);
    if (next.violation?.check !== check) return false;
    plan = smaller;
    outcome = next;
    return true;
  };
  await take({ ...plan, quiet: [] });
  for (const part of ['quiet', 'steps'] as const) {
    for (let size = Math.ceil(plan[part].length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
      for (let at = plan[part].length - size; at >= 0 && tries < triesMax; at -= size) {
        const list: readonly Step[] = plan[part];
        await take({ ...plan, [part]: [...list.slice(0, at), ...list.slice(at + size)] });
      }
    }
  }
  for (const node of [...plan.nodes].reverse()) {
    if (node.path !== '' && isLeaf(plan.nodes, node)) {
      await take({ ...plan, nodes: plan.nodes.filter((other) => other !== node) });
    }
  }
  return { plan, outcome };
}

function isLeaf(nodes: readonly PlannedNode[], { path }: PlannedNode): boolean {
  return !nodes.some((other) => other.path.startsWith(`${path}:`));
}
