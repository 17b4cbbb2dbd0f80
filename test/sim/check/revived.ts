/**
 * Invariant 6, in the stores: no deleted object revives without a newer origin write. After a table has received a deletion, from a batch or from its own
 * node, it never gets the object again from a write that the deletion covers. This holds at agents, at relays and in mailboxes, whichever node above was
 * restored meanwhile. A deletion because of labels covers all revisions of the space that its node had received. If the object was not written after the
 * deletion, the object may still appear again.
 */

import type { Entry } from '../../../core/wire/generated/mesh.ts';
import { workClass } from '../../../relay/work/dirty.ts';
import type { Change } from '../disk.ts';
import type { Host } from '../host.ts';
import { isStagedObject } from '../model/releases.ts';
import { nodeOfSource } from '../plan/tree.ts';
import type { Check, World } from '../world.ts';
import { consumerOf } from './ends.ts';
import { hashOfKey, isIn, Rows, rowOf, tableIdOf } from './rows.ts';

export function revived(world: World): Check {
  const name = 'no deleted object revives without a newer origin write';
  /** For each disk: the revision of the write that deleted a row, keyed by table and key hash in hex. */
  const deaths = new Map<Host, Map<string, number>>();
  const writes = new OriginWrites();
  /** The origins that have ended since the last commit of any process. A crash may have undone some of their writes. */
  const crashed = new Set<Host>();
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
      for (const one of crashed) writes.forgetLost(one);
      crashed.clear();
      writes.note(host, changes);
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
        // A restored space has the objects of its backup again, as after any restore (decision 0020).
        if (died === undefined || originRevision >= died || world.originWasPutBack) continue;
        const objectKey = Rows.of(host.rows, (rows) => rows.keyOf(content));
        // A release that removes an object may itself be rolled back, or replaced by another release.
        if (!objectKey.startsWith('o/') || isStagedObject(objectKey)) continue;
        const covered = writes.lastIn(objectKey, originRevision, died);
        if (covered === undefined || isWrittenAgain(world, host, content, covered)) continue;
        const what = Rows.of(host.rows, (rows) => `${objectKey} in ${rows.tables().get(table)}`);
        world.violation(name, `${host.title} has ${what} again as of ${originRevision}, deleted as of ${died}`);
      }
    },
    replaced: (host) => void deaths.delete(host),
    ended(host) {
      deaths.delete(host);
      crashed.add(host);
    },
  };
}

/** The revisions at which each object was written or deleted. An origin records each of them in the transaction of the change, as work for its scheduler. */
class OriginWrites {
  readonly #revisions = new Map<string, Set<number>>();

  note(host: Host, changes: readonly Change[]): void {
    for (const { key, value } of changes) {
      if (!value || !isIn(key, 'dirty') || key.readUInt32BE(2) !== workClass.row) continue;
      const objectKey = key.toString('utf8', 6);
      if (!isRowOfSource(host, objectKey, changes)) continue;
      const { originRevision } = JSON.parse(Buffer.from(value).toString()) as { originRevision: number };
      const known = this.#revisions.get(objectKey) ?? new Set();
      this.#revisions.set(objectKey, known.add(originRevision));
    }
  }

  /**
   * Forgets writes that a crash has undone, because they were not on the disk and no peer had received them. The object's row then has its last remaining
   * revision.
   */
  forgetLost(origin: Host): void {
    for (const [objectKey, revisions] of this.#revisions) {
      const last = rowOfSource(origin, objectKey)?.originRevision;
      if (last === undefined) continue;
      for (const revision of revisions) if (revision > last) revisions.delete(revision);
    }
  }

  /** The last revision that is higher than `after` and not higher than `upTo`. */
  lastIn(objectKey: string, after: number, upTo: number): number | undefined {
    const covered = [...(this.#revisions.get(objectKey) ?? [])].filter((one) => one > after && one <= upTo);
    return covered.length === 0 ? undefined : Math.max(...covered);
  }
}

/** The row of an object in its space. Undefined: the space belongs to another node, or has no such object. */
function rowOfSource(host: Host, objectKey: string) {
  const [, source = ''] = objectKey.split('/');
  return Rows.of(host.rows, (rows) => {
    const table = rows.table(`source/${source}`);
    return table === undefined ? undefined : rows.row(table, hashOfKey(objectKey));
  });
}

/** Whether the row of the object in its space is among the changes. */
function isRowOfSource(host: Host, objectKey: string, changes: readonly Change[]): boolean {
  const [, source = ''] = objectKey.split('/');
  const table = Rows.of(host.rows, (rows) => rows.table(`source/${source}`));
  if (table === undefined) return false;
  const at = hashOfKey(objectKey).toString('hex');
  return changes.some(({ key }) => isIn(key, 'tableRow') && tableIdOf(key) === table && key.toString('hex', 6) === at);
}

function isTaken(host: Host, table: number, { keyHash }: Entry): boolean {
  return Rows.of(host.rows, (rows) => rows.row(table, keyHash)) === undefined;
}

/**
 * Whether the origin has had the object again since, with the same content. A restored node has the object from an earlier write, and a reconciliation of
 * equal contents does not show the revision of the parent's row.
 */
function isWrittenAgain(world: World, host: Host, content: string, since: number): boolean {
  const ownContent = Rows.of(host.rows, (rows) => rows.content(content));
  const [, source = ''] = ownContent?.key.split('/') ?? [];
  const origin = world.hosts.get(nodeOfSource(source));
  if (!ownContent || !origin) return false;
  const row = rowOfSource(origin, ownContent.key);
  if (row?.content === undefined || row.originRevision < since) return false;
  const { content: there } = row;
  return Rows.of(origin.rows, (rows) => rows.content(there))?.body.equals(ownContent.body) === true;
}
