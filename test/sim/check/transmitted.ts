/** Invariant 3: transmitted entries are durable, and within an incarnation, no revision is used again with other content. */
import type { Entry } from '../../../core/wire/generated/mesh.ts';
import type { Check, World } from '../world.ts';
import { producerOf } from './ends.ts';
import { hashOf, Rows } from './rows.ts';

export function transmitted(world: World): Check {
  const name = 'a transmitted revision is durable and keeps its content';
  /** Keyed by feed, epoch, incarnation and revision. */
  const seen = new Map<string, string>();
  return {
    name,
    sent(connection, from, { frame }) {
      if (frame?.$case !== 'batch' && frame?.$case !== 'reconcileReply') return;
      const { feed, epoch, incarnation, entries } = frame.value;
      const producer = producerOf(connection, feed);
      if (producer.host !== connection.host(from)) return;
      const upTo = frame.$case === 'batch' ? frame.value.to : frame.value.head;
      const head = Rows.of(producer.host.disk.durable, (rows) => {
        const table = rows.table(producer.table);
        return table === undefined ? 0 : rows.head(table);
      });
      if (upTo > head) world.violation(name, `${producer.host.title} sends up to ${upTo}, durable is ${head}`);
      for (const entry of entries) {
        if (frame.$case !== 'batch') continue;
        const key = `${producer.host.title} ${producer.table} ${epoch.toString('hex')} ${incarnation.toString('hex')} ${entry.revision}`;
        const digest = digestOf(entry);
        const before = seen.get(key);
        seen.set(key, digest);
        if (before !== undefined && before !== digest) {
          world.violation(name, `${producer.host.title} reuses revision ${entry.revision} for ${entry.key}`);
        }
      }
    },
  };
}

function digestOf(entry: Entry): string {
  return `${entry.keyHash.toString('hex')} ${entry.tombstone ? 'gone' : hashOf(entry)}`;
}
