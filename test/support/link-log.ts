/** Frames to send over links. */
import type { Frame } from '../../core/wire/generated/mesh.ts';

export function beat(sequence: number): Frame {
  const value = { sequence, head: 0, purgeRevision: 0, rootWatermark: 0, rootAgeMs: 0, ready: true };
  return { frame: { $case: 'beat', value } };
}

export function data(bytes: Buffer): Frame {
  return { frame: { $case: 'data', value: { stream: 1, data: bytes } } };
}

/** A data frame of that many encoded bytes, more than 2 MiB: of these, a tag and a length of 4 bytes each for the frame and the data, and the stream are 12. */
export function dataOfFrameBytes(length: number): Frame {
  return data(Buffer.alloc(length - 12));
}
