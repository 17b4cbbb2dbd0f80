/** Invariant 2: a cursor never covers an entry that is not yet durably applied or superseded. The check runs at every acknowledgement. */
import type { Check, World } from '../world.ts';
import { consumerOf, gap, outlivedRow, producerOf } from './ends.ts';
import { Rows } from './rows.ts';

export function acknowledged(world: World): Check {
  const name = 'a cursor covers only what is durably applied';
  return {
    name,
    received(connection, to, { frame }) {
      if (frame?.$case !== 'batch') return;
      const { host, table } = consumerOf(connection, frame.value.feed);
      const id = host === connection.host(to) ? Rows.of(host.rows, (rows) => rows.table(table)) : undefined;
      if (id === undefined) return;
      for (const { tombstone, keyHash, originRevision } of frame.value.entries) {
        const row = tombstone && Rows.of(host.rows, (rows) => rows.row(id, keyHash));
        if (row && row.content !== undefined && row.originRevision > originRevision)
          host.outlived.add(outlivedRow(table, keyHash.toString('hex')));
      }
    },
    sent(connection, from, { frame }) {
      if (frame?.$case !== 'ack') return;
      const { feed, cursor } = frame.value;
      const producer = producerOf(connection, feed);
      const consumer = consumerOf(connection, feed);
      if (consumer.host !== connection.host(from)) return;
      if (!connection.isOpen || !connection.simProcessOf('child').alive || !connection.simProcessOf('parent').alive)
        return;
      // If a newer session has replaced the session, it may send any cursor: its peer ignores it.
      if (!world.isNewest(connection)) return;
      const wrong = gap(producer, consumer, consumer.host.disk.durable, cursor);
      if (wrong)
        world.violation(name, `${consumer.host.title} acknowledges ${cursor} of ${producer.host.title}: ${wrong}`);
    },
  };
}
