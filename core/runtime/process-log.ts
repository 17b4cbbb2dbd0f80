/** Writes Node's warnings and uncaught errors as lines of the log. Without this, Node would print plain text, and programs that read the log expect JSON. */
import type { Logger } from './logger.ts';
import { describeUnexpected } from './unexpected-error.ts';

/** Logs each warning of Node. This replaces the text that Node prints to the standard error. */
export function logWarnings(log: Logger): void {
  process.removeAllListeners('warning');
  process.on('warning', (warning: Error & { code?: string; detail?: string }) => {
    const { name, code, detail, message, stack } = warning;
    log.warn({ warning: name, code, detail, stack }, message);
  });
}

/** Handles an uncaught error: calls `last`, writes the log line and ends the process. Ends the process also if the log line cannot be written. */
export function endOnUncaught(
  log: { fatal(fields: object, message: string): void },
  last: (error: unknown) => void,
): (error: unknown) => void {
  const fatal = (error: unknown) => {
    last(error);
    try {
      log.fatal({ ...describeUnexpected(error) }, 'the node can not go on');
    } finally {
      process.exit(1);
    }
  };
  process.on('uncaughtException', fatal);
  process.on('unhandledRejection', fatal);
  return fatal;
}
