/**
 * Writes a file as a whole. A reader sees the old content or the new content and never a part, even after the machine ended in the middle of the write. Two
 * processes that write the same file at once need their own lock.
 */
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { BanyanError, describeError } from './errors.ts';

export interface WholeFileOptions {
  /** The mode of the new file, less the bits of the process' umask. The mode of an older file does not matter. */
  readonly mode?: number;
}

/** The mode of folders that the function creates. */
const folderMode = 0o700;

/**
 * When the function returns, the file is on the disk. Throws Internal with the file and the reason. Then the old file is in place, or the new one if only the
 * last flush failed, and no temporary file is left.
 */
export function writeWhole(file: string, content: string, { mode = 0o600 }: WholeFileOptions = {}): void {
  try {
    const folder = dirname(resolve(file));
    const made = mkdirSync(folder, { recursive: true, mode: folderMode });
    putInPlace(file, content, mode);
    // A name is on the disk when its folder is. For new folders, their own names have to be on the disk too.
    const last = made === undefined ? folder : dirname(made);
    for (let at = folder; at !== last; at = dirname(at)) syncFolder(at);
    syncFolder(last);
  } catch (cause) {
    const remedy = 'see that there is room, and that this process may write there';
    throw new BanyanError('Internal', `${file} was not written (${describeError(cause)}): ${remedy}`, {}, { cause });
  }
}

function putInPlace(file: string, content: string, mode: number): void {
  const temporary = `${file}.${process.pid}.tmp`;
  // A killed process with the same number may have left a file with another mode.
  rmSync(temporary, { force: true });
  try {
    writeNew(temporary, content, mode);
    renameSync(temporary, file);
  } finally {
    rmSync(temporary, { force: true });
  }
}

function writeNew(file: string, content: string, mode: number): void {
  const fd = openSync(file, 'wx', mode);
  try {
    // Not writeSync, which may write only a part and return its length.
    writeFileSync(fd, content);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
