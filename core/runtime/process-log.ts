/** What Node says of the process itself, as lines of its log: text of another form between them could be read by no program. */
import { describeError } from './errors.ts';
import type { Logger } from './logger.ts';

/** From now on, instead of Node's own text on the standard error. */
export function logWarnings(log: Logger): void {
  process.removeAllListeners('warning');
  process.on('warning', (warning: Error & { code?: string; detail?: string }) => {
    const { name, code, detail, message, stack } = warning;
    log.warn({ warning: name, code, detail, stack }, message);
  });
}

/** An error that nobody caught. `last` is done first, and the process ends whatever becomes of the log. */
export function endOnUncaught(
  log: { fatal(fields: object, message: string): void },
  last: (error: unknown) => void,
): (error: unknown) => void {
  const fatal = (error: unknown) => {
    last(error);
    try {
      log.fatal({ reason: describeError(error), stack: (error as Error | undefined)?.stack }, 'the node can not go on');
    } finally {
      process.exit(1);
    }
  };
  process.on('uncaughtException', fatal);
  process.on('unhandledRejection', fatal);
  return fatal;
}
