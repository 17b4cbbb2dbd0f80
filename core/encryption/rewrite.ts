/**
 * Writes all values of a store into a new data file, in the order of their keys. LMDB itself can copy a store without its free pages, but it copies whole pages,
 * and pages have remains of former values between the present ones. A file that was written value by value has none.
 */
import { BanyanError } from '../runtime/errors.ts';
import type { Logger } from '../runtime/logger.ts';
import { LmdbStore } from '../store/lmdb/lmdb-store.ts';
import { completeReplacement, dropReplacement, rewrittenIn } from '../store/lmdb/replacement.ts';
import type { Store } from '../store/store.ts';

/** One write of the copy ends at the first of these bounds. So the copy holds little in memory, and the process answers signals in between. */
const stepRowsMax = 1_000;
const stepBytesMax = 1024 * 1024;
/** A person who waits for a start sees a line from time to time. */
const reportEveryBytes = 256 * 1024 * 1024;
/** Room for what a store needs to go on writing. */
const spareBytes = 32 * 2 ** 20;
const endOfKeys = Buffer.alloc(2, 0xff);

export interface Rewrite {
  readonly directory: string;
  readonly logger: Logger;
  /** The store as it is, with clear values. Nobody writes to it meanwhile. */
  readonly from: Store;
  /** Wraps the new store: it gets the clear values, and seals them as wanted. */
  seal(to: Store): Store;
  /** Writes the records about the sealing at the end. */
  finish(to: Store): void;
}

/**
 * When the promise resolves, the next opening of the directory has the new data. The caller closes `from`, and opens the directory again. Throws StoreFull if
 * the disk has no room for the copy. After an error, the store is as before.
 */
export async function rewriteStore(work: Rewrite): Promise<void> {
  const { directory, from } = work;
  const { usedBytes, freeBytes, diskFreeBytes } = from.size();
  const neededBytes = usedBytes - freeBytes + spareBytes;
  if (diskFreeBytes < neededBytes) {
    const needed = `writing the store in ${directory} anew needs ${mebibytes(neededBytes)} free, and the disk has ${mebibytes(diskFreeBytes)}`;
    throw new BanyanError('StoreFull', `${needed}; free space and start the node again; nothing was changed`);
  }
  try {
    await makeCopy(work);
  } catch (error) {
    dropReplacement(directory);
    throw error;
  }
  completeReplacement(directory);
}

async function makeCopy({ directory, logger, from, seal, finish }: Rewrite): Promise<void> {
  const inner = LmdbStore.open({ directory: rewrittenIn(directory) }, logger);
  try {
    await copy(from, seal(inner), (bytes) =>
      logger.info({ directory }, `the store is being written anew: ${mebibytes(bytes)} so far`),
    );
    finish(inner);
  } finally {
    await inner[Symbol.asyncDispose]();
  }
}

function mebibytes(bytes: number): string {
  return `${Math.ceil(bytes / 2 ** 20)} MiB`;
}

async function copy(from: Store, to: Store, report: (bytes: number) => void): Promise<void> {
  let after: Uint8Array = Buffer.alloc(0);
  let total = 0;
  let reported = 0;
  for (;;) {
    const rows: [Uint8Array, Uint8Array][] = [];
    let bytes = 0;
    from.read((reader) => {
      for (const [key, value] of reader.scan({ from: after, to: endOfKeys, limit: stepRowsMax })) {
        rows.push([key, value]);
        bytes += key.length + value.length;
        if (bytes >= stepBytesMax) break;
      }
    });
    if (rows.length === 0) return;
    to.write((t) => {
      for (const [key, value] of rows) t.put(key, value);
    });
    // A key with one more byte is the next possible key.
    after = Buffer.concat([rows.at(-1)![0], Buffer.of(0)]);
    total += bytes;
    if (total - reported >= reportEveryBytes) {
      reported = total;
      report(total);
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}
