/** Answers as lines on a byte stream between two nodes. A slow reader slows the writer down, so neither end holds much. */
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { durationText } from '../../core/runtime/duration-text.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import { type ByteStream, errorOfReset, type Offer, type StreamHandler } from '../../core/stream/stream.ts';
import { decodeLine, encodeLine, type FleetLine } from './fleet-lines.ts';
import { PartSignal, Wake } from './signals.ts';

/** Bytes that an end keeps ahead of its consumer: enough for 64 KiB in each round trip of a few ms. The window of the stream bounds everything else. */
const aheadBytesMax = 64 * 1024;
/** Limit for one line: twice the largest object, which has at most 3 MiB of JSON, and its header. */
const lineBytesMax = 8 * 1024 * 1024;
const newline = 0x0a;

/** Accepts the offer, and writes the lines as fast as the asking node reads them. */
export async function writeLines(
  offer: Offer,
  at: string,
  linesOf: (signal: AbortSignal) => AsyncIterable<FleetLine>,
): Promise<void> {
  const gone = new PartSignal();
  const wake = new Wake();
  let unwritten = 0;
  const stream = offer.accept({
    onData: (bytes) => stream.consumed(bytes.length),
    onWritten: (bytes) => {
      unwritten -= bytes;
      if (unwritten < aheadBytesMax) wake.wake();
    },
    onEnd() {},
    onClosed: () => gone.end(),
  });
  const write = (line: FleetLine) => {
    const bytes = encodeLine(line);
    unwritten += bytes.length;
    stream.write(bytes);
  };
  try {
    for await (const line of linesOf(gone.signal)) {
      if (gone.signal.aborted) return;
      write(line);
      while (unwritten >= aheadBytesMax && !gone.signal.aborted) await wake.sleep(gone.signal);
    }
  } catch (error) {
    if (!(error instanceof BanyanError)) {
      stream.reset({ code: 'Internal', message: describeError(error), at });
      throw error;
    }
    if (!gone.signal.aborted) write({ type: 'error', code: error.code, message: error.message });
  }
  if (!gone.signal.aborted) stream.end();
}

/**
 * Asks at once, and returns the lines of the answer. Throws the error of a reset, the error of an `error` line, and Timeout if no byte arrives within `quietMs`.
 * The stream is reset when the caller stops reading or the signal is aborted.
 */
export function readLines(
  open: (handler: StreamHandler) => ByteStream,
  { at, clock, quietMs, signal }: { at: string; clock: Clock; quietMs: number; signal: AbortSignal },
): AsyncGenerator<FleetLine> {
  const reader = new LineReader(open, clock, quietMs, at);
  const stop = () => reader.stop('nobody reads the answer any more');
  signal.addEventListener('abort', stop, { once: true });
  return (async function* () {
    try {
      yield* reader.lines(signal);
    } finally {
      signal.removeEventListener('abort', stop);
      stop();
    }
  })();
}

class LineReader implements StreamHandler {
  readonly #stream: ByteStream;
  readonly #clock: Clock;
  readonly #quietMs: number;
  readonly #at: string;
  readonly #wake = new Wake();
  readonly #complete: Buffer[] = [];
  #completeBytes = 0;
  /** The pieces of a line whose end has not arrived. */
  #partial: Buffer[] = [];
  #partialBytes = 0;
  #unconsumed = 0;
  #isEnded = false;
  #error: unknown;
  #timer: Timer | undefined;

  constructor(open: (handler: StreamHandler) => ByteStream, clock: Clock, quietMs: number, at: string) {
    this.#clock = clock;
    this.#quietMs = quietMs;
    this.#at = at;
    this.#restartTimer();
    this.#stream = open(this);
  }

  onData(bytes: Uint8Array): void {
    this.#restartTimer();
    this.#unconsumed += bytes.length;
    let rest = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let end = rest.indexOf(newline); end >= 0; end = rest.indexOf(newline)) {
      const line = Buffer.concat([...this.#partial, rest.subarray(0, end)]);
      this.#complete.push(line);
      this.#completeBytes += line.length;
      this.#partial = [];
      this.#partialBytes = 0;
      rest = rest.subarray(end + 1);
    }
    if (rest.length > 0) this.#partial.push(Buffer.from(rest));
    this.#partialBytes += rest.length;
    if (this.#partialBytes > lineBytesMax)
      return this.#fail(new BanyanError('Protocol', `a line of an answer has more than ${lineBytesMax} bytes`));
    this.#release();
    if (this.#complete.length > 0) this.#wake.wake();
  }

  onWritten(): void {}

  onEnd(): void {
    this.#isEnded = true;
    this.#timer?.stop();
    this.#stream.end();
    this.#wake.wake();
  }

  onClosed(reset?: Parameters<StreamHandler['onClosed']>[0]): void {
    this.#isEnded = true;
    this.#timer?.stop();
    if (reset) this.#error ??= errorOfReset(reset);
    this.#wake.wake();
  }

  stop(message: string): void {
    this.#timer?.stop();
    if (!this.#isEnded) this.#stream.reset({ code: 'Cancelled', message, at: this.#at });
  }

  async *lines(signal: AbortSignal): AsyncGenerator<FleetLine> {
    while (!signal.aborted) {
      const bytes = this.#complete.shift();
      if (bytes) {
        this.#completeBytes -= bytes.length;
        this.#release();
        const line = decodeLine(bytes);
        if (line.type === 'error') throw new BanyanError(line.code, line.message);
        yield line;
      } else if (this.#error) throw this.#error;
      else if (this.#isEnded) return;
      else await this.#wake.sleep(signal);
    }
  }

  /** An unread answer holds at most `aheadBytesMax` and the window of the stream: further bytes are not credited. A partial line is always completed. */
  #release(): void {
    if (this.#completeBytes > aheadBytesMax || this.#unconsumed === 0) return;
    const bytes = this.#unconsumed;
    this.#unconsumed = 0;
    this.#stream.consumed(bytes);
  }

  #restartTimer(): void {
    this.#timer?.stop();
    this.#timer = this.#clock.after(this.#quietMs, () => {
      // A reader that does not read is no sign of a silent node.
      if (this.#complete.length > 0) return this.#restartTimer();
      this.#fail(new BanyanError('Timeout', `no answer within ${durationText(this.#quietMs)}`));
    });
  }

  #fail(error: BanyanError): void {
    this.#error ??= error;
    this.stop(error.message);
    this.#wake.wake();
  }
}
