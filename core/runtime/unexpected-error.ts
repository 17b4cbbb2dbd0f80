/**
 * The text of an error that the program did not expect. Logs, statuses and crash notes have this text, and may not have a body or a value of a Secret. The
 * engine quotes data in many of its messages, such as `"hunter2" is not valid JSON` or `Cannot use 'in' operator to search for 'a' in hunter2`.
 */
import { describeError } from './errors.ts';

/** Messages of the engine that quote source text or the name of a field, and no value. */
const safeMessages = [
  /^Cannot (read|set) propert(y|ies) of (undefined|null)\b/,
  /^[\w$.?()[\] ]+ is not (a function|iterable|defined|a constructor)$/,
  /^Maximum call stack size exceeded$/,
  /^Invalid (array|string|typed array) length/,
];

export interface UnexpectedError {
  readonly reason: string;
  /** Where the error was thrown. Undefined: the thrown value has no stack. */
  readonly stack?: string;
}

export function describeUnexpected(error: unknown): UnexpectedError {
  const reason = reasonOf(error);
  const stack = error instanceof Error ? error.stack : undefined;
  if (stack === undefined) return { reason };
  // The first lines are the message.
  const frames = stack.split('\n').filter((line) => /^ {4}at /.test(line));
  return { reason, stack: [reason, ...frames].join('\n') };
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return `a value was thrown that is no error (${typeof error})`;
  if (!isOfEngine(error)) return describeError(error);
  const { name, message } = error;
  if (safeMessages.some((safe) => safe.test(message))) return `${name}: ${message}`;
  const { code } = error as NodeJS.ErrnoException;
  return `${name}${code === undefined ? '' : ` [${code}]`}: the message may quote data and is left out`;
}

/** Whether the engine or Node made the message. Errors of the system, such as ENOSPC, are of the class Error, and name files only. */
function isOfEngine(error: Error): boolean {
  const isOfClass = [SyntaxError, TypeError, RangeError, ReferenceError, URIError, EvalError].some(
    (type) => error instanceof type,
  );
  return isOfClass || String((error as NodeJS.ErrnoException).code ?? '').startsWith('ERR_');
}
