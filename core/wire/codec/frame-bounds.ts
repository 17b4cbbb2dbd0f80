/**
 * How many parts a frame may have, looked at before any of it is decoded: an empty part takes two bytes on the line and half a kilobyte in memory, so
 * that a frame of 4 MiB of them would be a gigabyte. By field numbers of proto/mesh.proto; what is not named here has no parts, or is skipped.
 */

import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { heldMax } from '../../feed/pieces.ts';
import { wantedPerRequest } from '../../feed/reconcile.ts';
import { prefixesPerRequest } from '../../feed/reconcile-prefixes.ts';
import { BanyanError } from '../../runtime/errors.ts';
import { batchEntries, groupsMax, streamsMax, watermarksMax } from './part-limits.ts';

interface Bound {
  readonly name: string;
  readonly most: number;
  readonly inside?: FieldBounds;
  /** Numbers one behind the other in one field: each has ten bytes at most. */
  readonly packed?: true;
}
type FieldBounds = ReadonlyMap<number, Bound>;

/** Below this, as many parts as fit are some megabytes: not worth a look. */
const looksFromBytes = 16 * 1024;
/** Of a chain, as core/wire/proof takes it. */
const certificatesMax = 5;
const varintBytesMax = 10;

const hello = frame('hello', [8, one('down')], [14, { name: 'held', most: heldMax }]);
const welcome = frame('welcome', [3, one('up')], [12, { name: 'held', most: heldMax }]);
const frames = bounds(
  [1, hello],
  [2, welcome],
  [3, frame('retry')],
  [4, frame('batch', [2, { name: 'entries', most: batchEntries }])],
  [5, frame('ack')],
  [
    6,
    frame(
      'reconcile_request',
      [4, { name: 'prefixes', most: prefixesPerRequest }],
      [5, { name: 'wanted', most: wantedPerRequest }],
    ),
  ],
  [
    7,
    frame(
      'reconcile_reply',
      [3, { name: 'answers', most: prefixesPerRequest }],
      [4, { name: 'entries', most: wantedPerRequest }],
    ),
  ],
  [8, frame('open', [7, { name: 'groups', most: groupsMax }])],
  [9, frame('data')],
  [10, frame('credit')],
  [11, frame('fin')],
  [12, frame('reset')],
  [13, frame('census', [1, { name: 'streams', most: streamsMax, packed: true }])],
  [14, frame('beat', [6, { name: 'watermarks', most: watermarksMax }], [7, one('digest')])],
  [15, frame('goodbye')],
  [16, frame('resume')],
  [17, frame('proof', [2, sealed(hello)], [3, sealed(welcome)])],
  [18, frame('piece')],
);

/** Throws Protocol. */
export function checkFrameBounds(bytes: Uint8Array): void {
  if (bytes.length >= looksFromBytes) check(new BinaryReader(bytes), bytes.length, frames, 'the frame');
}

function check(reader: BinaryReader, end: number, known: FieldBounds, within: string): void {
  const counts = new Map<number, number>();
  while (reader.pos < end) {
    const [field, type] = reader.tag();
    const bound = known.get(field);
    if (!bound || (type !== WireType.LengthDelimited && !bound.packed)) {
      reader.skip(type, field);
      continue;
    }
    const length = type === WireType.LengthDelimited ? reader.uint32() : 0;
    const more = bound.packed && type === WireType.LengthDelimited ? Math.ceil(length / varintBytesMax) : 1;
    const count = (counts.get(field) ?? 0) + more;
    if (count > bound.most)
      throw new BanyanError(
        'Protocol',
        `${within} has more than ${bound.most} ${bound.name}: at most that many are taken`,
      );
    counts.set(field, count);
    if (type !== WireType.LengthDelimited) reader.skip(type, field);
    else if (bound.inside) check(reader, reader.pos + length, bound.inside, bound.name);
    else reader.pos += length;
  }
  // What is decoded apart, as a sealed body is, ends where it says: what follows has to be looked at from there.
  if (reader.pos > end) throw new BanyanError('Protocol', `${within} ends within one of its fields`);
}

function bounds(...fields: [number, Bound][]): FieldBounds {
  return new Map(fields);
}

function one(name: string): Bound {
  return { name, most: 1 };
}

/** Its body is decoded when its proof holds, and is looked at with the frame: nobody who is proven is to be believed in this either. */
function sealed(message: Bound): Bound {
  const { name } = message;
  return {
    ...one(name),
    inside: bounds([1, { ...message, name: `sealed ${name}` }], [3, { name: 'certificates', most: certificatesMax }]),
  };
}

function frame(name: string, ...fields: [number, Bound][]): Bound {
  return { ...one(name), inside: bounds(...fields) };
}
