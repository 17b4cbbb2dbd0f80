/**
 * A producing side's record of contents that its consumer has only in part: their bytes, by hash in hex. So a content that changes on its way and changes
 * back, as when a placement comes and goes, is not sent from its beginning again.
 *
 * A piece that begins behind the consumer's bytes would end the session. So this record never claims more than the consumer has. Both sides drop everything
 * when the feed has caught up, which both see by the same frames. But a consumer with too many pieces drops some, and the producer cannot know which. From
 * then on nothing is known until the feed has caught up: undefined.
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
