/** The destination of a program's log. If a line can't be written, the line is lost and the process continues. */
import { fstatSync, statSync } from 'node:fs';
import { type DestinationStream, pino } from 'pino';
import { defaultLogRotation, fileSizeOf, isTooLarge, type LogRotation, putAside } from './log-rotation.ts';

type LogDestination = ReturnType<typeof pino.destination>;

/** Room for a few thousand lines that wait for a full disk or a slow reader. Further lines are lost. */
const waitingBytesMax = 2 ** 20;
const standardOutput = 1;

/** Writes to the file, or to the standard output. */
export function logDestination(file: string | undefined, rotation = defaultLogRotation): DestinationStream {
  // A file accepts each line at once. A pipe may have a slow reader, and the process must not wait for that reader.
  const isFile = file !== undefined || fstatSync(standardOutput).isFile();
  if (file !== undefined && statSync(file, { throwIfNoEntry: false })?.isFile() !== false) {
    return new LogFile(file, rotation);
  }
  return destinationOf(file ?? standardOutput, isFile);
}

function destinationOf(dest: string | number, isFile: boolean): LogDestination {
  const options = { dest, mkdir: true, sync: isFile, maxLength: waitingBytesMax, mode: 0o600 };
  const destination = pino.destination(options);
  // Ignores the errors of a full or failing disk. Pino itself ignores only the error of a reader that has closed its end. Pino writes the failed lines
  // again together with the next line.
  destination.on('error', () => {});
  // After a line of level fatal, pino would try until all lines are written: on a full disk, for ever. Pino has already tried to write each line once, so
  // this code does not try again.
  if (isFile) destination.flushSync = () => {};
  return destination;
}

/** A log file. When the file is too large, this class renames it between two lines. The size includes the bytes that earlier processes wrote. */
class LogFile implements DestinationStream {
  readonly #file: string;
  readonly #rotation: LogRotation;
  #destination: LogDestination;
  #bytes: number;
  /** True while only a part of the last line is written. */
  #isTorn = false;
  /** True after this class has renamed the old file, while it could not open a new one. */
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
      // The process has no right to rename, or no free descriptor. It writes further lines to the open file, and tries again after the same number of
      // bytes.
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
