/**
 * The end of a stream as a Duplex of Node.js, for code that uses HTTP or pipes. Back pressure works in both directions: bytes count as consumed when the reader
 * asks for them, and a write is done when its bytes were sent. A reset of the stream destroys the Duplex with an error. If the Duplex is destroyed, the stream
 * is reset.
 */
import { Duplex } from 'node:stream';
import { ByteQueue } from './byte-queue.ts';
import { type ByteStream, errorOfReset, type StreamHandler } from './stream.ts';

/** Makes the Duplex. `join` makes the stream's end for a handler, for example `router.open` or `offer.accept`. `at`: the path of this node. */
export function duplexOf(at: string, join: (handler: StreamHandler) => ByteStream): Duplex {
  return new StreamDuplex(at, join);
}

/**
 * Limit of Node's own buffer: one byte, so that it has at most one chunk. All other bytes wait in `#arrived`. By default, Node's buffer has 64 KiB and keeps
 * each chunk as received; 64 Ki chunks of one byte would need 12 MB.
 */
const readableHighWaterMark = 1;

class StreamDuplex extends Duplex {
  readonly #at: string;
  readonly #stream: ByteStream;
  /** Received bytes that wait for the reader. Bounded by the stream's window. */
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
