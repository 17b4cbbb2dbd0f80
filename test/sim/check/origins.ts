/** Invariant 6, on the wire: no older origin write replaces a newer one. */
import type { Entry } from '../../../core/wire/generated/mesh.ts';
import type { Host } from '../host.ts';
import type { Check, World } from '../world.ts';
import { consumerOf } from './ends.ts';
import { type RowSeen, Rows, revisionMax } from './rows.ts';

export function origins(world: World): Check {
  const name = 'an older origin write never replaces a newer one';
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
      for (const { keyHash, key, originRevision } of frame.value.entries) {
        const hash = `${consumer.table} ${keyHash.toString('hex')}`;
        const former = before.get(hash);
        const has = after.get(hash);
        const isSame = former?.content === has?.content;
        if (former && former.originRevision > originRevision && former.originRevision < revisionMax && !isSame) {
          world.violation(
            name,
            `${consumer.host.title} takes ${key || 'a tombstone'} of ${originRevision} over ${former.originRevision}`,
          );
        }
      }
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
