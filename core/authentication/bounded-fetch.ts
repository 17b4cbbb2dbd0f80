/** Reads a JSON document of an issuer, with bounds: an issuer that is slow, broken or hostile must not hold a node. */
import { request } from 'node:https';
import { BanyanError, describeError } from '../runtime/errors.ts';

/** A set of keys has some kilobytes. */
const bytesMax = 256 * 1024;
const withinMs = 5_000;

/**
 * Throws Unavailable with the URL and the reason. `egress` of the node is not asked: the operator of the node has written the URL, and an issuer in the same
 * machine is usual.
 */
export function fetchJson(url: string, ca: string | undefined): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new BanyanError('Unavailable', `${url}: ${why}`));
    const asked = request(
      url,
      { ...(ca === undefined ? {} : { ca }), headers: { accept: 'application/json' } },
      (answer) => {
        const { statusCode = 0 } = answer;
        if (statusCode !== 200) {
          asked.destroy();
          return fail(`the answer has the status ${statusCode}`);
        }
        const chunks: Buffer[] = [];
        let bytes = 0;
        answer.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          chunks.push(chunk);
          if (bytes <= bytesMax) return;
          asked.destroy();
          fail(`the answer has more than ${bytesMax} bytes`);
        });
        answer.on('end', () => {
          try {
            resolve(JSON.parse(Buffer.concat(chunks).toString('utf8')));
          } catch {
            fail('the answer is no JSON');
          }
        });
      },
    );
    const timer = setTimeout(() => {
      asked.destroy();
      fail(`no whole answer within ${withinMs} ms`);
    }, withinMs);
    asked.on('close', () => clearTimeout(timer));
    asked.on('error', (error) => fail(describeError(error)));
    asked.end();
  });
}
