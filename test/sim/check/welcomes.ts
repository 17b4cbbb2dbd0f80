/** A parent welcomes only a child for which it has a mailbox. It refuses a child that was removed from the inventory, even during the attachment. */
import { Feed } from '../../../core/wire/generated/mesh.ts';
import type { Check, World } from '../world.ts';
import { producerOf } from './ends.ts';
import { Rows } from './rows.ts';

export function welcomes(world: World): Check {
  const name = 'a child is welcomed only to an existing mailbox';
  return {
    name,
    sent(connection, from, { frame }) {
      if (from !== 'parent' || frame?.$case !== 'welcome') return;
      const { host, table } = producerOf(connection, Feed.FEED_DOWN);
      const epoch = Rows.of(host.rows, (rows) => {
        const id = rows.table(table);
        return id === undefined ? undefined : rows.epoch(id);
      });
      if (epoch === frame.value.downEpoch.toString('hex')) return;
      world.violation(name, `${host.title} welcomes ${connection.child.title}, whose mailbox is gone`);
    },
  };
}
