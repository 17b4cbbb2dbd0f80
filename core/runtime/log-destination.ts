/** Where a program's log goes. A log that can't be written costs lines, and never the process. */
import { fstatSync, statSync } from 'node:fs';
import { type DestinationStream, pino } from 'pino';
import { defaultLogRotation, fileSizeOf, isTooLarge, type LogRotation, putAside } from './log-rotation.ts';

type LogDestination = ReturnType<typeof pino.destination>;

/** Some thousand lines that wait for room; further ones are lost. */
const waitingBytesMax = 2 ** 20;
const standardOutput = 1;

/** To the file, or to the standard output. */
export function logDestination(file: string | undefined, rotation = defaultLogRotation): DestinationStream {
  // A file takes each line as it is logged; a pipe may have a slow reader, whom nobody waits for.
  const isFile = file !== undefined || fstatSync(standardOutput).isFile();
  if (file !== undefined && statSync(file, { throwIfNoEntry: false })?.isFile() !== false) {
    return new LogFile(file, rotation);
  }
  return destinationOf(file ?? standardOutput, isFile);
}

function destinationOf(dest: string | number, isFile: boolean): LogDestination {
  const options = { dest, mkdir: true, sync: isFile, maxLength: waitingBytesMax, mode: 0o600 };
  const destination = pino.destination(options);
  // A disk that is full, or fails. Pino itself forgives only a reader that has gone; what could not be written is tried again with the next line.
  destination.on('error', () => {});
  // Behind a line of level fatal pino tries until all is written: on a full disk for ever, and each line was tried once already.
  if (isFile) destination.flushSync = () => {};
  return destination;
}

/** A file that is put aside when it has become too large, between two lines. What a former process wrote to it counts. */
class LogFile implements DestinationStream {
  readonly #file: string;
  readonly #rotation: LogRotation;
  #destination: LogDestination;
  #bytes: number;
  /** Not all of the last line is written. */
  #isTorn = false;
  /** The file is put aside, and a new one could not be opened yet. */
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
      // No right to rename, or no descriptor left: the file that is open takes lines on. It is tried again when as much was written.
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
