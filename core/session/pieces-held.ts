/**
 * What a producing side knows of the contents of which its consumer has only a part: by hash in hex, their bytes. A content that changes on its way
 * and changes back, as when a placement comes and goes, is not sent from its beginning again.
 *
 * To begin behind what the consumer has would end the session, so this never says more than is there: both drop all when the feed has caught up,
 * which both see by the same frames; and a consumer that has too many drops some, of which nobody else knows. From then on nothing is known until
 * the feed has caught up: undefined.
 */
import { heldMax } from '../feed/pieces.ts';

export type PiecesHeld = ReadonlyMap<string, number> | undefined;

export const noPieces: PiecesHeld = new Map();

/** So many bytes were sent of a content. */
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
