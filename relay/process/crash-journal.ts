/**
 * Records the piece of work that the process is doing, in a file. The file is written for each piece of work, which takes some microseconds. A write survives
 * the end of the process without a flush. It might not survive the end of the machine, but no piece of work ends the machine.
 */
import { constants, openSync, readFileSync, writeSync } from 'node:fs';
import type { CrashJournal } from '../work/work-guard.ts';

/** The file begins with these bytes: the length of the text. The text follows. */
const headBytes = 4;

export function openCrashJournal(file: string): CrashJournal {
  const descriptor = openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600);
  const before = readFileSync(descriptor);
  return {
    found: before.length > headBytes ? messageOf(before) : undefined,
    write(message) {
      const bytes = Buffer.byteLength(message);
      const record = Buffer.allocUnsafe(headBytes + bytes);
      record.writeUInt32LE(bytes, 0);
      record.write(message, headBytes);
      writeSync(descriptor, record, 0, record.length, 0);
    },
  };
}

function messageOf(content: Buffer): string | undefined {
  const bytes = content.readUInt32LE(0);
  return bytes === 0 ? undefined : content.toString('utf8', headBytes, headBytes + bytes);
}
