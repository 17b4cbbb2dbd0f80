/**
 * Turns errors of LMDB and of the file system into errors of the store. The message says whether the store is full or can't be trusted, and names the
 * directory and the remedy.
 */
import { BanyanError, describeError } from '../../runtime/errors.ts';

/** lmdb reports error numbers, Node reports names: ENOSPC, EFBIG and EDQUOT. The last number is LMDB's MDB_MAP_FULL. */
const fullCodes: readonly unknown[] = [28, 'ENOSPC', 27, 'EFBIG', 122, 'EDQUOT', -30792];
/** EPERM, EACCES, EROFS. */
const forbiddenCodes: readonly unknown[] = [1, 'EPERM', 13, 'EACCES', 30, 'EROFS'];

/** `doing` completes the sentence "cannot ...": for example `open the store` or `write to the store`. */
export function storeError(directory: string, doing: string, cause: unknown): BanyanError {
  if (cause instanceof BanyanError) return cause;
  const code = codeOf(cause);
  if (fullCodes.includes(code)) return fullError(directory, doing, cause);
  if (forbiddenCodes.includes(code)) {
    const remedy = 'mount it writable and give the user of this process the right to write';
    return new BanyanError(
      'StoreCorrupt',
      `cannot ${doing} in ${directory}: ${describeError(cause)}; ${remedy}`,
      {},
      { cause },
    );
  }
  return corruptError(directory, doing, describeError(cause), cause);
}

export function fullError(directory: string, doing: string, cause?: unknown): BanyanError {
  const why = cause === undefined ? 'no space is left' : describeError(cause);
  const remedy = 'free space on its file system or enlarge it; the node then writes again without a restart';
  return new BanyanError('StoreFull', `cannot ${doing} in ${directory}: ${why}; ${remedy}`, {}, { cause });
}

/** The error after a failed commit or flush. Nobody knows whether the writes since the last flush are on the disk. */
export function lostError(directory: string, doing: string, cause: unknown, full = false): BanyanError {
  const code = full || fullCodes.includes(codeOf(cause)) ? 'StoreFull' : 'StoreCorrupt';
  const remedy = 'nothing more is written until the node is restarted; free space or check the disk first';
  const message = `cannot ${doing} the store in ${directory}: ${describeError(cause)}; ${remedy}`;
  return new BanyanError(code, message, {}, { cause });
}

export function isStoreFault(error: unknown): error is BanyanError {
  return error instanceof BanyanError && (error.code === 'StoreFull' || error.code === 'StoreCorrupt');
}

export function corruptError(directory: string, doing: string, why: string, cause?: unknown): BanyanError {
  const remedy = 'check the disk, then restore a backup, or remove the directory and let the node start empty';
  return new BanyanError('StoreCorrupt', `cannot ${doing} in ${directory}: ${why}; ${remedy}`, {}, { cause });
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}
