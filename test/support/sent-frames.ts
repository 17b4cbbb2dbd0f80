/**
 * Valid frames of either side of a session. No encoder of the product has made their bytes. There is one frame of each kind, and for each frame, the frames
 * that have to come before it.
 */
import { write } from '../protocol/bytes.ts';
import { hash, type Row } from '../protocol/rows.ts';
import type { OneSide, Side } from './one-side.ts';
import { rowsOfSide } from './one-side.ts';

export interface SentFrame {
  readonly kind: string;
  /** The number of the message, in proto/mesh.proto. */
  readonly message: string;
  readonly number: number;
  readonly value: Buffer;
  /** The frames that have to come before this frame. */
  readonly before: readonly Buffer[];
}

export const epoch = Buffer.alloc(16, 0xaa);
const incarnation = Buffer.alloc(16, 0xbb);
const large = Buffer.alloc(5_000, 0x20);

export function frameOf(number: number, value: Buffer): Buffer {
  return write([number, [value]]);
}

/** Frames that `to` receives from its peer, in the order in which they may be sent. */
export function framesFor(to: Side, { pair }: OneSide): SentFrame[] {
  // A parent must know the key. For a child, the key looks like a key of a newer version.
  const key = to === 'parent' ? 'labels' : 'x';
  const row: Row = { key, attributes: Buffer.from('{}'), body: Buffer.from('{}'), originRevision: 3 };
  const entry = write([1, hash(row.key)], [2, 1], [3, 3], [5, row.key], [6, row.attributes], [7, row.body]);
  const [own, peers] = to === 'parent' ? [1, 2] : [2, 1];
  const producer = to === 'parent' ? pair.parent.producer : pair.child.producer;
  const ownEpoch = Buffer.from(producer.epoch, 'hex');
  const goesOn = write([1, ownEpoch], [2, Buffer.from(producer.incarnation, 'hex')]);
  /** A tuple of another producer: the receiver has to reconcile. */
  const cannotGoOn = write([1, epoch], [2, incarnation]);
  const helloOf = (tuple: Buffer) =>
    write(
      [1, 1],
      [2, 1],
      [3, 'eu:kid'],
      [4, 'agent'],
      [5, 1_900_000_000],
      [6, incarnation],
      [8, tuple],
      [9, 1 << 20],
      [12, 'replay'],
    );
  const hello = helloOf(goesOn);
  const welcome = (resumes: boolean, tuple = goesOn) =>
    write([1, 1], [2, 1], [3, tuple], [4, 1 << 20], [5, resumes], [6, true], [9, epoch], [10, incarnation]);
  const resume = (resumes: boolean) => write([1, 2], [2, resumes], [3, epoch], [4, incarnation]);
  const beat = write(
    [1, 1],
    [2, 1],
    [3, 1],
    [4, 7],
    [5, true],
    [6, [write([1, 'center.s'], [2, 4])]],
    [7, write([1, 9], [2, 1], [3, epoch])],
  );
  const handshake = (resumes: boolean, tuple = goesOn) =>
    to === 'parent'
      ? [frameOf(1, helloOf(tuple)), frameOf(16, resume(resumes))]
      : [frameOf(2, welcome(resumes, tuple))];
  const live = handshake(true);
  const isReady = frameOf(14, write([1, 1], [2, 1], [5, true]));
  const asked = [...handshake(false), isReady];
  const asksFor = write([1, Buffer.of(1, 2)], [2, Buffer.alloc(8, 3)]);
  const listed = Buffer.concat([hash(row.key), Buffer.alloc(8, 1), Buffer.alloc(6)]);
  const written = to === 'parent' ? rowsOfSide : 1;
  const sentFrame = (
    kind: string,
    message: string,
    number: number,
    value: Buffer,
    before: readonly Buffer[] = live,
  ): SentFrame => ({
    kind,
    message,
    number,
    value,
    before,
  });
  return [
    sentFrame('hello', 'Hello', 1, hello, to === 'parent' ? [] : live),
    sentFrame('welcome', 'Welcome', 2, welcome(true), to === 'parent' ? live : []),
    sentFrame('retry', 'Retry', 3, write([1, 60_000], [2, 'busy'], [3, 'later']), to === 'parent' ? live : []),
    sentFrame('resume', 'Resume', 16, resume(true), to === 'parent' ? live.slice(0, 1) : live),
    sentFrame('batch', 'Batch', 4, write([1, peers], [2, [entry]], [4, 1], [5, 1], [6, epoch], [7, incarnation])),
    sentFrame(
      'piece',
      'Piece',
      18,
      write([1, peers], [2, hash(large)], [4, large.length], [5, large.subarray(0, 4_096)]),
    ),
    sentFrame('ack', 'Ack', 5, write([1, own], [2, written], [3, ownEpoch])),
    sentFrame('credit', 'Credit', 10, write([2, own])),
    sentFrame('beat', 'Beat', 14, beat),
    sentFrame(
      'reconcile_request',
      'ReconcileRequest',
      6,
      write([1, own], [2, 1], [3, Buffer.alloc(8, 2)], [4, [asksFor]], [5, [hash('k1')]]),
      handshake(true, cannotGoOn),
    ),
    sentFrame(
      'reconcile_reply',
      'ReconcileReply',
      7,
      write([1, peers], [2, 1], [3, [write([1, 3], [3, listed])]], [5, 1], [6, epoch], [7, incarnation]),
      asked,
    ),
    sentFrame('open', 'Open', 8, write([1, 2], [2, 'eu'], [3, 'echo'], [4, 1_000], [6, 'jo'], [9, 1_000])),
    sentFrame('data', 'Data', 9, write([1, 2], [2, large])),
    sentFrame('fin', 'Fin', 11, write([1, 2])),
    sentFrame('reset', 'Reset', 12, write([1, 2], [2, 1], [3, 'gone'])),
    sentFrame('census', 'Census', 13, write([1, 2])),
    sentFrame('proof', 'Proof', 17, write([1, Buffer.alloc(32, 1)])),
    sentFrame('goodbye', 'Goodbye', 15, write([1, 'bye'], [2, 2_000])),
  ];
}
