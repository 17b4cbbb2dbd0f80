/** Frames to bytes and back, with the limit that both sides announce. */
import { BanyanError, describeError } from '../runtime/errors.ts';
import { Frame } from './generated/mesh.ts';

/** Batches are 64 KB; an object of 1.5 MiB with its attributes has to fit, and a little more for what comes. */
export const maxFrameBytes = 4 * 1024 * 1024;

export function encodeFrame(frame: Frame): Buffer {
  const bytes = Buffer.from(Frame.encode(frame).finish());
  if (bytes.length > maxFrameBytes) throw tooLarge(bytes.length);
  return bytes;
}

/** A frame of a type that this version does not know has no `frame` and is passed over by the session. */
export function decodeFrame(bytes: Uint8Array): Frame {
  if (bytes.length > maxFrameBytes) throw tooLarge(bytes.length);
  try {
    return Frame.decode(bytes);
  } catch (error) {
    throw new BanyanError(
      'Protocol',
      `${bytes.length} bytes that are no frame: ${describeError(error)}`,
      {},
      { cause: error },
    );
  }
}

function tooLarge(length: number): BanyanError {
  return new BanyanError('TooLarge', `a frame of ${length} bytes; the limit is ${maxFrameBytes}`);
}
