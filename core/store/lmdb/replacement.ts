/**
 * Replaces the data of a store by a copy that was written anew. The folder `rewritten` of the store has the copy. A file `complete` in it says that the copy
 * is whole and on the disk. Until then, the store's own files count, and an unfinished copy is removed. From then on the copy counts: each start carries the
 * replacement to its end before anything else. So a crash at any point leaves one whole store.
 *
 * The former data file is overwritten with zeros. Otherwise its bytes would stay in free blocks of the file system.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../../runtime/logger.ts';
import { dataFileName, syncDirectory } from './data-file.ts';
import { corruptError } from './disk-errors.ts';
import { markFileName } from './flush-mark.ts';

const completeName = 'complete';
const zeros = Buffer.alloc(1024 * 1024);

/** The folder for the copy. */
export function rewrittenIn(directory: string): string {
  return join(directory, 'rewritten');
}

/** Declares the copy to be whole. The store of the copy must be closed. From here on, nobody may write to the former files. */
export function completeReplacement(directory: string): void {
  const copy = rewrittenIn(directory);
  syncDirectory(copy);
  const fd = openSync(join(copy, completeName), 'w', 0o600);
  try {
    writeFileSync(fd, 'this copy replaces the store in the folder above\n');
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  syncDirectory(copy);
  syncDirectory(directory);
}

/** Removes a copy that could not be made. Otherwise it would fill the disk until the next start. */
export function dropReplacement(directory: string): void {
  rmSync(rewrittenIn(directory), { recursive: true, force: true });
}

/** Carries a begun replacement to its end, or removes an unfinished copy. The caller has the lock of the directory. */
export function finishReplacement(directory: string, readOnly: boolean, logger: Logger): void {
  const copy = rewrittenIn(directory);
  if (!existsSync(copy)) return;
  const isComplete = existsSync(join(copy, completeName));
  if (readOnly) {
    if (isComplete) throw corruptError(directory, 'read the store', 'a copy replaces it; start its node once');
    return;
  }
  if (isComplete) {
    if (existsSync(join(copy, dataFileName))) {
      overwrite(join(directory, dataFileName));
      move(copy, directory, dataFileName);
    }
    if (existsSync(join(copy, markFileName))) move(copy, directory, markFileName);
    rmSync(join(directory, `${dataFileName}-lock`), { force: true });
    logger.info({ directory }, 'the store was replaced by its new copy');
  }
  rmSync(copy, { recursive: true, force: true });
  syncDirectory(directory);
}

function move(from: string, to: string, name: string): void {
  renameSync(join(from, name), join(to, name));
  syncDirectory(to);
}

function overwrite(file: string): void {
  if (!existsSync(file)) return;
  const fd = openSync(file, 'r+');
  try {
    const { size } = fstatSync(fd);
    for (let at = 0; at < size; at += zeros.length) writeSync(fd, zeros, 0, Math.min(zeros.length, size - at), at);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
