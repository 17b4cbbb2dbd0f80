/**
 * The producing side's record of incomplete contents at its consumer: the number of bytes that the consumer has of each, keyed by hash (hex). It saves bytes
 * if a content changes while it is being sent and then changes back: the producer continues after the bytes that the consumer has.
 *
 * A piece that leaves a gap after the consumer's bytes ends the session. So this record must never have more bytes than the consumer has. Both sides drop
 * their pieces when the feed has caught up; the same frames show this to both. But a consumer with too many incomplete contents drops some, and the producer
 * cannot know which. From then on, until the feed has caught up, the record is undefined: unknown.
 */
import { heldMax } from '../feed/pieces.ts';

export type PiecesHeld = ReadonlyMap<string, number> | undefined;

export const noPieces: PiecesHeld = new Map();

/** Records that the first `bytes` bytes of a content were sent. */
export function heldWithPieces(held: PiecesHeld, hash: string, bytes: number): PiecesHeld {
  if (!held || (held.size >= heldMax && !held.has(hash))) return undefined;
  return new Map(held).set(hash, bytes);
}

export function withoutPieces(held: PiecesHeld, hash: string): PiecesHeld {
  if (!held?.has(hash)) return held;
  const rest = new Map(held);
  rest.delete(hash);
  return rest;
}
