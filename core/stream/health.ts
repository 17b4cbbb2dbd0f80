/** The kind `health`: a node sends one line with its identity, whether it is ready, and if not, the reason. */
import type { Readable } from 'node:stream';
import { BanyanError, describeError } from '../runtime/errors.ts';
import type { Endpoint } from './router.ts';

export const healthKind = 'health';

export interface NodeHealth {
  readonly path: string;
  readonly role: 'center' | 'relay' | 'agent';
  readonly version: string;
  readonly ready: boolean;
  /** Why the node is not ready. Absent: it is ready. */
  readonly notReady?: string;
}

/** Limit for the line. A line normally has a few hundred bytes. */
const lineBytesMax = 64 * 1024;

export function healthEndpoint(health: () => NodeHealth): Endpoint {
  return (offer) => {
    const stream = offer.accept({
      // The peer has nothing to send.
      onData: (bytes) => stream.consumed(bytes.length),
      onWritten() {},
      onEnd() {},
      onClosed() {},
    });
    stream.write(Buffer.from(`${JSON.stringify(health())}\n`));
    stream.end();
  };
}

/** Reads the line. Throws Protocol if the peer sends no valid line. */
export async function readHealth(stream: Readable): Promise<NodeHealth> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > lineBytesMax) throw new BanyanError('Protocol', `more than ${lineBytesMax} bytes of health`);
    chunks.push(chunk);
  }
  const line = Buffer.concat(chunks).toString();
  try {
    const { path, role, version, ready, notReady } = JSON.parse(line) as NodeHealth;
    // The peer may be another implementation. A reason that is no text is ignored.
    const why = ready !== true && typeof notReady === 'string' && notReady !== '' ? { notReady } : {};
    return { path, role, version, ready: ready === true, ...why };
  } catch (cause) {
    const message = `no line of health: ${JSON.stringify(line.slice(0, 200))} (${describeError(cause)})`;
    throw new BanyanError('Protocol', message, {}, { cause });
  }
}
