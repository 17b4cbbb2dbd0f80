/**
 * Invariant 14: memory and queues stay within named bounds, at every frame and commit. The bounds are for the contents of single frames (frame-bounds.ts),
 * bytes in flight (in-flight.ts), bytes on a line, credit of streams, timers of a process, beats, and the store's records of sessions and feeds.
 */
import type { MemoryStore } from '../../../core/store/memory/memory-store.ts';
import { Feed, type Frame } from '../../../core/wire/generated/mesh.ts';
import type { Connection, Side } from '../sim-network.ts';
import type { Check, World } from '../world.ts';
import { timersMax } from '../world.ts';
import { beyond, bounds as frameBounds } from './frame-bounds.ts';
import { InFlight } from './in-flight.ts';
import { isIn, prefix, tableIdOf } from './rows.ts';

/**
 * The most bytes on a line. For a session: two windows of half a MiB in each direction, one more batch, and control frames. For the call of a bulk stream:
 * its window. See docs/protocol.md.
 */
const underWayMaxBytes = { session: 1.5 * 1024 * 1024, call: 2.5 * 1024 * 1024 };
/** How many bytes one end of a stream allows the other end to have in flight. */
const streamWindowMaxBytes = 2 * 1024 * 1024;
/** The longest time between two beats of one side, by docs/protocol.md. */
const beatGapMaxMs = 20_000;
/** How many starts of its process a producer records. */
const incarnationsMax = 64;

/** The state of one connection, for the side that sends. */
interface Seen {
  readonly inFlight: InFlight;
  beatAtMs?: number;
  /** For a call: the number of bytes that the other side has allowed, and the number of sent bytes. */
  granted: number;
  data: number;
}

export function bounds(world: World): Check {
  const name = 'queues stay within their bounds';
  const all = new WeakMap<Connection, Record<Side, Seen>>();
  const seen = (connection: Connection): Record<Side, Seen> => {
    const known = all.get(connection) ?? { child: nothing(), parent: nothing() };
    all.set(connection, known);
    return known;
  };
  return {
    name,
    sent(connection, from, frame) {
      const { title, simProcess } = connection.host(from);
      const end = connection.end(from);
      const most = connection.session ? underWayMaxBytes.call : underWayMaxBytes.session;
      const wrong =
        beyond(frame) ??
        (end.queuedBytes() > most ? `${end.queuedBytes()} bytes under way on one connection` : undefined) ??
        (simProcess.pending > timersMax ? `${simProcess.pending} timers` : undefined) ??
        (connection.session
          ? callWrong(seen(connection), from, frame)
          : sessionWrong(seen(connection), from, frame, world.nowMs));
      if (wrong) world.violation(name, `${title}: ${wrong}`);
    },
    committed(host, changes) {
      for (const { key, value } of changes) {
        if (value && isIn(key, 'producerState') && key.length === prefix('producerState').length + 4) {
          const { incarnations = [] } = JSON.parse(value.toString()) as { incarnations?: unknown[] };
          if (incarnations.length > incarnationsMax)
            world.violation(name, `${host.title} remembers ${incarnations.length} starts`);
        }
      }
      const pieces = changes.find(({ key, value }) => value && isIn(key, 'pieceRow'));
      if (!pieces) return;
      const held = contentsInPieces(host.rows, pieces.key.subarray(0, 6));
      const most = frameBounds['contents that are held in pieces'];
      if (held > most)
        world.violation(
          name,
          `${host.title} holds pieces of ${held} contents in table ${tableIdOf(pieces.key)}, at most ${most}`,
        );
    },
  };
}

function nothing(): Seen {
  return { inFlight: new InFlight(), granted: 0, data: 0 };
}

function sessionWrong(seen: Record<Side, Seen>, from: Side, whole: Frame, nowMs: number): string | undefined {
  const own = seen[from];
  const other = seen[from === 'child' ? 'parent' : 'child'];
  const { frame } = whole;
  switch (frame?.$case) {
    case 'hello':
      return void other.inFlight.allowed(frame.value.downCreditBytes);
    case 'welcome':
      return void other.inFlight.allowed(frame.value.upCreditBytes);
    case 'ack':
      return void other.inFlight.acknowledged(frame.value.cursor);
    case 'credit':
      return frame.value.feed === Feed.FEED_UNSPECIFIED ? undefined : void other.inFlight.credited(frame.value.bytes);
    case 'beat': {
      const gapMs = nowMs - (own.beatAtMs ?? nowMs);
      own.beatAtMs = nowMs;
      return gapMs > beatGapMaxMs ? `${gapMs} ms between two beats, at most ${beatGapMaxMs}` : undefined;
    }
    default:
      return own.inFlight.sent(whole);
  }
}

/** Returns a message if a call has too much credit, or more data than its credit. The check does not see the credit in the session's own Open, which is at most one window. */
function callWrong(seen: Record<Side, Seen>, from: Side, { frame }: Frame): string | undefined {
  const own = seen[from];
  const other = seen[from === 'child' ? 'parent' : 'child'];
  if (frame?.$case === 'credit') other.granted += frame.value.bytes;
  if (other.granted - other.data > streamWindowMaxBytes)
    return `${other.granted - other.data} bytes allowed on a stream`;
  if (frame?.$case !== 'data') return undefined;
  own.data += frame.value.data.length;
  const most = own.granted + streamWindowMaxBytes;
  return own.data > most ? `${own.data} bytes on a stream, at most ${most} were allowed` : undefined;
}

function contentsInPieces(store: MemoryStore, table: Buffer): number {
  const to = Buffer.from(table);
  to.writeUInt32BE(to.readUInt32BE(2) + 1, 2);
  return store.read(
    (reader) =>
      new Set(Array.from(reader.scan({ from: table, to }), ([key]) => Buffer.from(key.subarray(6, 22)).toString('hex')))
        .size,
  );
}
