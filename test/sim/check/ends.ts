/** The two ends of a feed in a world, for a connection and a direction: the producer's rows and the consumer's rows. */
import { createHash } from 'node:crypto';
import type { MemoryStore } from '../../../core/store/memory/memory-store.ts';
import { Feed } from '../../../core/wire/generated/mesh.ts';
import type { Host } from '../host.ts';
import type { Connection } from '../sim-network.ts';
import { type RowSeen, Rows, revisionMax } from './rows.ts';

export interface FeedEnd {
  readonly host: Host;
  readonly table: string;
}

export function producerOf(connection: Connection, feed: Feed): FeedEnd {
  return feed === Feed.FEED_DOWN
    ? { host: connection.parent, table: `mailbox/${connection.child.name}` }
    : { host: connection.child, table: 'outbox' };
}

export function consumerOf(connection: Connection, feed: Feed): FeedEnd {
  return feed === Feed.FEED_DOWN
    ? { host: connection.child, table: 'upstream' }
    : { host: connection.parent, table: `reported/${connection.child.name}` };
}

/**
 * Returns how a consumer at `cursor` differs from its producer's present rows. Undefined: it does not. The consumer must have each row up to the cursor,
 * unless it has a newer row from another origin write. For each row of the consumer, one of these must be true:
 *
 * - The producer has the row.
 * - The row was superseded after the cursor.
 * - The row is held. An agent that moved may have more rows of its old parent than it may remove at once.
 * - The producer was emptied and has no tombstones: after the reconciliation, a removed row looks like a row that never existed.
 * - The producer has sent a keep entry for the row.
 */
export function gap(producer: FeedEnd, consumer: FeedEnd, held: MemoryStore, cursor: number): string | undefined {
  // The check of digests finds rows that a liar has sent.
  if (consumer.host.deceived.has(consumer.table)) return undefined;
  const sent = Rows.of(producer.host.rows, (rows) => allOf(rows, producer.table));
  const has = Rows.of(held, (rows) => allOf(rows, consumer.table));
  // If a restored origin lacks or deletes a row, the row may be from the lost store incarnation. A consumer that reconciles keeps it.
  const mayHold = producer.host.world.originWasPutBack;
  if (!sent) return undefined;
  const heldBack = Rows.of(held, (rows) => rows.heldHashes(consumer.table));
  for (const [hash, row] of sent) {
    if (row.revision > cursor) continue;
    const own = has?.get(hash);
    if (
      !mayHold &&
      row.content === undefined &&
      own?.content !== undefined &&
      !heldBack.has(hash) &&
      own.originRevision <= row.originRevision
    ) {
      return `${hash.slice(0, 6)} was removed at revision ${row.revision} and is still there`;
    }
    if (row.content === undefined || own?.content === row.content) continue;
    if (own && own.originRevision > row.originRevision && own.originRevision < revisionMax) continue;
    return `${nameOf(producer, row)} of revision ${row.revision} is ${own ? 'another' : 'not there'}`;
  }
  if (mayHold) return undefined;
  for (const [hash, own] of has ?? []) {
    if (own.content === undefined || sent.has(hash) || heldBack.has(hash)) continue;
    // A restored producer removed an older form of the row, and drops the tombstone when it is acknowledged. The digests find this difference.
    if (consumer.host.outlived.has(outlivedRow(consumer.table, hash))) continue;
    const name = nameOf(consumer, own);
    if (sent.get(keeperOf(name))?.content === undefined) return `${name} is there, and its producer has none`;
  }
  return undefined;
}

export function outlivedRow(table: string, keyHash: string): string {
  return `${table} ${keyHash}`;
}

/** The hash of the key of a keep entry. With this entry, a producer protects an object of which the producer has no form. */
function keeperOf(key: string): string {
  return createHash('sha256').update(key.replace(/^o/, 'k')).digest('hex').slice(0, 32);
}

function allOf(rows: Rows, table: string): Map<string, RowSeen> | undefined {
  const id = rows.table(table);
  return id === undefined ? undefined : rows.rows(id);
}

function nameOf({ host }: FeedEnd, { content }: RowSeen): string {
  return content === undefined ? 'a tombstone' : Rows.of(host.rows, (rows) => rows.keyOf(content));
}
