/**
 * With MakeBeforeBreak an object that some cluster had is always at one of them at least, whatever the placement names and whoever is silent, until the
 * deadline. Looked at where a cluster loses the object. Of runs in which nobody takes places or disks away: what is lost with them, nobody can hold.
 */
import type { Host } from '../host.ts';
import { keepsLast, orderedName, orderedNamespace } from '../plan/ordered.ts';
import type { Plan } from '../plan/plan.ts';
import { sourceOf } from '../plan/tree.ts';
import type { Check, World } from '../world.ts';
import { isIn } from './rows.ts';

/** What takes a copy, or the knowledge of it, from somebody. */
const takes = new Set(['leave', 'unlist', 'move', 'restore', 'empty', 'clone', 'lie']);

interface Source {
  readonly host: Host;
  readonly space: string;
  readonly namespace: string;
  /** Agents whose cluster had it when it ran last. */
  readonly has: Set<string>;
}

export function copies(world: World, plan: Plan): Check {
  const name = 'with MakeBeforeBreak a copy stays until another one is there';
  const sources = [...world.hosts.values()].flatMap((host) =>
    host.planned.spaces.map(
      (space): Source => ({ host, space, namespace: orderedNamespace(sourceOf(host.planned, space)), has: new Set() }),
    ),
  );
  const isTaken = plan.forgets || [...plan.steps, ...plan.quiet].some(({ action }) => takesAway(action));
  return {
    name,
    committed(host, changes) {
      if (isTaken || host.role !== 'agent' || !changes.some(({ key }) => isIn(key, 'spaceObject'))) return;
      const cluster = host.spaces.get('');
      if (!cluster) return;
      for (const { host: origin, space, namespace, has } of sources) {
        const had = has.size;
        if (cluster.get({ group: '', resource: 'configmaps', namespace, name: 'o0' })) has.add(host.id);
        else has.delete(host.id);
        if (has.size > 0 || had === 0 || !isHeld(origin, space)) continue;
        world.violation(name, `${host.title} had the last copy of ${namespace}/o0, and it is gone`);
      }
    },
  };
}

function takesAway(action: Plan['steps'][number]['action']): boolean {
  if (action.do === 'remove') return action.object.metadata.name === orderedName;
  return takes.has(action.do);
}

function isHeld(origin: Host, space: string): boolean {
  const key = { group: 'edge.banyan.io', resource: 'edgeplacements', namespace: '', name: orderedName };
  const placement = origin.spaces.get(space)?.get(key);
  return placement !== undefined && keepsLast(placement);
}
