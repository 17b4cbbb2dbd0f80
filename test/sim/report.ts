/** The report of a failing run for people: the violation, the tree, the events before it, and the command that repeats the run. */
import type { Plan } from './plan/plan.ts';
import type { Outcome } from './simulate.ts';
import type { Workers } from './workers.ts';

/** Number of events that the report shows before the violation. */
const eventsShown = 40;
/** Number of characters that the report shows of an event. */
const eventMax = 240;

export async function describeFailure(
  outcome: Outcome,
  { mode, canary }: { readonly mode: string; readonly canary?: string },
  workers: Workers,
): Promise<string> {
  const { seed, violation } = outcome;
  const again = `npm run sim -- --seed ${seed} --runs 1 --mode ${mode}${canary === undefined ? '' : ` --canary ${canary}`}`;
  const head = [`seed ${seed}: ${violation?.check}`, `  ${violation?.message}`, `again: ${again}`];
  if (canary !== undefined) return head.join('\n');
  const { plan, outcome: smaller } = await workers.shrink(seed);
  return [
    ...head,
    `the smallest that fails so: ${plan.nodes.length} nodes, ${plan.steps.length + plan.quiet.length} steps: ${smaller.violation?.message}`,
    ...treeOf(plan),
    ...plan.steps.map(({ atMs, action }) => `  ${atMs} ms: ${JSON.stringify(action)}`),
    ...plan.quiet.map(({ atMs, action }) => `  quiet, ${atMs} ms: ${JSON.stringify(action)}`),
    'its last events:',
    ...smaller.last.slice(-eventsShown).map((line) => `  ${line.slice(0, eventMax)}`),
  ].join('\n');
}

function treeOf({ nodes, dead }: Plan): string[] {
  return nodes.map(({ path, role, labels, spaces, replicas = 1 }) => {
    const name = path === '' ? 'center' : path;
    const notes = [
      role,
      ...(replicas > 1 ? [`${replicas} replicas`] : []),
      ...Object.entries(labels).map(([key, value]) => `${key}=${value}`),
      ...spaces,
      ...(dead.includes(path) ? ['its line stays dead'] : []),
    ];
    return `  ${name}: ${notes.join(' ')}`;
  });
}
