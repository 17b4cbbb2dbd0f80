/**
 * Makes the files of a node readable only for the node's user: objects (including Secrets), keys and logs. A start also removes the rights of others from
 * files that already exist.
 */
import { chmodSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const othersBits = 0o077;

/** From this call on, every file that this process creates is private, also files that a library creates. */
export function makeOnlyPrivateFiles(): void {
  process.umask(othersBits);
}

/** Makes one path private. Does nothing if the path does not exist or belongs to another user: for example, the root of a Kubernetes volume. */
export function makePrivate(path: string): void {
  try {
    const { mode } = lstatSync(path);
    if ((mode & othersBits) !== 0) chmodSync(path, mode & ~othersBits & 0o7777);
  } catch (error) {
    if (!['ENOENT', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

/** Makes the directory and everything below it private. Ignores symbolic links. */
export function makeAllPrivate(directory: string): void {
  makePrivate(directory);
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) makeAllPrivate(path);
    else if (entry.isFile()) makePrivate(path);
  }
}
