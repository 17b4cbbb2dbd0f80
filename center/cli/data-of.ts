/** The data directory of a local tree. */
import { dirname, join, resolve } from 'node:path';
import { DataDirectory } from '../supervisor/data-directory.ts';

/** Without `data`, the directory is beside the topology `file`, or in the current folder. */
export function dataOf(options: { file?: string | undefined; data?: string | undefined }): DataDirectory {
  if (options.data !== undefined) return new DataDirectory(resolve(options.data));
  const beside = options.file === undefined ? process.cwd() : dirname(resolve(options.file));
  return new DataDirectory(join(beside, '.banyan'));
}
