/** Where the lines of a queue go: a file that only its owner may read, with older files beside, or the standard output. */
import { rmSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { Clock } from './clock.ts';
import type { LineTarget } from './line-queue.ts';
import { fileSizeOf, isTooLarge, type LogRotation, putAside } from './log-rotation.ts';

export interface RotatedFileOptions {
  readonly file: string;
  readonly rotation: LogRotation;
  /** Older files are removed after this time. Absent: only their number is bounded. */
  readonly ageMsMax?: number | undefined;
  readonly clock: Clock;
}

export class RotatedFile implements LineTarget {
  readonly #options: RotatedFileOptions;
  #handle: FileHandle | undefined;
  #bytes = 0;

  constructor(options: RotatedFileOptions) {
    this.#options = options;
  }

  async append(bytes: Buffer): Promise<number> {
    const handle = await this.#opened();
    const { bytesWritten } = await handle.write(bytes);
    this.#bytes += bytesWritten;
    return bytesWritten;
  }

  async betweenLines(): Promise<void> {
    const { file, rotation } = this.#options;
    if (!isTooLarge(this.#bytes, rotation)) return;
    await this.close();
    putAside(file, rotation);
    this.#removeOld();
  }

  async close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }

  async #opened(): Promise<FileHandle> {
    if (this.#handle) return this.#handle;
    const { file } = this.#options;
    const handle = await open(file, 'a', 0o600);
    // The mode above counts only for a new file.
    await handle.chmod(0o600);
    this.#bytes = fileSizeOf(file);
    this.#handle = handle;
    this.#removeOld();
    return handle;
  }

  /** The time of an older file is the time of its last line. */
  #removeOld(): void {
    const { file, rotation, ageMsMax, clock } = this.#options;
    if (ageMsMax === undefined) return;
    for (let number = 1; number < rotation.files; number++) {
      const older = `${file}.${number}`;
      const atMs = statSync(older, { throwIfNoEntry: false })?.mtimeMs;
      if (atMs !== undefined && atMs < clock.wallMs() - ageMsMax) rmSync(older, { force: true });
    }
  }
}

/** The standard output. The reader of a pipe decides how fast the lines go. */
export function outputTarget(output: NodeJS.WritableStream): LineTarget {
  return {
    append: (bytes) =>
      new Promise((resolve, reject) => {
        output.write(bytes, (error) => (error ? reject(error) : resolve(bytes.length)));
      }),
    betweenLines: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}
