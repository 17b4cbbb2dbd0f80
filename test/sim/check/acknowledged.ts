/** Invariant 2: a cursor never covers an entry that is not durably applied or superseded. Looked at whenever one is said. */
import type { Check, World } from '../world.ts';
import { consumerOf, gap, producerOf } from './ends.ts';

export function acknowledged(world: World): Check {
  const name = 'a cursor covers only what is durably applied';
  return {
    name,
    sent(connection, from, { frame }) {
      if (frame?.$case !== 'ack') return;
      const { feed, cursor } = frame.value;
      const producer = producerOf(connection, feed);
      const consumer = consumerOf(connection, feed);
      if (consumer.host !== connection.host(from)) return;
      if (!connection.isOpen || !connection.lifeOf('child').alive || !connection.lifeOf('parent').alive) return;
      // A session that another has taken the place of may say what it likes: nobody listens.
      if (!world.isNewest(connection)) return;
      const wrong = gap(producer, consumer, consumer.host.disk.durable, cursor);
      if (wrong) world.violation(name, `${consumer.host.title} says ${cursor} of ${producer.host.title}: ${wrong}`);
    },
  };
}
