/**
 * Counts the parts of a frame before any part is decoded. An empty part has two bytes in the frame, but needs half a kilobyte in memory. So a frame of 4
 * MiB of empty parts would need a gigabyte. Uses the field numbers of proto/mesh.proto. Fields that are not in these lists either have no parts or are
 * skipped.
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
  /** The field contains several numbers, one after the other. Each has at most ten bytes. */
  readonly packed?: true;
}
type FieldBounds = ReadonlyMap<number, Bound>;

/** Smaller frames need no check: all parts that fit into such a frame need only a few megabytes. */
const looksFromBytes = 16 * 1024;
/** Maximal number of certificates of a chain, as core/wire/proof accepts it. */
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

/** Throws Protocol if the frame has too many parts. */
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
      throw new BanyanError('Protocol', `${within} has more than ${bound.most} ${bound.name}: no more are accepted`);
    counts.set(field, count);
    if (type !== WireType.LengthDelimited) reader.skip(type, field);
    else if (bound.inside) check(reader, reader.pos + length, bound.inside, bound.name);
    else reader.pos += length;
  }
  // A field must not reach beyond the end of its message. The bytes after this end belong to the outer message: its decoder may read them as parts, but
  // this check would have skipped them.
  if (reader.pos > end) throw new BanyanError('Protocol', `${within} ends within one of its fields`);
}

function bounds(...fields: [number, Bound][]): FieldBounds {
  return new Map(fields);
}

function single(name: string): Bound {
  return { name, most: 1 };
}

/**
 * A sealed message. The body is decoded only after its proof was checked, but its parts are counted together with the parts of the frame: a proven peer too
 * may send too many parts.
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
