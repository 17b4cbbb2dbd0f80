/** The data file while LMDB uses it. Captures the state of the file, and makes this state durable together with a mark (flush-mark.ts). */
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

/** Makes all writes to a file durable. Tests that simulate failing disks replace this function. */
export type DataSync = (fd: number) => Promise<void>;
export const systemDataSync: DataSync = promisify(fdatasync);

export const dataFileName = 'data.mdb';
const metaPageCount = 2;

export class DataFile {
  readonly #directory: string;
  readonly #fd: number;
  readonly #mark: MarkFile;
  readonly #metaBytes: number;
  readonly #bootId: string;
  readonly #dataSync: DataSync;
  #sequence: number;
  /** The newest mark that is certainly on the disk. */
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

  /** A mark of the present state, for a flush. The caller must keep a read transaction on this state until a newer state is flushed. */
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
   * Makes the next start go back to the last durable mark, even within the same boot. After a failed flush, the kernel may treat pages as clean although
   * the disk never received them (https://lwn.net/Articles/752063/). The method writes the last durable mark once more, into the slot of the failed mark,
   * and so keeps the original. If it overwrote the original and the power failed, the only remaining mark could be one whose pages LMDB has reused.
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

/** Writes a mark for a copied data file, so that the copy opens on every machine. */
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
