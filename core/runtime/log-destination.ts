/** The destination of a program's log. If a line can't be written, the line is lost and the process goes on. */
import { fstatSync, statSync } from 'node:fs';
import { type DestinationStream, pino } from 'pino';
import { defaultLogRotation, fileSizeOf, isTooLarge, type LogRotation, putAside } from './log-rotation.ts';

type LogDestination = ReturnType<typeof pino.destination>;

/** Some thousand lines may wait for a full disk or a slow reader. Further lines are lost. */
const waitingBytesMax = 2 ** 20;
const standardOutput = 1;

/** Writes to the file, or to the standard output. */
export function logDestination(file: string | undefined, rotation = defaultLogRotation): DestinationStream {
  // A file takes each line at once. A pipe may have a slow reader, and the process must not wait for it.
  const isFile = file !== undefined || fstatSync(standardOutput).isFile();
  if (file !== undefined && statSync(file, { throwIfNoEntry: false })?.isFile() !== false) {
    return new LogFile(file, rotation);
  }
  return destinationOf(file ?? standardOutput, isFile);
}

function destinationOf(dest: string | number, isFile: boolean): LogDestination {
  const options = { dest, mkdir: true, sync: isFile, maxLength: waitingBytesMax, mode: 0o600 };
  const destination = pino.destination(options);
  // For a full or failing disk. Pino itself ignores only a reader that has gone. It writes the lines that failed again together with the next line.
  destination.on('error', () => {});
  // After a line of level fatal, pino tries until all lines are written: on a full disk for ever. Each line was tried once already, so there is no second
  // try.
  if (isFile) destination.flushSync = () => {};
  return destination;
}

/** A log file that is renamed between two lines when it is too large. The bytes of former processes count too. */
class LogFile implements DestinationStream {
  readonly #file: string;
  readonly #rotation: LogRotation;
  #destination: LogDestination;
  #bytes: number;
  /** True while only a part of the last line is written. */
  #isTorn = false;
  /** True if the old file is renamed, and a new file could not be opened yet. */
  #isAside = false;

  constructor(file: string, rotation: LogRotation) {
    this.#file = file;
    this.#rotation = rotation;
    this.#bytes = fileSizeOf(file);
    this.#destination = this.#opened();
  }

  write(line: string): void {
    if (isTooLarge(this.#bytes, this.#rotation) && !this.#isTorn) this.#rotate();
    this.#bytes += Buffer.byteLength(line);
    this.#destination.write(line);
  }

  #rotate(): void {
    this.#bytes = 0;
    try {
      if (!this.#isAside) putAside(this.#file, this.#rotation);
      this.#isAside = true;
      const full = this.#destination;
      this.#destination = this.#opened();
      this.#isAside = false;
      full.destroy();
    } catch {
      // There is no right to rename, or no free descriptor. The open file takes further lines. The next try is after the same number of bytes.
    }
  }

  #opened(): LogDestination {
    const destination = destinationOf(this.#file, true);
    destination.on('error', () => {
      this.#isTorn = true;
    });
    destination.on('drain', () => {
      this.#isTorn = false;
    });
    return destination;
  }
}
