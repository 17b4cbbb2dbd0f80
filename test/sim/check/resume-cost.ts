/**
 * Invariant 15: the data that a session sends again is in proportion to the changes. Batches continue where the last batch ended. Each revision is sent once
 * in a session, in order or ahead of a large entry. A piece is sent once, until both sides see that its content is complete; it is not sent if the consumer's
 * Hello names it. A reconciliation fetches only rows that differ.
 */
import type { Batch, HeldPieces, Piece, ResumeTuple } from '../../../core/wire/generated/mesh.ts';
import type { Connection, Side } from '../sim-network.ts';
import type { Check, World } from '../world.ts';
import { consumerOf, producerOf } from './ends.ts';
import { hashOf, Rows } from './rows.ts';

/** For how many contents a consumer keeps the beginning. */
const heldMax = 32;

/** The state of one direction of a connection. */
interface Sent {
  readonly revisions: Set<number>;
  /** For each content: the number of bytes that were sent, or that the consumer has. Undefined: the consumer had too many contents, and has dropped some. */
  upTo: Map<string, number> | undefined;
  /** The consumer's cursor when it has everything that was sent so far. Undefined: it has to reconcile. */
  cursor?: number;
  /** The head of the first reply. */
  listedAt?: number;
}

export function resumeCost(world: World): Check {
  const name = 'a session sends only differences, and each once';
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
          return noteHeld(of(connection, 'parent'), frame.value);
        case 'welcome':
          if (!frame.value.downResumes) delete of(connection, 'parent').cursor;
          return noteHeld(of(connection, 'child'), { held: frame.value.held, down: frame.value.up });
        case 'resume':
          if (!frame.value.resumes) delete sent.cursor;
          return;
        case 'ack': {
          const other = of(connection, from === 'child' ? 'parent' : 'child');
          if (other.cursor !== undefined) return;
          other.cursor = frame.value.cursor;
          other.upTo = new Map();
          return;
        }
        case 'beat':
          if (sent.cursor !== undefined && frame.value.head <= sent.cursor) sent.upTo = new Map();
          return;
        case 'piece': {
          const wrong = pieceAgain(sent, frame.value);
          if (wrong) world.violation(name, `${title} sends ${wrong}`);
          return;
        }
        case 'batch': {
          if (producerOf(connection, frame.value.feed).host !== connection.host(from)) return;
          const again = revisionAgain(sent, frame.value);
          if (again !== undefined) world.violation(name, `${title} sends revision ${again} again`);
          noteBatch(sent, frame.value);
          return;
        }
        case 'reconcileReply': {
          const consumer = consumerOf(connection, frame.value.feed);
          sent.listedAt ??= frame.value.head;
          for (const { pieces } of frame.value.entries) sent.upTo?.delete(pieces.toString('hex'));
          if (!connection.simProcessOf('child').alive || !connection.simProcessOf('parent').alive) return;
          for (const entry of frame.value.entries) {
            // A change after the lists may have made the row equal to the consumer's row.
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

/** Notes the statement of one side about the feed that it consumes. */
function noteHeld(sent: Sent, { held, down }: { held: readonly HeldPieces[]; down?: ResumeTuple | undefined }): void {
  sent.upTo = new Map(held.map(({ contentHash, bytes }) => [contentHash.toString('hex'), bytes]));
  sent.cursor = down?.cursor ?? 0;
}

/**
 * Notes a batch. When an entry names a content, the consumer has joined its pieces. When a batch reaches the head that it names, the consumer drops all
 * pieces.
 */
function noteBatch(sent: Sent, { ahead, to, head, entries }: Batch): void {
  if (ahead) return;
  sent.cursor = to;
  for (const { pieces } of entries) sent.upTo?.delete(pieces.toString('hex'));
  if (to >= head) sent.upTo = new Map();
}

/** The first revision of the batch that was already sent in this session. Undefined: all revisions are new. */
function revisionAgain({ revisions }: Sent, { entries }: Batch): number | undefined {
  const again = entries.find(({ revision }) => revisions.has(revision))?.revision;
  for (const { revision } of entries) revisions.add(revision);
  return again;
}

function pieceAgain(sent: Sent, { contentHash, offset, data }: Piece): string | undefined {
  const hash = contentHash.toString('hex');
  const before = sent.upTo?.get(hash) ?? 0;
  const end = offset + data.length;
  if (sent.upTo && before === 0 && sent.upTo.size >= heldMax) sent.upTo = undefined;
  sent.upTo?.set(hash, end);
  return offset < before
    ? `bytes ${offset} to ${end} of ${hash.slice(0, 6)}, of which ${before} were there`
    : undefined;
}
