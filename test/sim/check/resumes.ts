/** Invariant 5: a stale incarnation never resumes. If a consumer resumes, it has all entries before its cursor, whatever the rules of the product answer. */
import { Feed } from '../../../core/wire/generated/mesh.ts';
import type { Connection } from '../sim-network.ts';
import type { Check, World } from '../world.ts';
import { consumerOf, gap, producerOf } from './ends.ts';
import { Rows } from './rows.ts';

export function resumes(world: World): Check {
  const name = 'a consumer that resumes lacks no entry before its cursor';
  const look = (connection: Connection, feed: Feed) => {
    const producer = producerOf(connection, feed);
    const consumer = consumerOf(connection, feed);
    const store = consumer.host.rows;
    const tuple = Rows.of(store, (rows) => {
      const table = rows.table(consumer.table);
      return table === undefined ? undefined : rows.tuple(table);
    });
    // A consumer that has never attached starts at the beginning of the feed.
    if (!tuple || tuple.epoch === '') return;
    if (!connection.simProcessOf('child').alive || !connection.simProcessOf('parent').alive) return;
    const wrong = gap(producer, consumer, store, tuple.cursor);
    if (wrong)
      world.violation(name, `${consumer.host.title} resumes at ${tuple.cursor} of ${producer.host.title}: ${wrong}`);
  };
  return {
    name,
    sent(connection, _from, { frame }) {
      if (frame?.$case === 'welcome' && frame.value.downResumes) look(connection, Feed.FEED_DOWN);
      if (frame?.$case === 'resume' && frame.value.resumes && frame.value.feed === Feed.FEED_UP) {
        // A session that a newer session has replaced does not resume: the parent's tuple belongs to the newer session.
        if (world.isNewest(connection)) look(connection, Feed.FEED_UP);
      }
    },
  };
}
