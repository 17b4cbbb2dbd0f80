/** Frames to bytes and back, with the limit that both sides announce. */
import { Buffer } from 'node:buffer';
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { BanyanError, describeError } from '../../runtime/errors.ts';
import { asBuffer } from '../../store/bytes.ts';
import { Frame } from '../generated/mesh.ts';
import { ackFrameBytes, ackOfFrame } from './acknowledgement-codec.ts';
import { batchFrameBytes, batchOfFrame } from './batch-codec.ts';
import { checkFrameBounds } from './frame-bounds.ts';

/** Batches are 64 KB; an object of 1.5 MiB with its attributes has to fit, and a little more for what comes. */
export const maxFrameBytes = 4 * 1024 * 1024;

/** One writer for all frames, since its buffer has grown already: 25 us for a batch of 64 KB instead of 45. A larger buffer is given back. */
const writerKeepsBytes = 256 * 1024;

let writer = new BinaryWriter();

/** Throws TooLarge. */
export function encodeFrame(frame: Frame): Buffer {
  const plain = plainBytes(frame);
  if (plain) return checked(plain);
  const own = writer;
  // A writer in which an encoding failed holds half a frame: it comes back only after a whole one.
  writer = new BinaryWriter();
  const { buffer, byteOffset, byteLength } = Frame.encode(frame, own).finish();
  if (byteLength <= writerKeepsBytes) writer = own;
  return checked(Buffer.from(buffer, byteOffset, byteLength));
}

/** Of the frames of which there are most. */
function plainBytes({ frame }: Frame): Buffer | undefined {
  if (frame?.$case === 'batch') return batchFrameBytes(frame.value);
  return frame?.$case === 'ack' ? ackFrameBytes(frame.value) : undefined;
}

function plainFrame(bytes: Buffer): Frame | undefined {
  const ack = ackOfFrame(bytes);
  if (ack) return { frame: { $case: 'ack', value: ack } };
  const batch = batchOfFrame(bytes);
  return batch && { frame: { $case: 'batch', value: batch } };
}

/** A frame of a type that this version does not know has no `frame` and is passed over by the session. Throws TooLarge and Protocol. */
export function decodeFrame(bytes: Uint8Array): Frame {
  if (bytes.length > maxFrameBytes) throw tooLarge(bytes.length);
  try {
    checkFrameBounds(bytes);
    return plainFrame(asBuffer(bytes)) ?? Frame.decode(bytes);
  } catch (error) {
    if (error instanceof BanyanError) throw error;
    throw new BanyanError(
      'Protocol',
      `${bytes.length} bytes that are no frame: ${describeError(error)}`,
      {},
      { cause: error },
    );
  }
}

function checked(bytes: Buffer): Buffer {
  if (bytes.length > maxFrameBytes) throw tooLarge(bytes.length);
  return bytes;
}

function tooLarge(length: number): BanyanError {
  return new BanyanError('TooLarge', `a frame of ${length} bytes; the limit is ${maxFrameBytes}`);
}
