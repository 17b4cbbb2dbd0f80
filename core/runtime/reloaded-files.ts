/** Reads files again when they change, as long as the process runs: certificates are renewed, and authorities are added. */
import type { Clock } from './clock.ts';
import { describeError } from './errors.ts';
import type { Logger } from './logger.ts';

export interface ReloadPorts<T> {
  readonly clock: Clock;
  readonly log: Logger;
  /** Reads all files. May throw. */
  read(): T;
  same(a: T, b: T): boolean;
  /** Throws if the files can't be used. */
  check(found: T): void;
  /** A name for the files in the log. */
  readonly files: string;
}

/** Minimal interval between two reads of the files, however many clients connect: hundreds of connections per second are possible. */
const readEveryMs = 1_000;

/**
 * Returns a function with the present content. It returns the same object as long as no file has changed. Throws the error of the first `read`. If new files
 * can't be used, keeps the old ones, because a half-written renewal is usually complete a moment later.
 */
export function reloaded<T>({ clock, log, read, same, check, files }: ReloadPorts<T>): () => T {
  let readAtMs = clock.monotonicMs();
  let lastReason = '';
  let current = read();
  const reload = () => {
    try {
      const found = read();
      if (same(found, current)) return;
      check(found);
      current = found;
      lastReason = '';
      log.info({}, `renewed ${files} are used from now on`);
    } catch (error) {
      // Logs each reason only once, because every connection may read the files again.
      const reason = describeError(error);
      if (reason === lastReason) return;
      lastReason = reason;
      log.warn({ reason }, `the ${files} cannot be used: the files that were read before stay in use`);
    }
  };
  return () => {
    const nowMs = clock.monotonicMs();
    if (nowMs - readAtMs >= readEveryMs) {
      readAtMs = nowMs;
      reload();
    }
    return current;
  };
}
