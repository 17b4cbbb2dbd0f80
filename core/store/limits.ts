/** Limits of every store, so that a program that works with one store works with all. */
import { BanyanError } from '../runtime/errors.ts';

/** The limit of lmdb with pages of 4 KiB. */
const keyBytesMax = 1_978;

export function checkKey(key: Uint8Array): void {
  if (key.length > 0 && key.length <= keyBytesMax) return;
  const message = `a key of ${key.length} bytes: the store takes keys of 1 to ${keyBytesMax} bytes; shorten the name`;
  throw new BanyanError('TooLarge', message);
}
