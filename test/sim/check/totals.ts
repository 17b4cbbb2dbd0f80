/** Invariant 11, the half that holds at any time: fresh + stale + never + quarantined = expected, wherever a partial is told. */
import type { Check, World } from '../world.ts';

export function totals(world: World): Check {
  const name = 'fresh + stale + never + quarantined = expected';
  return {
    name,
    sent(connection, from, { frame }) {
      if (frame?.$case !== 'batch' && frame?.$case !== 'reconcileReply') return;
      for (const { key, body, tombstone } of frame.value.entries) {
        if (tombstone || !key.startsWith('partial/')) continue;
        const { counts } = JSON.parse(body.toString()) as { counts: Record<string, number> };
        const { expected = 0, fresh = 0, stale = 0, never = 0, quarantined = 0 } = counts;
        if (fresh + stale + never + quarantined === expected) continue;
        world.violation(name, `${connection.host(from).title} tells ${key} as ${JSON.stringify(counts)}`);
      }
    },
  };
}
