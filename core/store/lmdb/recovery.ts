/**
 * Before LMDB opens its files: after a crash of the machine they are brought back to the last finished flush, and what is not a
 * whole store is refused here, since lmdb ends the process when it can't open a file.
 */
import { closeSync, constants, existsSync, fstatSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../../runtime/logger.ts';
import { makePrivate } from '../../runtime/private-files.ts';
import { equalBytes } from '../bytes.ts';
import { dataFileName, freeDiskBytes, readMetaPages, syncDirectory } from './data-file.ts';
import { corruptError, fullError } from './disk-errors.ts';
import { type FlushMark, MarkFile, markFileName } from './flush-mark.ts';
import type { Host } from './host.ts';

export interface Opening {
  readonly directory: string;
  readonly host: Host;
  /** Nothing is written, and what would need it is refused. */
  readonly readOnly: boolean;
  readonly logger: Logger;
}

/** For the files of an empty store. */
const newStoreBytes = 1024 * 1024;

export function prepareDataFile(opening: Opening): void {
  const { directory, readOnly, logger } = opening;
  const file = join(directory, dataFileName);
  const mark = readMark(directory);
  if (mark?.fileBytes === 0 && existsSync(file)) discardUnflushed(opening, file, mark);
  if (existsSync(file)) {
    const fd = openSync(file, readOnly ? constants.O_RDONLY : constants.O_RDWR);
    try {
      if (mark) returnToMark(opening, fd, mark);
      else logger.warn({ directory }, 'the store has no flush mark, it is taken as it is: a copy from elsewhere');
      checkMetaPages(directory, fd);
    } finally {
      closeSync(fd);
    }
  } else {
    if (mark && mark.fileBytes > 0) throw corruptError(directory, 'open the store', `${dataFileName} is missing`);
    if (readOnly) throw corruptError(directory, 'open the store', 'there is none');
    writeFirstMark(opening);
  }
  if (readOnly) return;
  // LMDB fills an empty data file as it fills one that it makes, which everybody could read. Its file of locks: opening it fails here with an error, there with a crash.
  for (const path of [file, `${file}-lock`]) closeSync(openSync(path, 'a', 0o600));
  for (const path of [file, `${file}-lock`, join(directory, markFileName)]) makePrivate(path);
}

function readMark(directory: string): FlushMark | undefined {
  if (!existsSync(join(directory, markFileName))) return undefined;
  const file = new MarkFile(directory, 'read');
  try {
    return file.read();
  } finally {
    file.close();
  }
}

/** Before there is a data file: whatever a crash leaves of one was never announced. */
function writeFirstMark({ directory, host }: Opening): void {
  if (freeDiskBytes(directory) < newStoreBytes) throw fullError(directory, 'make a store');
  const file = new MarkFile(directory, 'create');
  try {
    const sequence = (file.read()?.sequence ?? 0) + 1;
    file.writeNow({ sequence, bootId: host.bootId, fileBytes: 0, metaPages: Buffer.alloc(0) });
  } finally {
    file.close();
  }
  syncDirectory(directory);
}

function discardUnflushed({ directory, host, readOnly, logger }: Opening, file: string, mark: FlushMark): void {
  if (isOfThisBoot(mark, host) && !isUnfinished(file)) return;
  if (readOnly) throw needsWriter(directory);
  logger.warn({ directory }, 'the machine or the process ended before the first flush of this store: it starts empty');
  rmSync(file);
}

/** Less than both root pages: whoever had LMDB make the file was killed meanwhile, or found no room. Nothing can have been written to it. */
function isUnfinished(file: string): boolean {
  const fd = openSync(file, constants.O_RDONLY);
  try {
    const { size } = fstatSync(fd);
    return size < pageBytesEnd || size < 2 * (pageBytesOf(fd) ?? 0);
  } finally {
    closeSync(fd);
  }
}

function returnToMark({ directory, host, readOnly, logger }: Opening, fd: number, mark: FlushMark): void {
  const found = fstatSync(fd).size;
  if (found < mark.fileBytes) {
    throw corruptError(directory, 'open the store', `${dataFileName} has ${found} bytes of at least ${mark.fileBytes}`);
  }
  if (isOfThisBoot(mark, host) || equalBytes(readMetaPages(fd, mark.metaPages.length), mark.metaPages)) return;
  if (readOnly) throw needsWriter(directory);
  writeSync(fd, mark.metaPages, 0, mark.metaPages.length, 0);
  fsyncSync(fd);
  logger.warn({ directory, sequence: mark.sequence }, 'the machine crashed: the store is back at its last flush');
}

/** Then the page cache has every write that any process made: nothing is lost, and nothing torn. */
function isOfThisBoot(mark: FlushMark, host: Host): boolean {
  return mark.bootId !== '' && mark.bootId === host.bootId;
}

/**
 * The fixed part of both root records, by `struct MDB_meta` behind `struct MDB_page` in lmdb's mdb.c: magic 0xBEEFC0DE and version 2
 * at byte 24 of each page; the size of a page at byte 48. In the byte order of the machine: little-endian everywhere that lmdb has a build for.
 */
function checkMetaPages(directory: string, fd: number): void {
  const pageBytes = pageBytesOf(fd);
  if (pageBytes !== undefined) {
    const pages = Buffer.from(readMetaPages(fd, 2 * pageBytes));
    if (pages.length === 2 * pageBytes && [0, pageBytes].every((at) => pages.readBigUInt64LE(at + 24) === metaStart))
      return;
  }
  throw corruptError(directory, 'open the store', `${dataFileName} is no data file of LMDB`);
}

/** Undefined: there is none. */
function pageBytesOf(fd: number): number | undefined {
  const first = Buffer.from(readMetaPages(fd, pageBytesEnd));
  const pageBytes = first.length === pageBytesEnd ? first.readUInt32LE(pageBytesEnd - 4) : 0;
  const isPageSize = pageBytes >= 512 && pageBytes <= 65_536 && Number.isInteger(Math.log2(pageBytes));
  return isPageSize ? pageBytes : undefined;
}

const metaStart = 0x2_beef_c0den;
/** Where the size of a page ends. */
const pageBytesEnd = 52;

function needsWriter(directory: string) {
  return corruptError(
    directory,
    'read the store',
    'its machine or process ended while it was written; start its node once',
  );
}
