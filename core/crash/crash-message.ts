/**
 * The message of the error that ended the process. The dying process writes the message for its next start. The message goes to a file and not to the
 * store: the store commits only at the end of a turn of the event loop, and a dying process does not reach that end.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

/** The message goes into statuses, as one line for a person. */
const charsMax = 200;

export function writeCrashMessage(file: string, error: unknown): void {
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  try {
    writeFileSync(file, (message.split('\n')[0] ?? '').slice(0, charsMax), { mode: 0o600 });
  } catch {
    // A failing disk may be the reason why the process dies. The log has the stack trace in any case.
  }
}

/** Returns the message and removes the file: the message is about the last end of the process, and about no later end. */
export function takeCrashMessage(file: string): string | undefined {
  if (!existsSync(file)) return undefined;
  const message = readFileSync(file, 'utf8');
  rmSync(file, { force: true });
  return message;
}
