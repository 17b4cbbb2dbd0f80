/** Bounds the size of a log. The current file has the plain name. Older files have the suffixes `.1` (the newest of the older files), `.2` and so on. */
import { renameSync, rmSync, statSync } from 'node:fs';
import * as z from 'zod';

/** The defaults of the kubelet for a container (containerLogMaxSize, containerLogMaxFiles). They hold the log of several quiet days, and at most 50 MiB. */
export const logRotationSchema = z.strictObject({
  fileMiB: z
    .number()
    .positive()
    .max(1024)
    .default(10)
    .describe('Maximal size of a log file. A larger file is renamed, and a new one begins.'),
  files: z
    .number()
    .int()
    .min(1)
    .max(100)
    .default(5)
    .describe('Number of files that are kept of one log, including the present one.'),
});

export type LogRotation = z.infer<typeof logRotationSchema>;

export const defaultLogRotation: LogRotation = logRotationSchema.parse({});

export function isTooLarge(bytes: number, { fileMiB }: LogRotation): boolean {
  return bytes > fileMiB * 2 ** 20;
}

export function fileSizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** Renames the older files, then renames the file to the suffix `.1`. Afterwards no file has the plain name. */
export function putAside(file: string, { files }: LogRotation): void {
  const older = (number: number) => (number === 0 ? file : `${file}.${number}`);
  rmSync(older(files - 1), { force: true });
  for (let number = files - 2; number >= 0; number--) {
    if (statSync(older(number), { throwIfNoEntry: false })) renameSync(older(number), older(number + 1));
  }
}
