/**
 * The promises of `spec.move`, checked when a cluster gets or loses an object.
 *
 * - MakeBeforeBreak: if some cluster had the object, at least one of the clusters has it at any time, whatever the placement names and whichever node is
 *   silent.
 * - BreakBeforeMake: no more clusters have the object than the largest form of the placement names.
 *
 * The check covers only runs in which nobody removes places or disks, because no node can keep a copy that is lost with them. The promises end at the
 * deadline, which these runs never reach.
 */
import type { Host } from '../host.ts';
import { selects } from '../model/expected.ts';
import { isUndisturbed, keepsLast, orderedName, orderedNamespace, runsNoMore } from '../plan/ordered.ts';
import type { Plan } from '../plan/plan.ts';
import { sourceOf } from '../plan/tree.ts';
import type { Check, World } from '../world.ts';
import { isIn } from './rows.ts';

const keeps = 'with MakeBeforeBreak a copy stays until another one exists';
const isNoMore = 'with BreakBeforeMake no new copy comes before the old one has gone';

interface Source {
  readonly host: Host;
  readonly space: string;
  readonly namespace: string;
  /** Agents whose cluster had the object when the agent ran last. */
  readonly has: Set<Host>;
  /** The agents of `has` about which a node above knows that they have the whole object. Other copies do not count. */
  readonly reported: Set<Host>;
  /** The agents that each form of the placement names. Keyed by the form as text. */
  readonly forms: Map<string, ReadonlySet<Host>>;
}

export function copies(world: World, plan: Plan): Check {
  const sources = [...world.hosts.values()].flatMap((host) =>
    host.planned.spaces.map((space) => sourceAt(host, space)),
  );
  const isWatched = !plan.forgets && isUndisturbed([...plan.steps, ...plan.quiet]);

  const look = (agent: Host, source: Source) => {
    const { has, namespace } = source;
    const cluster = agent.spaces.get('');
    const isThere = cluster?.get({ group: '', resource: 'configmaps', namespace, name: 'o0' }) !== undefined;
    if (isThere === has.has(agent)) return;
    if (isThere) has.add(agent);
    else has.delete(agent);
    const wasReported = source.reported.delete(agent);
    const placement = placementAt(source);
    if (placement && keepsLast(placement) && has.size === 0 && wasReported) {
      world.violation(keeps, `${agent.title} had the last copy of ${namespace}/o0, and it is gone`);
    }
    if (!placement || !runsNoMore(placement) || !isThere) return;
    const most = Math.max(...[...source.forms.values()].map((named) => named.size));
    if (has.size <= most) return;
    const who = [...has].map(({ title }) => title).join(', ');
    world.violation(isNoMore, `${agent.title} gets ${namespace}/o0, and ${who} have it: more than ${most}`);
  };

  return {
    name: keeps,
    committed(host, changes) {
      if (!isWatched || !changes.some(({ key }) => isIn(key, 'spaceObject'))) return;
      for (const source of sources) {
        if (source.host === host) noteForm(world, source);
        if (host.role === 'agent' && host.spaces.has('')) look(host, source);
      }
    },
    received({ child }, to, { frame }) {
      if (!isWatched || to !== 'parent' || child.role !== 'agent' || frame?.$case !== 'batch') return;
      for (const { key, body, tombstone } of frame.value.entries) {
        const source = tombstone ? undefined : sources.find((one) => key === partialKeyOf(one));
        if (source?.has.has(child) && isAvailable(body)) source.reported.add(child);
      }
    },
  };
}

function partialKeyOf({ host, space }: Source): string {
  return `partial/${sourceOf(host.planned, space)}/${orderedName}`;
}

function isAvailable(body: Buffer): boolean {
  return (JSON.parse(body.toString()) as { counts: { available?: number } }).counts.available === 1;
}

function sourceAt(host: Host, space: string): Source {
  const namespace = orderedNamespace(sourceOf(host.planned, space));
  return { host, space, namespace, has: new Set(), reported: new Set(), forms: new Map() };
}

/** Notes a form of the placement. The agents' labels at the start of the run count. */
function noteForm(world: World, source: Source): void {
  const placement = placementAt(source);
  const text = JSON.stringify(placement?.spec);
  if (!placement || source.forms.has(text)) return;
  const agents = [...world.hosts.values()].filter(({ role }) => role === 'agent');
  const named = agents.filter(({ path, planned: { labels } }) =>
    selects(placement.spec ?? {}, { path, labels, annotations: {}, properties: {} }),
  );
  source.forms.set(text, new Set(named));
}

function placementAt({ host, space }: Source) {
  const key = { group: 'edge.banyan.io', resource: 'edgeplacements', namespace: '', name: orderedName };
  return host.spaces.get(space)?.get(key);
}
