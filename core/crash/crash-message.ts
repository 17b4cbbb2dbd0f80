/** What a process writes as it dies of an error that nobody caught, for its next start. A file, since the store commits only at the end of a turn, and a dying process has no such end. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

/** It goes into statuses: one line for a person. */
const charsMax = 200;

export function writeCrashMessage(file: string, error: unknown): void {
  const words = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  try {
    writeFileSync(file, (words.split('\n')[0] ?? '').slice(0, charsMax), { mode: 0o600 });
  } catch {
    // The disk may be why it dies; the trace is in the log all the same.
  }
}

/** Once: they are about the last end and no other. */
export function takeCrashMessage(file: string): string | undefined {
  if (!existsSync(file)) return undefined;
  const words = readFileSync(file, 'utf8');
  rmSync(file, { force: true });
  return words;
}
