/**
 * Invariant 15: what a session resends is proportional to what has changed: a batch goes on where the last one ended, each revision once a session,
 * and a reconciliation fetches only what differs.
 */
import type { Connection } from '../sim-network.ts';
import type { Check, World } from '../world.ts';
import { consumerOf, producerOf } from './ends.ts';
import { contentHashOf, Rows } from './rows.ts';

export function resumeCost(world: World): Check {
  const name = 'a session sends what differs, and once';
  const sentTo = new WeakMap<Connection, Map<string, number>>();
  /** Of the first reply on a connection, by feed: its head. */
  const first = new WeakMap<Connection, Map<number, number>>();
  return {
    name,
    sent(connection, from, { frame }) {
      if (frame?.$case === 'batch') {
        const { feed, entries, from: begin } = frame.value;
        if (producerOf(connection, feed).host !== connection.host(from)) return;
        const tos = sentTo.get(connection) ?? new Map<string, number>();
        sentTo.set(connection, tos);
        const last = tos.get(`${feed}`) ?? begin;
        const first = entries[0]?.revision;
        if (first !== undefined && first <= last && begin < last) {
          world.violation(name, `${connection.host(from).title} sends revision ${first} again, it was at ${last}`);
        }
        tos.set(`${feed}`, frame.value.to);
      }
      if (frame?.$case !== 'reconcileReply') return;
      const producer = producerOf(connection, frame.value.feed);
      const consumer = consumerOf(connection, frame.value.feed);
      const listedAt = first.get(connection)?.get(frame.value.feed) ?? frame.value.head;
      first.set(connection, (first.get(connection) ?? new Map<number, number>()).set(frame.value.feed, listedAt));
      if (!connection.lifeOf('child').alive || !connection.lifeOf('parent').alive) return;
      for (const entry of frame.value.entries) {
        const { keyHash, key, tombstone, revision } = entry;
        // What changed after the lists were made may have become what the consumer has.
        if (tombstone || revision > listedAt) continue;
        const its = Rows.of(consumer.host.rows, (rows) => {
          const id = rows.table(consumer.table);
          return id === undefined ? undefined : rows.row(id, keyHash)?.content;
        });
        if (its !== contentHashOf(entry)) continue;
        world.violation(name, `${producer.host.title} sends ${key}, which ${consumer.host.title} has`);
      }
    },
  };
}
