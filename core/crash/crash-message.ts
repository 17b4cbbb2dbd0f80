/**
 * Keeps the message of the error that ended the process. The dying process writes the message for its next start. It writes a file and not the store: the
 * store commits only at the end of a turn of the event loop, and a dying process does not reach that end.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describeUnexpected } from '../runtime/unexpected-error.ts';

/** Statuses show the message as one line to people. */
const charsMax = 200;

export function writeCrashMessage(file: string, error: unknown): void {
  const message = describeUnexpected(error).reason;
  try {
    writeFileSync(file, (message.split('\n')[0] ?? '').slice(0, charsMax), { mode: 0o600 });
  } catch {
    // A failing disk may be the reason for the end of the process. The log has the stack trace in any case.
  }
}

/** Returns the message and removes the file, so that a start after another end does not report this message again. */
export function takeCrashMessage(file: string): string | undefined {
  if (!existsSync(file)) return undefined;
  const message = readFileSync(file, 'utf8');
  rmSync(file, { force: true });
  return message;
}
