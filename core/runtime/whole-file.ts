/**
 * A file that is written whole: whoever reads it, also after the machine ended in the middle of it, sees the old one or the new one and never a part. Two
 * processes that write the same file at once have a lock of their own.
 */
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { BanyanError, describeError } from './errors.ts';

export interface WholeFileOptions {
  /** Of the file, whatever an older one had; less what the process' umask takes away. */
  readonly mode?: number;
}

/** Of folders that have to be made for it. */
const folderMode = 0o700;

/** On the disk when it returns. Throws Internal with the file and the reason; then the old one is there, or the new one if only the last flush failed, and nothing beside it. */
export function writeWhole(file: string, content: string, { mode = 0o600 }: WholeFileOptions = {}): void {
  try {
    const folder = dirname(resolve(file));
    const made = mkdirSync(folder, { recursive: true, mode: folderMode });
    putInPlace(file, content, mode);
    // A name is on the disk when the folder that has it is; of new folders, theirs too.
    const last = made === undefined ? folder : dirname(made);
    for (let at = folder; at !== last; at = dirname(at)) syncFolder(at);
    syncFolder(last);
  } catch (cause) {
    const remedy = 'see that there is room, and that this process may write there';
    throw new BanyanError('Internal', `${file} was not written (${describeError(cause)}): ${remedy}`, {}, { cause });
  }
}

function putInPlace(file: string, content: string, mode: number): void {
  const beside = `${file}.${process.pid}.tmp`;
  // Left by a process of the same number that was killed: it may have another mode.
  rmSync(beside, { force: true });
  try {
    writeNew(beside, content, mode);
    renameSync(beside, file);
  } finally {
    rmSync(beside, { force: true });
  }
}

function writeNew(file: string, content: string, mode: number): void {
  const fd = openSync(file, 'wx', mode);
  try {
    // Not writeSync, which may write a part and say so.
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
