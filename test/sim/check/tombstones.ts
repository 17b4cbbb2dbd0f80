/** Invariant 4: a tombstone is purged only after a durable acknowledgement. */
import { Feed, type Frame } from '../../../core/wire/generated/mesh.ts';
import type { Check, World } from '../world.ts';
import { consumerOf, producerOf } from './ends.ts';
import { isIn, Rows, tableIdOf } from './rows.ts';

/** The length of a tombstone in the index by revision: the key hash and one more byte. See core/feed/producer.ts. */
const tombstoneBytes = 17;

export function tombstones(world: World): Check {
  const name = 'a tombstone is purged only after a durable acknowledgement';
  /** The newest cursor that a consumer had on its disk when it sent the cursor. Keyed by the consumer's epoch. */
  const durable = new Map<string, number>();
  return {
    name,
    sent(connection, from, { frame }) {
      const acknowledgedAt = reportedTermOf(frame);
      if (!acknowledgedAt) return;
      const consumer = consumerOf(connection, acknowledgedAt.feed);
      if (consumer.host !== connection.host(from)) return;
      const tuple = Rows.of(consumer.host.disk.durable, (rows) => {
        const table = rows.table(consumer.table);
        return table === undefined ? undefined : rows.tuple(table);
      });
      if (tuple) durable.set(tuple.epoch, Math.max(durable.get(tuple.epoch) ?? 0, tuple.cursor));
    },
    // A liar that acknowledges everything has lost it: at the next honest session, the feed is reconciled.
    receivedFromLiar(connection, to, { frame }) {
      const acknowledgedAt = reportedTermOf(frame);
      if (!acknowledgedAt) return;
      const producer = producerOf(connection, acknowledgedAt.feed);
      if (producer.host !== connection.host(to)) return;
      const epoch = Rows.of(producer.host.rows, (rows) => {
        const table = rows.table(producer.table);
        return table === undefined ? undefined : rows.epoch(table);
      });
      if (epoch !== undefined) durable.set(epoch, Math.max(durable.get(epoch) ?? 0, acknowledgedAt.cursor));
    },
    committed(host, changes, before) {
      const removed = changes.filter(({ key, value }) => value === undefined && isIn(key, 'tableRevision'));
      if (removed.length === 0) return;
      // If a row is replaced, it has a new revision. If a table is removed as a whole, it has no consumer any more.
      const rewritten = new Set(
        changes.filter(({ key, value }) => value && isIn(key, 'tableRow')).map(({ key }) => key.toString('hex', 2)),
      );
      if (changes.some(({ key, value }) => value === undefined && isIn(key, 'tableName'))) return;
      Rows.of(before, (rows) => {
        for (const { key } of removed) {
          const table = tableIdOf(key);
          const formerBytes = before.read((reader) => reader.get(key));
          if (formerBytes?.length !== tombstoneBytes) continue;
          const revision = key.readUIntBE(key.length - 6, 6);
          if (rewritten.has(key.toString('hex', 2, 6) + Buffer.from(formerBytes.subarray(0, 16)).toString('hex')))
            continue;
          const epoch = rows.epoch(table) ?? '';
          const known = durable.get(epoch) ?? 0;
          if (known >= revision) continue;
          world.violation(name, `${host.title} purges revision ${revision}, its consumer has come to ${known}`);
        }
      });
    },
  };
}

/** The cursor of a consumer in a frame. A Hello has the cursor of the feed from the parent. */
function reportedTermOf(frame: Frame['frame']): { readonly feed: Feed; readonly cursor: number } | undefined {
  if (frame?.$case === 'hello') return { feed: Feed.FEED_DOWN, cursor: frame.value.down?.cursor ?? 0 };
  return frame?.$case === 'ack' ? frame.value : undefined;
}
