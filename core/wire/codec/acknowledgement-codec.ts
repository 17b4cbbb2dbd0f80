/**
 * Encodes and decodes frames that contain only one acknowledgement. The bytes are those of the generated code. Each batch causes one such frame, so the
 * code is made for speed.
 */
import { Buffer } from 'node:buffer';
import { Ack, type Feed } from '../generated/mesh.ts';
import { FieldReader } from './field-reader.ts';
import { bytesLength, isPlain, numberLength, putBytes, putNumber } from './field-writer.ts';

/** Numbers of the fields in proto/mesh.proto with their wire types. */
const tags = { frame: 0x2a, feed: 0x08, cursor: 0x10, epoch: 0x1a } as const;
/** Maximal length of an acknowledgement: a longer one does not fit into a length of one byte. */
const lengthMax = 0x7f;

/** The bytes of a Frame with this acknowledgement. Undefined if a session would never send this acknowledgement: the caller then uses the generated code. */
export function ackFrameBytes({ feed, cursor, epoch }: Ack): Buffer | undefined {
  if (!isPlain(feed) || !isPlain(cursor)) return undefined;
  const length = numberLength(feed) + numberLength(cursor) + bytesLength(epoch.length);
  if (length > lengthMax) return undefined;
  const bytes = Buffer.allocUnsafe(2 + length);
  bytes[0] = tags.frame;
  bytes[1] = length;
  putBytes(bytes, putNumber(bytes, putNumber(bytes, 2, tags.feed, feed), tags.cursor, cursor), tags.epoch, epoch);
  return bytes;
}

const empty = Ack.decode(Buffer.alloc(0));

/** The acknowledgement of a frame that contains nothing else. Undefined if the frame contains something that only the generated code can read or refuse. */
export function ackOfFrame(bytes: Buffer): Ack | undefined {
  if (bytes[0] !== tags.frame) return undefined;
  const fields = new FieldReader(bytes, 1);
  const ack = { ...empty };
  fields.enter();
  while (fields.hasMore) {
    switch (fields.varint()) {
      case tags.feed:
        ack.feed = fields.int32() as Feed;
        break;
      case tags.cursor:
        ack.cursor = fields.varint();
        break;
      case tags.epoch:
        ack.epoch = fields.bytes();
        break;
      default:
        return undefined;
    }
  }
  return fields.isWhole ? ack : undefined;
}
