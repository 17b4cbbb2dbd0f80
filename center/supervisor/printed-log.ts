/**
 * Some output of a node's process does not come from its logger: for example the last message of V8 when memory ends, or the output of a library. This class
 * adds this output to the node's log, as JSON lines. The node itself writes the rest of its log, so the log continues when this supervisor has ended.
 */
import { appendFileSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import type { Clock } from '../../core/runtime/clock.ts';
import {
  defaultLogRotation,
  fileSizeOf,
  isTooLarge,
  type LogRotation,
  putAside,
} from '../../core/runtime/log-rotation.ts';

/** Longer text without a line end is split into several lines of the log. */
const lineCharsMax = 64 * 1024;
/** The text of one process that is kept. A program that prints without end must not fill the disk. */
const printedBytesMax = 2 ** 20;
/** The level of warnings in pino. */
const level = 40;

export interface PrintedBy {
  readonly node: string;
  readonly pid: number | undefined;
  readonly clock: Clock;
}

export class PrintedLog {
  readonly #file: string;
  readonly #by: PrintedBy;
  #bytes = 0;

  /** Made before the process begins. After that, the process itself rotates the file. If both rotated the file, they would move it aside twice. */
  constructor(
    { file, rotation = defaultLogRotation }: { file: string; rotation?: LogRotation | undefined },
    by: PrintedBy,
  ) {
    this.#file = file;
    this.#by = by;
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    if (isTooLarge(fileSizeOf(file), rotation)) putAside(file, rotation);
  }

  take(output: Readable): void {
    let unfinished = '';
    output.setEncoding('utf8');
    output.on('data', (text: string) => {
      const lines = (unfinished + text).split('\n');
      unfinished = lines.pop()!;
      if (unfinished.length > lineCharsMax) {
        lines.push(unfinished);
        unfinished = '';
      }
      this.#append(lines);
    });
    output.once('end', () => this.#append([unfinished]));
  }

  #append(lines: readonly string[]): void {
    const text = lines
      .filter((line) => line.trim() !== '')
      .map((line) => logLine(line, this.#by))
      .join('');
    if (text === '' || this.#bytes > printedBytesMax) return;
    this.#bytes += text.length;
    try {
      appendFileSync(this.#file, text, { mode: 0o600 });
    } catch {
      // If the log can't be written, lines are lost, and the tree continues.
    }
  }
}

/** Makes a line of the log from the text. A text that already is a line of a log stays as it is. */
export function logLine(line: string, { node, pid, clock }: PrintedBy): string {
  if (isJsonObject(line)) return `${line}\n`;
  return `${JSON.stringify({ level, time: clock.wallMs(), node, pid, printed: true, msg: line })}\n`;
}

function isJsonObject(line: string): boolean {
  if (!line.startsWith('{')) return false;
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
