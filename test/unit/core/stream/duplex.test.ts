import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { duplexOf } from '../../../../core/stream/duplex.ts';
import { echoEndpoint } from '../../../../core/stream/echo.ts';
import { streamWindowBytes } from '../../../../core/stream/stream.ts';
import { requestOf, StreamTree } from '../../../support/stream-tree.ts';

describe('a stream as a Duplex', () => {
  let timer: NodeJS.Timeout | undefined;
  afterEach(() => clearInterval(timer));

  /** Virtual time advances by itself here, because Node's streams have turns of their own. */
  async function chain(): Promise<StreamTree> {
    const tree = await new StreamTree(['a', 'a:b']).attach();
    timer = setInterval(() => void tree.run(10), 1);
    return tree;
  }

  const open = (tree: StreamTree, kind = 'test') =>
    duplexOf('', (handler) => tree.nodes.get('')!.router.open(requestOf({ path: 'a:b', kind }), handler));

  it('carries HTTP/1.1 between a client and a server that know nothing of it', async () => {
    const tree = await chain();
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => response.end(`${request.method} ${request.url}: ${Buffer.concat(chunks).length} bytes`));
    });
    tree.register('a:b', 'test', (offer) => {
      server.emit(
        'connection',
        duplexOf('a:b', (handler) => offer.accept(handler)),
      );
    });
    const asked = httpRequest({ method: 'POST', path: '/api', createConnection: () => open(tree) });
    asked.end(Buffer.alloc(3 * streamWindowBytes));
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).toString()).toBe(`POST /api: ${3 * streamWindowBytes} bytes`);
    asked.destroy();
  });

  it('accepts from a reader that stalls no more than the windows on the way', async () => {
    const tree = await chain();
    const far = new Promise<Duplex>((resolve) => {
      tree.register('a:b', 'test', (offer) => resolve(duplexOf('a:b', (handler) => offer.accept(handler))));
    });
    const near = open(tree);
    let taken = 0;
    const chunk = Buffer.alloc(64 * 1024);
    const write = () => {
      near.write(chunk, () => {
        taken += chunk.length;
        if (taken < 100 * streamWindowBytes) write();
      });
    };
    write();
    const end = await far;
    for (let turn = 0; turn < 100; turn++) {
      await tree.run(5);
      await new Promise(setImmediate);
    }
    const stalledAt = taken;
    expect(stalledAt).toBeLessThanOrEqual(4 * streamWindowBytes);
    end.resume();
    await expect.poll(() => taken, { timeout: 10_000 }).toBeGreaterThan(stalledAt + streamWindowBytes);
    near.destroy();
  });

  it('keeps little more than the window of a stalled reader, however small the frames are', async () => {
    let arrive = (_bytes: Uint8Array) => {};
    let consumed = 0;
    const stalled = duplexOf('', (handler) => {
      arrive = (bytes) => handler.onData(bytes);
      const count = (bytes: number) => {
        consumed += bytes;
      };
      return { write() {}, end() {}, reset() {}, consumed: count };
    });
    stalled.read(0);
    for (let i = 0; i < streamWindowBytes; i++) arrive(Uint8Array.of(i % 251));
    await new Promise(setImmediate);
    // Node's buffer keeps the chunks as they arrived.
    expect(stalled.readableLength).toBe(1);
    expect(consumed).toBe(1);
    const chunks: Buffer[] = [];
    stalled.on('data', (chunk: Buffer) => chunks.push(chunk));
    await expect.poll(() => consumed).toBe(streamWindowBytes);
    expect(chunks.length).toBeLessThanOrEqual(streamWindowBytes / 4096 + 1);
    expect(Buffer.concat(chunks).every((byte, i) => byte === i % 251)).toBe(true);
  });

  it('is destroyed by a reset with the error for the client, and resets the stream when it is destroyed', async () => {
    const tree = await chain();
    const nobody = open(tree, 'unknown');
    nobody.resume();
    const [error] = (await once(nobody, 'error')) as [Error];
    expect(error).toMatchObject({
      code: 'NotFound',
      message: expect.stringMatching(/^a:b: this node has no streams of the kind/),
    });
    tree.register('a:b', 'test', echoEndpoint);
    const echo = open(tree);
    await once(echo, 'accepted');
    echo.destroy();
    await expect.poll(() => tree.openEnds()).toBe(0);
    expect(tree.nodes.get('a:b')!.counts.closedBy.get('Cancelled')).toBe(1);
  });
});
