/**
 * A stream's end as a Duplex of Node, for code that speaks HTTP or pipes files. Back pressure passes through: bytes count as consumed when the reader asks
 * for them, and a write is done when its bytes were sent. A reset destroys the Duplex with an error. Destroying the Duplex resets the stream.
 */
import { Duplex } from 'node:stream';
import { ByteQueue } from './byte-queue.ts';
import { type ByteStream, errorOfReset, type StreamHandler } from './stream.ts';

/** `join` makes the end for a handler: `router.open` or `offer.accept`. `at`: path of this node. */
export function duplexOf(at: string, join: (handler: StreamHandler) => ByteStream): Duplex {
  return new StreamDuplex(at, join);
}

/**
 * Bytes wait in the queue, not in Node's own buffer. Node's buffer, 64 KiB by default, keeps each chunk as it arrived, and 64 Ki chunks of one byte take 12
 * MB. With a mark of one byte, Node's buffer takes one chunk, and the next one when that chunk is read.
 */
const readableHighWaterMark = 1;

class StreamDuplex extends Duplex {
  readonly #at: string;
  readonly #stream: ByteStream;
  /** Bounded by the stream's window. */
  readonly #arrived = new ByteQueue();
  #wanted = false;
  #ended = false;
  #closed = false;
  #unwritten = 0;
  #written: (() => void) | undefined;

  constructor(at: string, join: (handler: StreamHandler) => ByteStream) {
    super({ decodeStrings: true, readableHighWaterMark });
    this.#at = at;
    this.#stream = join({
      onAccepted: () => this.emit('accepted'),
      onData: (bytes) => {
        this.#arrived.put(bytes);
        this.#deliver();
      },
      onWritten: (bytes) => this.#sent(bytes),
      onEnd: () => {
        this.#ended = true;
        this.#deliver();
      },
      onClosed: (reset) => {
        this.#closed = true;
        if (reset) this.destroy(errorOfReset(reset));
      },
    });
  }

  override _read(): void {
    this.#wanted = true;
    this.#deliver();
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#send([chunk], done);
  }

  override _writev(chunks: { chunk: Buffer }[], done: () => void): void {
    this.#send(
      chunks.map(({ chunk }) => chunk),
      done,
    );
  }

  override _final(done: () => void): void {
    this.#stream.end();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.#closed) {
      const message = error?.message ?? 'the other end wants no more';
      this.#stream.reset({ code: 'Cancelled', message, at: this.#at });
    }
    done(error);
  }

  #send(chunks: readonly Buffer[], done: () => void): void {
    this.#unwritten = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    if (this.#unwritten === 0) return done();
    this.#written = done;
    for (const chunk of chunks) this.#stream.write(chunk);
  }

  #sent(bytes: number): void {
    this.#unwritten -= bytes;
    if (this.#unwritten > 0) return;
    const written = this.#written;
    this.#written = undefined;
    written?.();
  }

  #deliver(): void {
    while (this.#wanted) {
      const bytes = this.#arrived.takeSome();
      if (!bytes) break;
      this.#wanted = this.push(bytes);
      this.#stream.consumed(bytes.length);
    }
    if (!this.#ended || !this.#arrived.isEmpty) return;
    this.#ended = false;
    this.push(null);
  }
}
