/** Limits of every store. A program that works with one store then works with all stores. */
import { BanyanError } from '../runtime/errors.ts';

/** The limit of lmdb when its pages have 4 KiB. */
const keyBytesMax = 1_978;

export function checkKey(key: Uint8Array): void {
  if (key.length > 0 && key.length <= keyBytesMax) return;
  const message = `a key of ${key.length} bytes: the store takes keys of 1 to ${keyBytesMax} bytes; shorten the name`;
  throw new BanyanError('TooLarge', message);
}
