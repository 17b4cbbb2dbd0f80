/** Which nodes of a topology are at another place in a later topology. Such a node goes on with its store, and its cluster keeps its objects. */
import { depthOf, isBelow, nameOf } from '../../core/identity/node-path.ts';
import { equalJson } from '../../core/object/json-value.ts';
import type { PlannedNode } from './plan.ts';

type Placed = Pick<PlannedNode, 'id' | 'role' | 'kubeconfig'>;

/**
 * Returns the former id of each node that has moved, keyed by its new id. A node has moved if the same name has left one place and has come to another one.
 * With a relay, the nodes below it move. If a name has left or come twice, nobody can tell: then these nodes have not moved.
 */
export function movesBetween(before: readonly Placed[], after: readonly Placed[]): ReadonlyMap<string, string> {
  const [had, has] = [new Set(before.map(({ id }) => id)), new Set(after.map(({ id }) => id))];
  const gone = before.filter(({ id }) => !has.has(id)).sort((a, b) => depthOf(a.id) - depthOf(b.id));
  const fresh = new Map(after.filter(({ id }) => !had.has(id)).map((node) => [node.id, node]));
  const moved = new Map<string, string>();
  const take = (from: Placed, to: Placed | undefined) => {
    if (!to || !isSame(from, to) || !fresh.delete(to.id)) return;
    moved.set(from.id, to.id);
  };
  // Relays first: the nodes below them find their places by them.
  for (const role of ['relay', 'agent'] as const) {
    for (const from of gone) {
      if (from.role !== role || moved.has(from.id)) continue;
      const above = [...moved].reverse().find(([former]) => isBelow(from.id, former));
      const there = above && fresh.get(`${above[1]}${from.id.slice(above[0].length)}`);
      take(from, there ?? only(from, gone, moved, fresh));
    }
  }
  return new Map(Array.from(moved, ([from, to]) => [to, from]));
}

function only(
  from: Placed,
  gone: readonly Placed[],
  moved: ReadonlyMap<string, string>,
  fresh: ReadonlyMap<string, Placed>,
): Placed | undefined {
  const named = ({ id, role }: Placed) => role === from.role && nameOf(id) === nameOf(from.id);
  const others = gone.filter((one) => named(one) && !moved.has(one.id));
  const places = [...fresh.values()].filter(named);
  return others.length === 1 && places.length === 1 ? places[0] : undefined;
}

function isSame(a: Placed, b: Placed): boolean {
  return a.role === b.role && equalJson(a.kubeconfig, b.kubeconfig);
}
