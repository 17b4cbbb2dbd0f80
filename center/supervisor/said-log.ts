/**
 * What a node's process prints beside its log, as JSON lines in that log: the last words of V8 when memory ends, or of a library. The node writes its log itself, and has
 * no part in this, so that it goes on when this process is gone.
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

/** Longer text without an end of line becomes several lines of the log. */
const lineCharsMax = 64 * 1024;
/** Bytes that one process may print: a program that prints without end must not fill the disk. */
const saidBytesMax = 2 ** 20;
/** The level of warnings in pino. */
const level = 40;

export interface SaidBy {
  readonly node: string;
  readonly pid: number | undefined;
  readonly clock: Clock;
}

export class SaidLog {
  readonly #file: string;
  readonly #by: SaidBy;
  #bytes = 0;

  /** Before the process writes to the log, which puts the file aside itself from then on: two at once would do so twice. */
  constructor(
    { file, rotation = defaultLogRotation }: { file: string; rotation?: LogRotation | undefined },
    by: SaidBy,
  ) {
    this.#file = file;
    this.#by = by;
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    if (isTooLarge(fileSizeOf(file), rotation)) putAside(file, rotation);
  }

  take(output: Readable): void {
    let begun = '';
    output.setEncoding('utf8');
    output.on('data', (text: string) => {
      const lines = (begun + text).split('\n');
      begun = lines.pop()!;
      if (begun.length > lineCharsMax) {
        lines.push(begun);
        begun = '';
      }
      this.#append(lines);
    });
    output.once('end', () => this.#append([begun]));
  }

  #append(lines: readonly string[]): void {
    const text = lines
      .filter((line) => line.trim() !== '')
      .map((line) => logLine(line, this.#by))
      .join('');
    if (text === '' || this.#bytes > saidBytesMax) return;
    this.#bytes += text.length;
    try {
      appendFileSync(this.#file, text, { mode: 0o600 });
    } catch {
      // A log that can't be written costs lines, and not the tree.
    }
  }
}

/** A line that is one of a log stays as it is. */
export function logLine(line: string, { node, pid, clock }: SaidBy): string {
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
