/** The nodes through which bytes between two nodes travel. */
import type { World } from '../world.ts';

export interface Asked {
  readonly from: string;
  readonly to: string;
  readonly atMs: number;
}

/** Whether the received bytes may be from a liar: a node on the way, or an end, is a liar now or was one since the talk began. */
export function mayBeFromLiar(world: World, { from, to, atMs }: Asked): boolean {
  const way = wayOf(from, to);
  return [...world.hosts.values()].some(({ path, liar, liarUntilMs }) => {
    return way.has(path) && (liar !== undefined || liarUntilMs >= atMs);
  });
}

/** The paths of the way, including both ends: upwards to the first node that has both ends at or below it, and then downwards. */
export function wayOf(from: string, to: string): ReadonlySet<string> {
  const [up, down] = [atAndAbove(from), atAndAbove(to)];
  const common = up.filter((path) => down.includes(path)).length;
  return new Set([...up.slice(common - 1), ...down.slice(common - 1)]);
}

/** The paths of the node and of all nodes above it, from the center on. */
function atAndAbove(path: string): string[] {
  if (path === '') return [''];
  const names = path.split(':');
  return ['', ...names.map((_, i) => names.slice(0, i + 1).join(':'))];
}
