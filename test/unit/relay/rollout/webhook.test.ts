import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Egress, egressSchema } from '../../../../core/runtime/egress.ts';
import { askWebhook } from '../../../../relay/rollout/webhook.ts';

/** The servers of these tests listen on this machine. */
const here = new Egress(egressSchema.parse({ allow: ['127.0.0.0/8'] }));

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function answering(status: number, body: string | undefined, asked: string[] = []): Promise<string> {
  server = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => asked.push(`${request.method} ${chunk}`));
    request.on('end', () => {
      if (body !== undefined) response.writeHead(status).end(body);
    });
  });
  await new Promise<void>((done) => server!.listen(0, '127.0.0.1', done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/ask`;
}

describe('a webhook', () => {
  it('gets a POST of JSON, and lets the wave pass or not', async () => {
    const asked: string[] = [];
    const url = await answering(200, '{"passed":true}', asked);
    expect(await askWebhook({ url, timeoutSeconds: 5 }, { wave: 'a' }, here)).toEqual({ passed: true });
    expect(asked).toEqual(['POST {"wave":"a"}']);
  });

  it.each([
    [200, '{"passed":false,"message":"not before noon"}', 'not before noon'],
    [200, '{"passed":false}', 'the answer is "passed": false'],
    [200, '{"ok":true}', 'the answer is not {"passed": true or false'],
    [200, 'the secret of another program', 'the answer is not JSON: it must be {"passed": true or false'],
    [500, '{"passed":true}', 'HTTP status 500'],
    [200, `{"passed":true,"message":"${'x'.repeat(70_000)}"}`, 'more than 65536 bytes of answer'],
  ])('that answers %i %.40s is retried', async (status, body, message) => {
    const result = await askWebhook({ url: await answering(status, body), timeoutSeconds: 5 }, {}, here);
    expect(result).toMatchObject({ passed: false, failed: false });
    expect(JSON.stringify(result)).toContain(JSON.stringify(message).slice(1, -1));
  });

  it('that does not answer is aborted at its deadline', async () => {
    const result = await askWebhook({ url: await answering(200, undefined), timeoutSeconds: 0.05 }, {}, here);
    expect(JSON.stringify(result)).toContain('no answer within 0.05 s');
  });

  it('that changes the protocol has not answered', async () => {
    const url = await answering(200, undefined);
    server!.on('request', ({ socket }) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    });
    const result = await askWebhook({ url, timeoutSeconds: 5 }, {}, here);
    expect(JSON.stringify(result)).toContain(
      'the webhook wants to change the protocol (HTTP upgrade): it must answer with JSON',
    );
  });

  it.each([
    'http://127.0.0.1:PORT/ask',
    'http://[::ffff:127.0.0.1]:PORT/ask',
    'http://2130706433:PORT/ask',
    'http://localhost:PORT/ask',
  ])('at %s is not called without the permission of the node', async (form) => {
    const asked: string[] = [];
    const { port } = new URL(await answering(200, '{"passed":true}', asked));
    const refused = await askWebhook(
      { url: form.replace('PORT', port), timeoutSeconds: 5 },
      {},
      new Egress(egressSchema.parse({})),
    );
    expect(refused).toMatchObject({ passed: false, failed: false });
    expect(JSON.stringify(refused)).toMatch(
      /the node does not call .*, a loopback address: add the address to egress.allow of the node/,
    );
    expect(asked).toEqual([]);
  });

  it('shows no part of an answer that is not JSON', async () => {
    const url = await answering(200, 'token=hunter2');
    expect(JSON.stringify(await askWebhook({ url, timeoutSeconds: 5 }, {}, here))).not.toContain('hunter2');
  });

  it('that nobody serves is retried', async () => {
    const result = await askWebhook({ url: 'http://127.0.0.1:1/ask', timeoutSeconds: 5 }, {}, here);
    expect(JSON.stringify(result)).toContain('ECONNREFUSED');
  });
});
