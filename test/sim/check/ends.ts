/** The two ends of a feed in a world, by the connection and the direction: the producer's rows and the consumer's. */
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
 * What a consumer that has come to `cursor` lacks, or has too much, given the producer's rows as they are: undefined if nothing. A row up to the
 * cursor must be there, unless the consumer has a newer origin's; what is there must be there, or have been superseded behind the cursor, or be held:
 * an agent that moved may have more of its former parent than it lets go at once, and of a producer that was emptied a reconciliation sees no tombstones:
 * what it removed is as absent as what it never had. Or the producer says that it is to be kept.
 */
export function gap(producer: FeedEnd, consumer: FeedEnd, held: MemoryStore, cursor: number): string | undefined {
  // What a liar has made it believe is found by the digests, which are compared later.
  if (consumer.host.deceived.has(consumer.table)) return undefined;
  const sent = Rows.of(producer.host.rows, (rows) => allOf(rows, producer.table));
  const has = Rows.of(held, (rows) => allOf(rows, consumer.table));
  // Of what an origin that was put back lacks or deletes, a consumer that reconciles keeps what may be of the life that was lost.
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
    // Its producer, put back, removed an older form, and forgets that when it is acknowledged. The digests tell it.
    if (consumer.host.outlived.has(outlivedRow(consumer.table, hash))) continue;
    const name = nameOf(consumer, own);
    if (sent.get(keeperOf(name))?.content === undefined) return `${name} is there, and its producer has none`;
  }
  return undefined;
}

export function outlivedRow(table: string, keyHash: string): string {
  return `${table} ${keyHash}`;
}

/** Hash of the key of the entry by which a producer says that the consumer is to keep an object that the producer has no form of. */
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
