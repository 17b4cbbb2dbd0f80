/** Receives the body of a request within a time limit. */
import { constants, type Http2ServerRequest, type ServerHttp2Stream } from 'node:http2';
import type { Clock } from '../../runtime/clock.ts';
import { BanyanError } from '../../runtime/errors.ts';
import { readBody } from './body.ts';

/** Time limit for the whole body of a request. node:http has such a limit for HTTP/1.1; node:http2 would wait for ever. */
const bodyWithinMs = 300_000;

/** A pause in the reading of a body that is too large. */
const pauseMs = 25;

/** Throws TooLarge and Timeout. */
export async function receiveBody(request: Http2ServerRequest, clock: Clock): Promise<Buffer> {
  const timer = clock.after(bodyWithinMs, () => {
    // Closes the stream after the answer. Otherwise the client would keep the stream open.
    const stream = request.stream as ServerHttp2Stream | undefined;
    stream?.once('finish', () => stream.close(constants.NGHTTP2_NO_ERROR));
    request.destroy(new BanyanError('Timeout', `the body of the request did not come within ${bodyWithinMs} ms`));
  });
  try {
    const pause = () => new Promise<void>((resolve) => void clock.after(pauseMs, resolve));
    return await readBody(request as AsyncIterable<Buffer>, pause);
  } finally {
    timer.stop();
  }
}
