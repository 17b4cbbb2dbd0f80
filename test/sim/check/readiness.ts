/**
 * Invariant 7: a producer that is not ready deletes nothing by absence. If a reconciliation does not find some rows at the producer, the consumer removes
 * them only if the producer has stated on the same connection that it is ready. A relay that has lost its store states this to nobody before its own parent
 * has stated it to the relay.
 */
import { Feed, type Frame } from '../../../core/wire/generated/mesh.ts';
import type { Host } from '../host.ts';
import type { Connection, Side } from '../sim-network.ts';
import type { Check, World } from '../world.ts';
import { consumerOf } from './ends.ts';
import { isIn, Rows, rowOf, tableIdOf } from './rows.ts';

export function readiness(world: World): Check {
  const name = 'a producer that is not ready deletes nothing by absence';
  /** Relays that were emptied, until a node above has stated to them that it is ready. */
  const knowsNothing = new Set<Host>();
  /** The last statement of each end about its readiness. */
  const isReady = new WeakMap<Connection, Record<Side, boolean>>();
  return {
    name,
    replaced(host) {
      if (
        host.role === 'relay' &&
        host.disk.newest.read((reader) => isEmpty(reader.scan({ from: Buffer.of(0), to: Buffer.of(255) })))
      )
        knowsNothing.add(host);
      else knowsNothing.delete(host);
    },
    sent(connection, from, frame) {
      const host = connection.host(from);
      if (from === 'parent' && readyIn(frame) && knowsNothing.has(host)) {
        world.violation(name, `${host.title} has lost its store, and states that it is ready before its parent does`);
      }
    },
    receiving(connection, to, frame) {
      const ready = readyIn(frame);
      if (ready === undefined) return;
      const statements = isReady.get(connection) ?? { parent: false, child: false };
      isReady.set(connection, { ...statements, [to === 'child' ? 'parent' : 'child']: ready });
      if (to === 'child' && ready) knowsNothing.delete(connection.child);
    },
    // The relay has received that its parent is ready. It can't know that the parent is a liar.
    receivedFromLiar(connection, to, frame) {
      if (to === 'child' && readyIn(frame)) knowsNothing.delete(connection.child);
    },
    committed(host, changes, before) {
      const { delivery } = world;
      if (!delivery || delivery.connection.host(delivery.to) !== host) return;
      const { connection, to, frame } = delivery;
      // A batch itself names the removed rows.
      if (frame.frame?.$case === 'batch') return;
      const producer: Side = to === 'child' ? 'parent' : 'child';
      if (isReady.get(connection)?.[producer]) return;
      const consumer = consumerOf(connection, to === 'child' ? Feed.FEED_DOWN : Feed.FEED_UP);
      Rows.of(before, (rows) => {
        const table = rows.table(consumer.table);
        for (const { key, value } of changes) {
          if (value !== undefined || !isIn(key, 'tableRow') || tableIdOf(key) !== table) continue;
          const formerBytes = before.read((reader) => reader.get(key));
          const content = formerBytes && rowOf(formerBytes).content;
          if (content === undefined) continue;
          const what = rows.keyOf(content);
          world.violation(
            name,
            `${host.title} takes ${what} for gone, and its ${producer} has not stated that it is ready`,
          );
        }
      });
    },
  };
}

function readyIn({ frame }: Frame): boolean | undefined {
  return frame?.$case === 'welcome' || frame?.$case === 'beat' ? frame.value.ready : undefined;
}

function isEmpty(rows: Iterable<unknown>): boolean {
  for (const _ of rows) return false;
  return true;
}
