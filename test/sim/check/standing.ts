/**
 * Replicas that count places which no other node can count: a replica is away for good, and with it a relay that attached to it last. No other node knows the
 * places below that relay. So the last report of this replica stands, as stale, for all of its children, also for those that are at another replica by now
 * (docs/decisions/0022).
 */
import { isBelow } from '../model/expected.ts';
import type { World } from '../world.ts';
import { Rows } from './rows.ts';

/** Paths of these replicas. The replicas' own reports say which child attached where, not their parent's decision. */
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
    if (at && !world.hearsFromAbove(at)) found.add(first.path);
  }
  return [...found];
}

interface Attached {
  readonly sequence: number;
}

/** The number of these places below such replicas that report to `origin`. */
export function standingAmong(paths: readonly string[], places: readonly string[], origin: string): number {
  const telling = paths.filter((path) => isBelow(path, origin));
  return places.filter((place) => telling.some((path) => isBelow(place, path))).length;
}
