/**
 * Only the user of a node may read the node's files: objects (Secrets among them), keys and logs. A start removes the rights of others from existing files.
 */
import { chmodSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const othersBits = 0o077;

/** All files that this process makes from now on, also through libraries, are private. */
export function makeOnlyPrivateFiles(): void {
  process.umask(othersBits);
}

/** Does nothing if the path does not exist, or belongs to another user, as for example the root of a Kubernetes volume does. */
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
