/** The last error in a log of JSON lines: why a process has ended that can't be asked any more. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** As much of the end of the file as is read. A line with an error has at most some kilobytes. */
const tailBytes = 64 * 1024;
const errorLevel = 50;

/** Undefined: the end of the file has no error, or there is no such file. */
export function lastLogError(file: string): string | undefined {
  for (const line of tailOf(file).split('\n').reverse()) {
    const { level, msg, reason } = parsed(line);
    if (typeof level !== 'number' || level < errorLevel || typeof msg !== 'string') continue;
    return typeof reason === 'string' ? `${msg}: ${reason}` : msg;
  }
  return undefined;
}

function tailOf(file: string): string {
  let open: number | undefined;
  try {
    open = openSync(file, 'r');
    const { size } = fstatSync(open);
    const bytes = Buffer.alloc(Math.min(size, tailBytes));
    readSync(open, bytes, 0, bytes.length, size - bytes.length);
    return bytes.toString('utf8');
  } catch {
    return '';
  } finally {
    if (open !== undefined) closeSync(open);
  }
}

/** The first line of the tail may be cut. */
function parsed(line: string): { readonly level?: unknown; readonly msg?: unknown; readonly reason?: unknown } {
  try {
    return JSON.parse(line) as object;
  } catch {
    return {};
  }
}
