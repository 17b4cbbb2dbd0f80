/**
 * For a full disk: the caller tries the same write again later. A store throws StoreFull before the first write of a turn of the event loop, or not in this
 * turn at all. So a caller that changes nothing before its first write has nothing to undo. A store that has failed for good calls `failed`
 * (lmdb-store.ts).
 */
import { BanyanError } from '../runtime/errors.ts';

/** Time until the next try. Freeing space takes a person much longer than a second. */
export const roomAgainMs = 1_000;

export function lacksRoom(error: unknown): boolean {
  return error instanceof BanyanError && error.code === 'StoreFull';
}

/** Returns false if the disk was full. Other errors pass through. */
export function ifRoom(act: () => void): boolean {
  try {
    act();
    return true;
  } catch (error) {
    if (!lacksRoom(error)) throw error;
    return false;
  }
}
