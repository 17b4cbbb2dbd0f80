/** Encodes and decodes frames, up to the limit that both sides announce. */
import { Buffer } from 'node:buffer';
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { BanyanError, describeError } from '../../runtime/errors.ts';
import { asBuffer } from '../../store/bytes.ts';
import { Frame } from '../generated/mesh.ts';
import { ackFrameBytes, ackOfFrame } from './acknowledgement-codec.ts';
import { batchFrameBytes, batchOfFrame } from './batch-codec.ts';
import { checkFrameBounds } from './frame-bounds.ts';

/** A batch has about 64 KB. But an object of 1.5 MiB with its attributes must fit into a frame, and new fields may need some space. */
export const maxFrameBytes = 4 * 1024 * 1024;

/**
 * All frames share one writer, because its buffer has already grown: 25 us for a batch of 64 KB instead of 45 us. If the buffer is larger than this limit,
 * the writer is dropped.
 */
const writerKeepsBytes = 256 * 1024;

let writer = new BinaryWriter();

/** Throws TooLarge if the frame is over the limit. */
export function encodeFrame(frame: Frame): Buffer {
  const plain = plainBytes(frame);
  if (plain) return checked(plain);
  const current = writer;
  // After an error, the writer contains a part of a frame. So a writer is used again only after a whole frame.
  writer = new BinaryWriter();
  const { buffer, byteOffset, byteLength } = Frame.encode(frame, current).finish();
  if (byteLength <= writerKeepsBytes) writer = current;
  return checked(Buffer.from(buffer, byteOffset, byteLength));
}

/** The bytes of the most frequent frames, without the generated code. Undefined for all other frames. */
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

/**
 * Decodes a frame. If this version does not know the type of the frame, the result has no `frame`, and the session ignores it. Throws TooLarge and
 * Protocol.
 */
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
