/**
 * Runs before LMDB opens its files. After a crash of the machine, this code restores the files to the last finished flush. It also refuses damaged stores,
 * because lmdb ends the process if it can't open a file.
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
  /** Writes nothing, and refuses a store if opening it would need a write. */
  readonly readOnly: boolean;
  readonly logger: Logger;
}

/** Free space that the files of a new, empty store need. */
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
      else
        logger.warn({ directory }, 'the store has no flush mark, so it is probably a copy: the node uses it as it is');
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
  // Creates the data file with private rights; LMDB would make it readable for every user. LMDB fills an empty file in the same way. Also opens the lock
  // file: if that fails, the process gets an error here, but would crash inside LMDB.
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

/** Writes the first mark while no data file exists. If a crash leaves an incomplete data file after this, no caller has relied on its data yet. */
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

/**
 * True if the file is shorter than both root pages. Either the process was killed while LMDB made the file, or the disk was full. Such a file has no data.
 */
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
  const { size } = fstatSync(fd);
  if (size < mark.fileBytes) {
    throw corruptError(directory, 'open the store', `${dataFileName} has ${size} bytes of at least ${mark.fileBytes}`);
  }
  if (isOfThisBoot(mark, host) || equalBytes(readMetaPages(fd, mark.metaPages.length), mark.metaPages)) return;
  if (readOnly) throw needsWriter(directory);
  writeSync(fd, mark.metaPages, 0, mark.metaPages.length, 0);
  fsyncSync(fd);
  logger.warn({ directory, sequence: mark.sequence }, 'the machine crashed: the store is back at its last flush');
}

/** True if the machine was not restarted since the mark. Then the page cache contains every write of every process, so no write is lost or torn. */
function isOfThisBoot(mark: FlushMark, host: Host): boolean {
  return mark.bootId !== '' && mark.bootId === host.bootId;
}

/**
 * Checks the fixed part of both root records: `struct MDB_meta` after `struct MDB_page` in lmdb's mdb.c. Each page has magic 0xBEEFC0DE and version 2 at
 * byte 24, and the page size at byte 48, in the byte order of the machine. All machines for which lmdb has a build are little-endian.
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

/** The page size. Undefined if the file does not begin with a root record. */
function pageBytesOf(fd: number): number | undefined {
  const first = Buffer.from(readMetaPages(fd, pageBytesEnd));
  const pageBytes = first.length === pageBytesEnd ? first.readUInt32LE(pageBytesEnd - 4) : 0;
  const isPageSize = pageBytes >= 512 && pageBytes <= 65_536 && Number.isInteger(Math.log2(pageBytes));
  return isPageSize ? pageBytes : undefined;
}

const metaStart = 0x2_beef_c0den;
/** Offset directly after the field with the page size. */
const pageBytesEnd = 52;

function needsWriter(directory: string) {
  return corruptError(
    directory,
    'read the store',
    'its machine or process ended while it was written; start its node once',
  );
}
