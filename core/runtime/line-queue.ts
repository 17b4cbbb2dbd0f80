/**
 * Lines on their way to a file that must lose none without saying so. The caller never waits. While the target fails, the lines stay in the queue, and the
 * queue tries again. Beyond a bound, the queue refuses lines.
 */
import type { Clock } from './clock.ts';
import { describeError } from './errors.ts';

export interface LineTarget {
  /** Writes a part of the bytes, and returns the length of this part. */
  append(bytes: Buffer): Promise<number>;
  /** Called between two lines, after a successful write. */
  betweenLines(): Promise<void>;
  close(): Promise<void>;
}

export interface LineQueueOptions {
  readonly target: LineTarget;
  readonly clock: Clock;
  readonly queueBytesMax: number;
}

const retryMs = 1_000;
/** The end of the process waits this long for the last lines. A full disk must not keep a node from ending. */
const lastLinesMs = 2_000;

export class LineQueue implements AsyncDisposable {
  readonly #options: LineQueueOptions;
  #waiting: Buffer[] = [];
  /** Bytes that are not written, those of the present write among them. */
  #bytes = 0;
  #trouble: string | undefined;
  #isWriting = false;
  #isEnded = false;
  #idle: (() => void)[] = [];

  constructor(options: LineQueueOptions) {
    this.#options = options;
  }

  /** False: the queue is full, and the line is lost. The line ends with a line feed. */
  write(line: string): boolean {
    const bytes = Buffer.from(line);
    if (this.#bytes + bytes.length > this.#options.queueBytesMax) return false;
    this.#waiting.push(bytes);
    this.#bytes += bytes.length;
    if (!this.#isWriting) void this.#drain();
    return true;
  }

  /** The error of the last write. Undefined: the last write succeeded. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Whether more than half of the queue is used. A caller that must not lose a line accepts no new work then. */
  get isFilling(): boolean {
    return this.#bytes > this.#options.queueBytesMax / 2;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isWriting) {
      const { clock } = this.#options;
      await new Promise<void>((resolve) => {
        this.#idle.push(resolve);
        clock.after(lastLinesMs, resolve);
      });
    }
    this.#isEnded = true;
    await this.#options.target.close();
  }

  async #drain(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.length > 0 && !this.#isEnded) {
      const bytes = Buffer.concat(this.#waiting);
      this.#waiting = [];
      await this.#writeAll(bytes);
    }
    this.#isWriting = false;
    for (const act of this.#idle.splice(0)) act();
  }

  /** A failed write may have written a part of a line. The next attempt goes on behind this part. */
  async #writeAll(bytes: Buffer): Promise<void> {
    const { target } = this.#options;
    let rest = bytes;
    while (rest.length > 0 && !this.#isEnded) {
      try {
        const written = await target.append(rest);
        rest = rest.subarray(written);
        this.#bytes -= written;
        this.#trouble = undefined;
        if (rest.length === 0) await target.betweenLines();
      } catch (error) {
        this.#trouble = describeError(error);
        await this.#pause();
      }
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => void this.#options.clock.after(retryMs, resolve));
  }
}
