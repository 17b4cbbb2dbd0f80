/** Which nodes of a topology are at another place in a later topology. Such a node goes on with its store, and its cluster keeps its objects. */
import { depthOf, isBelow, nameOf, parentOf } from '../../core/identity/node-path.ts';
import { equalJson } from '../../core/object/json-value.ts';
import type { PlannedNode } from './plan.ts';

type Placed = Pick<PlannedNode, 'id' | 'role' | 'kubeconfig'>;

/**
 * Returns the former id of each node that has moved, keyed by its new id. A node has moved if the same name has left one place and has come to another one.
 * With a relay, the nodes below it move. If a name has left or come twice, the name of the parent decides: regions may have clusters of the same names. If the
 * parents have the same name too, nobody can tell: then these nodes have not moved.
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
  const ofRole = (nodes: Iterable<Placed>) => [...nodes].filter(({ role }) => role === from.role);
  for (const isAlike of likenesses(from.id)) {
    const others = ofRole(gone).filter(({ id }) => isAlike(id) && !moved.has(id));
    const places = ofRole(fresh.values()).filter(({ id }) => isAlike(id));
    if (others.length === 1 && places.length === 1) return places[0];
  }
  return undefined;
}

/** Two ways in which another path may be that of the same node: by its name, and by its name together with that of its parent. */
export function likenesses(path: string): readonly ((other: string) => boolean)[] {
  const isNamed = (other: string) => nameOf(other) === nameOf(path);
  return [isNamed, (other) => isNamed(other) && nameOf(parentOf(other)) === nameOf(parentOf(path))];
}

function isSame(a: Placed, b: Placed): boolean {
  return a.role === b.role && equalJson(a.kubeconfig, b.kubeconfig);
}
