/** Encodes and decodes frames, within the limit that both sides announce. */
import { Buffer } from 'node:buffer';
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { BanyanError, describeError } from '../../runtime/errors.ts';
import { asBuffer } from '../../store/bytes.ts';
import { Frame } from '../generated/mesh.ts';
import { ackFrameBytes, ackOfFrame } from './acknowledgement-codec.ts';
import { batchFrameBytes, batchOfFrame } from './batch-codec.ts';
import { checkFrameBounds } from './frame-bounds.ts';

/** Batches have 64 KB. An object of 1.5 MiB with its attributes has to fit, with some reserve for future fields. */
export const maxFrameBytes = 4 * 1024 * 1024;

/** All frames share one writer, since its buffer is large already: 25 us for a batch of 64 KB instead of 45. A larger buffer than this is not kept. */
const writerKeepsBytes = 256 * 1024;

let writer = new BinaryWriter();

/** Throws TooLarge. */
export function encodeFrame(frame: Frame): Buffer {
  const plain = plainBytes(frame);
  if (plain) return checked(plain);
  const current = writer;
  // A writer in which an encoding failed contains half a frame, so a writer is used again only after a whole frame.
  writer = new BinaryWriter();
  const { buffer, byteOffset, byteLength } = Frame.encode(frame, current).finish();
  if (byteLength <= writerKeepsBytes) writer = current;
  return checked(Buffer.from(buffer, byteOffset, byteLength));
}

/** The bytes of the most frequent frames. */
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

/** A frame of a type that this version does not know has no `frame`, and the session ignores it. Throws TooLarge and Protocol. */
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
