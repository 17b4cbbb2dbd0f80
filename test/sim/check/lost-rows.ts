/**
 * The promise about an object if nodes below its origin have rows of a lost store incarnation (docs/decisions/0020). Such a row stays whole: an object with
 * the placements that it named, and a placement with the places that it named. So at each relay on the way, the object is for the agents that its placements
 * reach, in the forms that the relay has. The agent may lack the object only if none of these placements reaches an agent, because of a row that is newer
 * than the origin's row. This also holds for the object's Namespace: if an agent lacks the Namespace, its cluster can't have the object.
 */
import type { Host } from '../host.ts';
import { placeOf, selects, titleOfKey } from '../model/expected.ts';
import type { Place } from '../model/made.ts';
import { nodeOfSource } from '../plan/tree.ts';
import type { World } from '../world.ts';
import { Rows } from './rows.ts';

export interface Seen {
  readonly originRevision: number;
  readonly attributes: Buffer;
  readonly body: Buffer;
}

/**
 * Whether rows of a lost store incarnation take the object from the agent at any relay on the way. All relays count, because a relay above another one may
 * have been restored, and may lack these rows.
 */
export function isTakenByLostRows(world: World, agent: Host, title: string): boolean {
  const place = placeOf(world, agent);
  if (place === undefined || place === 'unknown') return false;
  return relaysAbove(world, agent).some((relay) => {
    const upstream = rowsOf(relay, 'upstream');
    const key = [...upstream.keys()].find((one) => one.startsWith('o/') && titleOfKey(one) === title);
    const source = key?.split('/')[1];
    if (key === undefined || source === undefined) return false;
    const origin = world.hosts.get(nodeOfSource(source));
    return (
      origin !== undefined && isTaken(place, { source, key, upstream, atOrigin: rowsOf(origin, `source/${source}`) })
    );
  });
}

export interface AtRelay {
  readonly source: string;
  readonly key: string;
  /** The rows at the relay (`upstream`), and the present rows of the origin (`atOrigin`). */
  readonly upstream: ReadonlyMap<string, Seen>;
  readonly atOrigin: ReadonlyMap<string, Seen>;
}

export function isTaken(place: Place, at: AtRelay): boolean {
  const [, , , , namespace] = at.key.split('/');
  const needed = `o/${at.source}//namespaces//${namespace}`;
  return isRowTaken(place, at) || (at.upstream.has(needed) && isRowTaken(place, { ...at, key: needed }));
}

function isRowTaken(place: Place, { source, key, upstream, atOrigin }: AtRelay): boolean {
  const isLost = (one: string) => (upstream.get(one)?.originRevision ?? 0) > (atOrigin.get(one)?.originRevision ?? 0);
  const { refs } = JSON.parse(upstream.get(key)!.attributes.toString()) as { refs: readonly string[] };
  const placements = refs.map((name) => `p/${source}/${name}`);
  const reaches = placements.some((one) => {
    const row = upstream.get(one);
    return row !== undefined && selects((JSON.parse(row.body.toString()) as { spec: object }).spec, place);
  });
  return !reaches && [key, ...placements].some(isLost);
}

function relaysAbove(world: World, host: Host): Host[] {
  return world
    .parentsOf(host)
    .flatMap((parent) => (parent.role === 'relay' ? [parent, ...relaysAbove(world, parent)] : []));
}

/** The rows of a table, keyed by entry key. */
function rowsOf(host: Host, table: string): Map<string, Seen> {
  return Rows.of(host.rows, (rows) => {
    const found = new Map<string, Seen>();
    const id = rows.table(table);
    for (const { content, originRevision } of id === undefined ? [] : rows.rows(id).values()) {
      const seen = content === undefined ? undefined : rows.content(content);
      if (seen) found.set(seen.key, { ...seen, originRevision });
    }
    return found;
  });
}
