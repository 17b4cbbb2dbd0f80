/**
 * Checks how many parts a frame has, before any of it is decoded. An empty part takes two bytes on the line and half a kilobyte in memory, so a frame of 4
 * MiB of empty parts would take a gigabyte. Uses the field numbers of proto/mesh.proto. Fields that are not named here have no parts, or are skipped.
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
  /** Several numbers lie one after the other in one field; each has ten bytes at most. */
  readonly packed?: true;
}
type FieldBounds = ReadonlyMap<number, Bound>;

/** In a smaller frame, all parts that fit take some megabytes, which need no check. */
const looksFromBytes = 16 * 1024;
/** Certificates of a chain, as core/wire/proof accepts them. */
const certificatesMax = 5;
const varintBytesMax = 10;

const hello = frame('hello', [8, single('down')], [14, { name: 'held', most: heldMax }]);
const welcome = frame('welcome', [3, single('up')], [12, { name: 'held', most: heldMax }]);
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
  [14, frame('beat', [6, { name: 'watermarks', most: watermarksMax }], [7, single('digest')])],
  [15, frame('goodbye')],
  [16, frame('resume')],
  [17, frame('proof', [2, sealed(hello)], [3, sealed(welcome)])],
  [18, frame('piece')],
);

/** Throws Protocol. */
export function checkFrameBounds(bytes: Uint8Array): void {
  if (bytes.length >= looksFromBytes) check(new BinaryReader(bytes), bytes.length, frames, 'the frame');
}

function check(reader: BinaryReader, end: number, fieldBounds: FieldBounds, within: string): void {
  const counts = new Map<number, number>();
  while (reader.pos < end) {
    const [field, type] = reader.tag();
    const bound = fieldBounds.get(field);
    if (!bound || (type !== WireType.LengthDelimited && !bound.packed)) {
      reader.skip(type, field);
      continue;
    }
    const length = type === WireType.LengthDelimited ? reader.uint32() : 0;
    const added = bound.packed && type === WireType.LengthDelimited ? Math.ceil(length / varintBytesMax) : 1;
    const count = (counts.get(field) ?? 0) + added;
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
  // A part that is decoded by itself, as a sealed body is, ends where its length says. So the bytes after that end must be checked too.
  if (reader.pos > end) throw new BanyanError('Protocol', `${within} ends within one of its fields`);
}

function bounds(...fields: [number, Bound][]): FieldBounds {
  return new Map(fields);
}

function single(name: string): Bound {
  return { name, most: 1 };
}

/**
 * The body of a sealed message is decoded only when its proof holds, but its parts are counted together with the frame: a proven peer is not trusted in this
 * respect either.
 */
function sealed(message: Bound): Bound {
  const { name } = message;
  return {
    ...single(name),
    inside: bounds([1, { ...message, name: `sealed ${name}` }], [3, { name: 'certificates', most: certificatesMax }]),
  };
}

function frame(name: string, ...fields: [number, Bound][]): Bound {
  return { ...single(name), inside: bounds(...fields) };
}
