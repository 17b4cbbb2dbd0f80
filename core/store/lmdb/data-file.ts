/** The data file below LMDB while that runs: what is in it is captured, and made durable together with a mark that says so. */
import {
  closeSync,
  constants,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  statfsSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type FlushMark, MarkFile } from './flush-mark.ts';

/** Makes what was written to a file durable; replaced in tests of disks that fail. */
export type DataSync = (fd: number) => Promise<void>;
export const systemDataSync: DataSync = promisify(fdatasync);

export const dataFileName = 'data.mdb';
const metaPageCount = 2;

/** The data file while LMDB has it open. */
export class DataFile {
  readonly #directory: string;
  readonly #fd: number;
  readonly #mark: MarkFile;
  readonly #metaBytes: number;
  readonly #bootId: string;
  readonly #dataSync: DataSync;
  #sequence: number;
  /** The newest that is known to be on the disk. */
  #durable: FlushMark | undefined;

  constructor(directory: string, pageBytes: number, bootId: string, dataSync: DataSync) {
    this.#directory = directory;
    this.#fd = openSync(join(directory, dataFileName), constants.O_RDWR);
    this.#mark = new MarkFile(directory, 'create');
    this.#metaBytes = pageBytes * metaPageCount;
    this.#bootId = bootId;
    this.#dataSync = dataSync;
    this.#durable = this.#mark.read();
    this.#sequence = this.#durable?.sequence ?? 0;
  }

  /** The state as it is now, to be flushed. Whoever captures keeps a read transaction on it until a later one is flushed. */
  capture(): FlushMark {
    const metaPages = readMetaPages(this.#fd, this.#metaBytes);
    return { sequence: ++this.#sequence, bootId: this.#bootId, fileBytes: fstatSync(this.#fd).size, metaPages };
  }

  async flush(mark: FlushMark): Promise<void> {
    await this.#dataSync(this.#fd);
    await this.#mark.write(mark);
    this.#durable = mark;
  }

  flushNow(): void {
    const mark = this.capture();
    fdatasyncSync(this.#fd);
    this.#mark.writeNow(mark);
    this.#durable = mark;
    syncDirectory(this.#directory);
  }

  /**
   * After a flush that failed the kernel may hold pages for clean that the disk never got (https://lwn.net/Articles/752063/): the next
   * start goes back to the last mark, also within the same boot. That is written anew in the place of the one that failed: were it written over itself, a
   * power cut would leave one of which the pages have been used again.
   */
  distrust(): void {
    if (this.#durable) this.#mark.writeNow({ ...this.#durable, sequence: this.#durable.sequence + 1, bootId: '' });
  }

  sizeBytes(): number {
    return fstatSync(this.#fd).size;
  }

  freeDiskBytes(): number {
    return freeDiskBytes(this.#directory);
  }

  close(): void {
    closeSync(this.#fd);
    this.#mark.close();
  }
}

/** Makes a copied data file one that opens everywhere. */
export function sealCopy(directory: string, pageBytes: number): void {
  const copy = new DataFile(directory, pageBytes, '', systemDataSync);
  try {
    copy.flushNow();
  } finally {
    copy.close();
  }
}

export function readMetaPages(fd: number, length: number): Uint8Array {
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, readSync(fd, bytes, 0, length, 0));
}

export function syncDirectory(directory: string): void {
  const fd = openSync(directory, constants.O_RDONLY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

export function freeDiskBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}
