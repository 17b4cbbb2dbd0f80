/** Invariant 6: no deleted object revives without a newer origin write, and no older write takes the place of a newer one. */
import type { Entry } from '../../../core/wire/generated/mesh.ts';
import type { Host } from '../host.ts';
import type { Check, World } from '../world.ts';
import { consumerOf } from './ends.ts';
import { type RowSeen, Rows } from './rows.ts';

export function origins(world: World): Check {
  const name = 'an older origin write never takes the place of a newer one';
  /** Origin revision of the newest deletion that each table has taken in, by key hash. */
  const deleted = new Map<Host, Map<string, number>>();
  let before: Map<string, RowSeen | undefined> | undefined;
  return {
    name,
    receiving(connection, to, { frame }) {
      before = undefined;
      if (frame?.$case !== 'batch' && frame?.$case !== 'reconcileReply') return;
      const consumer = consumerOf(connection, frame.value.feed);
      if (consumer.host === connection.host(to)) before = rowsOf(consumer, frame.value.entries);
    },
    received(connection, to, { frame }) {
      if (!before || (frame?.$case !== 'batch' && frame?.$case !== 'reconcileReply')) return;
      const consumer = consumerOf(connection, frame.value.feed);
      if (consumer.host !== connection.host(to)) return;
      const after = rowsOf(consumer, frame.value.entries);
      const gone = deleted.get(consumer.host) ?? new Map<string, number>();
      deleted.set(consumer.host, gone);
      for (const { keyHash, key, tombstone, originRevision } of frame.value.entries) {
        const hash = `${consumer.table} ${keyHash.toString('hex')}`;
        const had = before.get(hash);
        const has = after.get(hash);
        const isSame = had?.content === has?.content;
        if (had && had.originRevision > originRevision && !isSame) {
          world.violation(
            name,
            `${consumer.host.title} takes ${key || 'a tombstone'} of ${originRevision} over ${had.originRevision}`,
          );
        }
        // A batch's tombstone carries the origin revision of what removed it; a reply's is only "not there".
        if (tombstone && frame.$case === 'batch' && !has) {
          gone.set(hash, Math.max(gone.get(hash) ?? 0, originRevision));
        }
      }
    },
    replaced: (host) => void deleted.delete(host),
    ended: (host) => void deleted.delete(host),
    committed(host) {
      void host;
    },
  };
}

function rowsOf(
  { host, table }: { readonly host: Host; readonly table: string },
  entries: readonly Entry[],
): Map<string, RowSeen | undefined> {
  return Rows.of(host.rows, (rows) => {
    const id = rows.table(table);
    return new Map(
      entries.map(({ keyHash }) => [
        `${table} ${keyHash.toString('hex')}`,
        id === undefined ? undefined : rows.row(id, keyHash),
      ]),
    );
  });
}
