/**
 * Writes a file as a whole. A reader sees the old content or the new content, never a part, even if the machine stopped in the middle of the write. If two
 * processes may write the same file at the same time, they need a lock of their own.
 */
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { BanyanError, describeError } from './errors.ts';

export interface WholeFileOptions {
  /** The mode of the new file, without the bits of the process' umask. The mode of an existing file does not matter. */
  readonly mode?: number;
}

/** The mode of folders that the function creates. */
const folderMode = 0o700;

/**
 * Writes the file. When the function returns, the file is on the disk. On a failure, throws Internal with the file and the reason, and leaves no temporary
 * file. The old file is then still in place, or the new file if only the last flush failed.
 */
export function writeWhole(file: string, content: string, { mode = 0o600 }: WholeFileOptions = {}): void {
  try {
    const folder = dirname(resolve(file));
    const made = mkdirSync(folder, { recursive: true, mode: folderMode });
    putInPlace(file, content, mode);
    // The name of a file is on the disk once its folder is flushed. For new folders, the names of the folders must be on the disk too.
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
  // An earlier process with the same process id may have been killed and have left a file with another mode.
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
    // writeFileSync writes everything. writeSync may write only a part and return its length.
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
