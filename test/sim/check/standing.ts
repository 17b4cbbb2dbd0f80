/**
 * Replicas that count places which no other node can count. Such a replica is away for good, and so is a relay that last attached to this replica. No other
 * node knows the places below the relay. So the last report of the replica stays, as stale, for all of its children, even for children that are at another
 * replica now (docs/decisions/0022).
 */
import { isBelow } from '../model/expected.ts';
import type { World } from '../world.ts';
import { Rows } from './rows.ts';

/** The paths of these replicas. The replicas' own reports show which child attached where; their parent's decision does not count. */
export function standing(world: World, isCutOff: (path: string) => boolean): string[] {
  const found = new Set<string>();
  for (const relay of world.hosts.values()) {
    const replicas = world.parentsOf(relay);
    const [first] = replicas;
    if (relay.role !== 'relay' || !first || replicas.length < 2 || isCutOff(first.path) || !isCutOff(relay.path))
      continue;
    const [parent] = world.parentsOf(first);
    if (!parent) continue;
    const received = replicas.map(({ name }) =>
      Rows.of(parent.rows, (rows) => rows.attributes<Attached>(`reported/${name}`, `attach/${relay.name}`)),
    );
    const last = Math.max(...received.map((attached) => attached?.sequence ?? -1));
    const at = replicas.find((_, i) => received[i]?.sequence === last);
    if (at && !world.receivesFromAbove(at)) found.add(first.path);
  }
  return [...found];
}

interface Attached {
  readonly sequence: number;
}

/** How many of these places are below such replicas that report to `origin`. */
export function standingAmong(paths: readonly string[], places: readonly string[], origin: string): number {
  const reporting = paths.filter((path) => isBelow(path, origin));
  return places.filter((place) => reporting.some((path) => isBelow(place, path))).length;
}
