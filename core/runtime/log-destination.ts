/** Where a program's log goes. A log that can't be written costs lines, and never the process. */
import { fstatSync } from 'node:fs';
import { type DestinationStream, pino } from 'pino';

/** Some thousand lines that wait for room; further ones are lost. */
const waitingBytesMax = 2 ** 20;
const standardOutput = 1;

/** To the file, or to the standard output. */
export function logDestination(file: string | undefined): DestinationStream {
  // A file takes each line as it is logged; a pipe may have a slow reader, whom nobody waits for.
  const isFile = file !== undefined || fstatSync(standardOutput).isFile();
  const dest = file ?? standardOutput;
  const destination = pino.destination({ dest, mkdir: true, sync: isFile, maxLength: waitingBytesMax });
  // A disk that is full, or fails. Pino itself forgives only a reader that has gone; what could not be written is tried again with the next line.
  destination.on('error', () => {});
  // Behind a line of level fatal pino tries until all is written: on a full disk for ever, and each line was tried once already.
  if (isFile) destination.flushSync = () => {};
  return destination;
}
