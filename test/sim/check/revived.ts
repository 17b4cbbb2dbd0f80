/**
 * Invariant 6, in the stores: no deleted object revives without a newer origin write. A table that has taken in a deletion, from a batch or from its own
 * node, never has the object again as of an older write: neither at agents and relays nor in mailboxes, whoever above was put back meanwhile.
 */
import type { Entry } from '../../../core/wire/generated/mesh.ts';
import type { Host } from '../host.ts';
import { isStagedObject } from '../model/releases.ts';
import { nodeOfSource } from '../plan/tree.ts';
import type { Check, World } from '../world.ts';
import { consumerOf } from './ends.ts';
import { isIn, Rows, rowOf, tableIdOf } from './rows.ts';

export function revived(world: World): Check {
  const name = 'no deleted object revives without a newer origin write';
  /** By disk: table and key hash in hex, to the revision of the write that deleted it. */
  const deaths = new Map<Host, Map<string, number>>();
  const of = (host: Host) => {
    const known = deaths.get(host) ?? new Map<string, number>();
    deaths.set(host, known);
    return known;
  };
  const die = (host: Host, table: number, keyHash: string, originRevision: number) => {
    const known = of(host);
    const key = `${table} ${keyHash}`;
    known.set(key, Math.max(known.get(key) ?? 0, originRevision));
  };
  return {
    name,
    received(connection, to, { frame }) {
      if (frame?.$case !== 'batch') return;
      const consumer = consumerOf(connection, frame.value.feed);
      if (consumer.host !== connection.host(to)) return;
      const table = Rows.of(consumer.host.rows, (rows) => rows.table(consumer.table));
      if (table === undefined) return;
      for (const entry of frame.value.entries) {
        if (entry.tombstone && isTaken(consumer.host, table, entry)) {
          die(consumer.host, table, entry.keyHash.toString('hex'), entry.originRevision);
        }
      }
    },
    committed(host, changes) {
      for (const { key, value } of changes) {
        if (!value || !isIn(key, 'tableRow')) continue;
        const { originRevision, content } = rowOf(value);
        const table = tableIdOf(key);
        const keyHash = key.toString('hex', 6);
        if (content === undefined) {
          die(host, table, keyHash, originRevision);
          continue;
        }
        const died = deaths.get(host)?.get(`${table} ${keyHash}`);
        // A space that was put back has again what it had then: as with any backup (decision 0020).
        if (died === undefined || originRevision >= died || world.originWasPutBack) continue;
        const what = Rows.of(host.rows, (rows) => `${rows.keyOf(content)} in ${rows.tables().get(table)}`);
        // A release that takes an object away is itself taken back, or another one takes its place.
        if (!what.startsWith('o/') || isStagedObject(what.slice(0, what.indexOf(' ')))) continue;
        if (isWrittenAgain(world, host, keyHash, content, died)) continue;
        world.violation(name, `${host.title} has ${what} again as of ${originRevision}, deleted as of ${died}`);
      }
    },
    replaced: (host) => void deaths.delete(host),
    ended: (host) => void deaths.delete(host),
  };
}

function isTaken(host: Host, table: number, { keyHash }: Entry): boolean {
  return Rows.of(host.rows, (rows) => rows.row(table, keyHash)) === undefined;
}

/**
 * The origin has had it again since, and as it is here: a node that was put back has it from before, and a comparison of equal contents does not tell it as of which
 * write its parent has it.
 */
function isWrittenAgain(world: World, host: Host, keyHash: string, content: string, died: number): boolean {
  const here = Rows.of(host.rows, (rows) => rows.content(content));
  const [, source = ''] = here?.key.split('/') ?? [];
  const origin = world.hosts.get(nodeOfSource(source));
  if (!here || !origin) return false;
  return Rows.of(origin.rows, (rows) => {
    const table = rows.table(`source/${source}`);
    const row = table === undefined ? undefined : rows.row(table, Buffer.from(keyHash, 'hex'));
    if (row?.content === undefined || row.originRevision < died) return false;
    return rows.content(row.content)?.body.equals(here.body) === true;
  });
}
