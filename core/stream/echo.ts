/** The kind `echo`: sends all bytes back, as fast as the peer reads them. People use it to test a line. */
import { createHash, type Hash } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { BanyanError } from '../runtime/errors.ts';
import type { Endpoint } from './router.ts';
import type { ByteStream } from './stream.ts';

export const echoKind = 'echo';

/** Limit for the bytes of one echo. A gigabyte takes a minute on a fast line. */
export const echoBytesMax = 2 ** 30;
const chunkBytes = 64 * 1024;

export const echoEndpoint: Endpoint = (offer) => {
  const stream: ByteStream = offer.accept({
    onData: (bytes) => stream.write(bytes),
    onWritten: (bytes) => stream.consumed(bytes),
    onEnd: () => stream.end(),
    onClosed() {},
  });
};

/** Sends this number of bytes, each chunk different, and compares the bytes that the peer sends back. Throws Protocol if they differ. */
export async function echo(stream: Duplex, bytes: number): Promise<void> {
  const [sent, received] = [createHash('sha256'), createHash('sha256')];
  let receivedBytes = 0;
  const back = new Writable({
    write(chunk: Buffer, _encoding, done) {
      received.update(chunk);
      receivedBytes += chunk.length;
      done();
    },
  });
  await Promise.all([pipeline(Readable.from(numbered(bytes, sent)), stream), pipeline(stream, back)]);
  if (receivedBytes !== bytes || sent.digest('hex') !== received.digest('hex')) {
    throw new BanyanError('Protocol', `${bytes} bytes were sent, and ${receivedBytes} other ones came back`);
  }
}

function* numbered(bytes: number, hash: Hash): Generator<Buffer> {
  for (let remaining = bytes, number = 0; remaining > 0; number++) {
    const chunk = Buffer.alloc(Math.min(remaining, chunkBytes), number % 251);
    chunk.writeUIntBE(number, 0, Math.min(6, chunk.length));
    hash.update(chunk);
    remaining -= chunk.length;
    yield chunk;
  }
}
