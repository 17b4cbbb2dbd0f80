/**
 * Retries of writes while the disk is full. Either a store throws StoreFull before the first write of a turn of the event loop, or it does not throw
 * StoreFull in this turn. So a caller that changes nothing before its first write has nothing to undo, and can try the same write again. If a store has
 * failed for good, it calls `failed` (lmdb-store.ts).
 */
import { BanyanError } from '../runtime/errors.ts';
import type { Store } from './store.ts';

/** Time until the next try. A person needs much longer than a second to free space. */
export const roomAgainMs = 1_000;

/** With less free space than this, the disk counts as nearly full: four times the free space that a store needs for any write (lmdb/lmdb-store.ts). */
const diskLowBytes = 64 * 2 ** 20;

export function isDiskLow(store: Pick<Store, 'size'>): boolean {
  return store.size().diskFreeBytes < diskLowBytes;
}

export function lacksRoom(error: unknown): boolean {
  return error instanceof BanyanError && error.code === 'StoreFull';
}

/** Runs the function. Returns false if the disk was full. Other errors pass through. */
export function ifRoom(act: () => void): boolean {
  try {
    act();
    return true;
  } catch (error) {
    if (!lacksRoom(error)) throw error;
    return false;
  }
}
