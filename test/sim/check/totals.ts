/**
 * Invariant 11, the half that holds at any time: fresh + stale + never + quarantined = expected, and expected is never more than the number of existing
 * agents. The check runs at every reported partial, and whenever a node writes the status of a placement or a summary.
 */
import type { Host } from '../host.ts';
import { isBelow } from '../model/expected.ts';
import type { Check, World } from '../world.ts';
import { isIn, prefix } from './rows.ts';

type Counts = Readonly<Record<string, number>>;

/** The length of the revision, which comes before the object in a row of a space. */
const revisionBytes = 6;
/** The position of the resource in a key. It follows the prefix and the number of the space. */
const resourceAt = prefix('spaceObject').length + 4;
const reported = ['edge.banyan.io\u0000edgeplacements', 'edge.banyan.io\u0000statussummaries'].map((text) =>
  Buffer.from(text),
);

export function totals(world: World): Check {
  const name = 'fresh + stale + never + quarantined = expected';
  /** The number of agents below each path, by the plan. Agents that have left count too. */
  const places = new Map<string, number>();
  const placesOf = ({ path }: Host) => {
    const known = places.get(path);
    if (known !== undefined) return known;
    const agents = [...world.hosts.values()].filter(({ role }) => role === 'agent');
    const count = agents.filter((one) => one.path === path || isBelow(one.path, path)).length;
    places.set(path, count);
    return count;
  };
  const look = (host: Host, counts: Counts, what: () => string) => {
    const { expected = 0, fresh = 0, stale = 0, never = 0, quarantined = 0 } = counts;
    if (fresh + stale + never + quarantined !== expected) {
      world.violation(name, `${what()} as ${JSON.stringify(counts)}`);
    }
    const most = placesOf(host);
    if (expected > most) {
      world.violation('a place is counted once', `${what()} as ${JSON.stringify(counts)}; it has ${most} places`);
    }
  };
  return {
    name,
    sent(connection, from, { frame }) {
      if (frame?.$case !== 'batch' && frame?.$case !== 'reconcileReply') return;
      for (const { key, body, tombstone } of frame.value.entries) {
        if (tombstone || !key.startsWith('partial/')) continue;
        const { counts } = JSON.parse(body.toString()) as { counts: Counts };
        const host = connection.host(from);
        look(host, counts, () => `${host.title} reports ${key}`);
      }
    },
    committed(host, changes) {
      if (host.role === 'agent') return;
      for (const { key, value } of changes) {
        if (!value || !isIn(key, 'spaceObject') || !reported.some((one) => key.indexOf(one) === resourceAt)) continue;
        const { metadata, status, completeness } = JSON.parse(value.toString('utf8', revisionBytes)) as {
          metadata: { name: string };
          status?: { summary?: Counts };
          completeness?: Counts;
        };
        look(host, completeness ?? status?.summary ?? {}, () => `${host.title} writes ${metadata.name}`);
      }
    },
  };
}
