/**
 * What is to be done where a disk has no room: the same again a little later. A store says StoreFull before the first write of a turn of the event loop or not in it
 * at all, so that whoever changes nothing before that write has nothing to take back. One that has failed for good tells it otherwise (`failed` of lmdb-store.ts).
 */
import { BanyanError } from '../runtime/errors.ts';

/** Somebody frees space, or nobody does: a second more is nothing to either. */
export const roomAgainMs = 1_000;

export function lacksRoom(error: unknown): boolean {
  return error instanceof BanyanError && error.code === 'StoreFull';
}

/** False: there was no room for it. What is thrown otherwise passes through. */
export function ifRoom(act: () => void): boolean {
  try {
    act();
    return true;
  } catch (error) {
    if (!lacksRoom(error)) throw error;
    return false;
  }
}
