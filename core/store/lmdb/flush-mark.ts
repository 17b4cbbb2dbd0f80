/**
 * The mark records which state of the data file is certainly on the disk. LMDB, when it commits without a sync, may write both of its root records ("meta
 * pages") at any time. So a crash of the machine may damage both root records. The mark keeps a copy of the root records of the last finished flush.
 * README.md has the protocol, data-file.ts uses the mark.
 *
 * The file has two slots, which are written in turn. So if a write is torn, the other slot is still whole. A slot is: u32 length of the body, the body,
 * SHA-256 of the body. The body is: 8 bytes magic, u32 length of the header, the header (JSON), the meta pages.
 */
import { createHash } from 'node:crypto';
import { closeSync, constants, openSync, readSync, write, writeSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { asText, concat, equalBytes, readU32, text, u32 } from '../bytes.ts';

export interface FlushMark {
  /** Number of the mark; a newer mark has a higher number. Odd or even chooses the slot. */
  readonly sequence: number;
  /** The boot of the machine that wrote the mark. Empty: no start may trust the page cache, not even in the same boot. */
  readonly bootId: string;
  /** Length of the data file when the mark was made. The file never becomes shorter. */
  readonly fileBytes: number;
  /** The first two pages of the data file. Empty before the first flush. */
  readonly metaPages: Uint8Array;
}

export const markFileName = 'flushed';
const magic = text('bnynmark');
/** Room for two pages, each at most 32 KiB (the largest size in LMDB), and for the header. */
const slotBytes = 128 * 1024;
const digestBytes = 32;
const writeAt = promisify(write);

export class MarkFile {
  readonly #fd: number;

  /** Throws ENOENT if the file does not exist and `mode` does not create it. */
  constructor(directory: string, mode: 'read' | 'create') {
    const flags = mode === 'create' ? constants.O_RDWR | constants.O_CREAT | constants.O_DSYNC : constants.O_RDONLY;
    this.#fd = openSync(join(directory, markFileName), flags, 0o600);
  }

  /** The newest undamaged mark. */
  read(): FlushMark | undefined {
    const marks = [0, 1].map((slot) => decodeMark(readSlot(this.#fd, slot))).filter((mark) => mark !== undefined);
    return marks.sort((a, b) => b.sequence - a.sequence)[0];
  }

  /** Writes the mark with O_DSYNC: when this method returns, the mark is on the disk. */
  writeNow(mark: FlushMark): void {
    const bytes = encodeMark(mark);
    checkWhole(writeSync(this.#fd, bytes, 0, bytes.length, slotOffset(mark)), bytes);
  }

  /** Writes the mark with O_DSYNC: when the promise resolves, the mark is on the disk. */
  async write(mark: FlushMark): Promise<void> {
    const bytes = encodeMark(mark);
    checkWhole((await writeAt(this.#fd, bytes, 0, bytes.length, slotOffset(mark))).bytesWritten, bytes);
  }

  close(): void {
    closeSync(this.#fd);
  }
}

export function encodeMark(mark: FlushMark): Uint8Array {
  const { metaPages, ...header } = mark;
  const headerBytes = text(JSON.stringify(header));
  const body = concat(magic, u32(headerBytes.length), headerBytes, metaPages);
  return concat(u32(body.length), body, digest(body));
}

/** The mark in the slot. Undefined if the slot was never written, or was written only in part. */
export function decodeMark(slot: Uint8Array): FlushMark | undefined {
  if (slot.length < 4) return undefined;
  const length = readU32(slot);
  const body = slot.subarray(4, 4 + length);
  if (length < magic.length + 4 || slot.length < 4 + length + digestBytes) return undefined;
  if (!equalBytes(digest(body), slot.subarray(4 + length, 4 + length + digestBytes))) return undefined;
  if (!equalBytes(body.subarray(0, magic.length), magic)) return undefined;
  const headerEnd = magic.length + 4 + readU32(body, magic.length);
  const header = JSON.parse(asText(body.subarray(magic.length + 4, headerEnd)));
  return { ...header, metaPages: Buffer.from(body.subarray(headerEnd)) };
}

function readSlot(fd: number, slot: number): Uint8Array {
  const bytes = Buffer.alloc(slotBytes);
  return bytes.subarray(0, readSync(fd, bytes, 0, slotBytes, slot * slotBytes));
}

function slotOffset(mark: FlushMark): number {
  return (mark.sequence & 1) * slotBytes;
}

function checkWhole(written: number, bytes: Uint8Array): void {
  if (written !== bytes.length)
    throw new Error(`only ${written} of ${bytes.length} bytes of the flush mark were written`);
}

function digest(bytes: Uint8Array): Uint8Array {
  return createHash('sha256').update(bytes).digest();
}
