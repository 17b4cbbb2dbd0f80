/** Only the user of a node may read the node's files: objects (Secrets among them), keys and logs. At start the node takes the rights of others from existing files. */
import { chmodSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const othersBits = 0o077;

/** All files that this process makes from now on, also through libraries, are private. */
export function makeOnlyPrivateFiles(): void {
  process.umask(othersBits);
}

/** Does nothing where the path does not exist, or belongs to another user: the root of a Kubernetes volume, for example. */
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
