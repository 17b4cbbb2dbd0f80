/**
 * Invariant 15: what a session resends is proportional to what has changed: batches go on where the last one ended, each revision goes once a session,
 * in order or ahead of a large one; a piece goes once, and not if the consumer has said that it has it; and a reconciliation fetches only what differs.
 */
import type { Batch, HeldPieces, Piece } from '../../../core/wire/generated/mesh.ts';
import type { Connection, Side } from '../sim-network.ts';
import type { Check, World } from '../world.ts';
import { consumerOf, producerOf } from './ends.ts';
import { hashOf, Rows } from './rows.ts';

/** Of one direction of a connection. */
interface Sent {
  readonly revisions: Set<number>;
  /** Of pieces, by content: everything up to here was sent, or is held by the consumer. */
  readonly upTo: Map<string, number>;
  /** Of the first reply: its head. */
  listedAt?: number;
}

export function resumeCost(world: World): Check {
  const name = 'a session sends what differs, and once';
  const all = new WeakMap<Connection, Record<Side, Sent>>();
  const of = (connection: Connection, from: Side): Sent => {
    const sent = all.get(connection) ?? { child: nothing(), parent: nothing() };
    all.set(connection, sent);
    return sent[from];
  };
  return {
    name,
    sent(connection, from, { frame }) {
      const { title } = connection.host(from);
      const sent = of(connection, from);
      switch (frame?.$case) {
        case 'hello':
          return noteHeld(of(connection, 'parent'), frame.value.held);
        case 'welcome':
          return noteHeld(of(connection, 'child'), frame.value.held);
        case 'piece': {
          const wrong = pieceAgain(sent, frame.value);
          if (wrong) world.violation(name, `${title} sends ${wrong}`);
          return;
        }
        case 'batch': {
          if (producerOf(connection, frame.value.feed).host !== connection.host(from)) return;
          const again = revisionAgain(sent, frame.value);
          if (again !== undefined) world.violation(name, `${title} sends revision ${again} again`);
          return;
        }
        case 'reconcileReply': {
          const consumer = consumerOf(connection, frame.value.feed);
          sent.listedAt ??= frame.value.head;
          if (!connection.lifeOf('child').alive || !connection.lifeOf('parent').alive) return;
          for (const entry of frame.value.entries) {
            // What changed after the lists were made may have become what the consumer has.
            if (entry.tombstone || entry.revision > sent.listedAt) continue;
            const its = Rows.of(consumer.host.rows, (rows) => {
              const id = rows.table(consumer.table);
              return id === undefined ? undefined : rows.row(id, entry.keyHash)?.content;
            });
            if (its === hashOf(entry))
              world.violation(name, `${title} sends ${entry.key}, which ${consumer.host.title} has`);
          }
        }
      }
    },
  };
}

function nothing(): Sent {
  return { revisions: new Set(), upTo: new Map() };
}

function noteHeld({ upTo }: Sent, held: readonly HeldPieces[]): void {
  for (const { contentHash, bytes } of held) upTo.set(contentHash.toString('hex'), bytes);
}

/** The first revision of a batch that went before. */
function revisionAgain({ revisions }: Sent, { entries }: Batch): number | undefined {
  const again = entries.find(({ revision }) => revisions.has(revision))?.revision;
  for (const { revision } of entries) revisions.add(revision);
  return again;
}

/** What ends a content makes it another one when it comes again: it is not held any more. */
function pieceAgain({ upTo }: Sent, { contentHash, offset, total, data }: Piece): string | undefined {
  const hash = contentHash.toString('hex');
  const before = upTo.get(hash) ?? 0;
  const end = offset + data.length;
  if (end >= total) upTo.delete(hash);
  else upTo.set(hash, end);
  return offset < before
    ? `bytes ${offset} to ${end} of ${hash.slice(0, 6)}, of which ${before} were there`
    : undefined;
}
