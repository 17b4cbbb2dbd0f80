/** What a node keeps is its own user's alone: objects, Secrets among them, keys, and logs. Files that an older version has made for everybody are taken back. */
import { chmodSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const othersBits = 0o077;

/** For a process that keeps such things: whatever it, or a library of it, makes from now on. */
export function makeOnlyPrivateFiles(): void {
  process.umask(othersBits);
}

/** What is not there is left, and so is what belongs to another user, such as the root of a volume in Kubernetes: its owner says who may read it. */
export function makePrivate(path: string): void {
  try {
    const { mode } = lstatSync(path);
    if ((mode & othersBits) !== 0) chmodSync(path, mode & ~othersBits & 0o7777);
  } catch (error) {
    if (!['ENOENT', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

/** The directory, and all below it. Symbolic links are left, and not followed. */
export function makeAllPrivate(directory: string): void {
  makePrivate(directory);
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) makeAllPrivate(path);
    else if (entry.isFile()) makePrivate(path);
  }
}
