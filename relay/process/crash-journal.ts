/**
 * What the process works on, in a file of its own: written for each piece of work, some microseconds each. What is written survives the end of the process
 * without a flush, and the end of the machine is no work's fault.
 */
import { constants, openSync, readFileSync, writeSync } from 'node:fs';
import type { CrashJournal } from '../work/work-guard.ts';

/** Where the words begin: before them is how long they are. */
const headBytes = 4;

export function openCrashJournal(file: string): CrashJournal {
  const descriptor = openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600);
  const before = readFileSync(descriptor);
  return {
    found: before.length > headBytes ? messageOf(before) : undefined,
    write(words) {
      const bytes = Buffer.byteLength(words);
      const all = Buffer.allocUnsafe(headBytes + bytes);
      all.writeUInt32LE(bytes, 0);
      all.write(words, headBytes);
      writeSync(descriptor, all, 0, all.length, 0);
    },
  };
}

function messageOf(content: Buffer): string | undefined {
  const bytes = content.readUInt32LE(0);
  return bytes === 0 ? undefined : content.toString('utf8', headBytes, headBytes + bytes);
}
