import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fetchJson } from '../../../../core/authentication/bounded-fetch.ts';
import { createAuthority, issueNode } from '../../../../core/identity/authority.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';

describe('a document of an issuer', () => {
  let server: Server;
  let url = '';
  let ca = '';

  beforeAll(async () => {
    const issuing = { clock: new VirtualClock(Date.now()), random: new SeededRandom(1) };
    const authority = await createAuthority('company', issuing);
    ca = authority.certPem;
    const host = { tree: 'company', path: 'login', role: 'relay' as const, hosts: ['127.0.0.1'] };
    const { certPem: cert, keyPem: key } = await issueNode(authority, host, issuing);
    server = createServer({ cert, key }, (request, answer) => {
      if (request.url === '/good') return void answer.end('{"a":1}');
      if (request.url === '/html') return void answer.end('<html>');
      if (request.url === '/broken') return void answer.writeHead(500).end('{}');
      if (request.url === '/huge') return void answer.end(JSON.stringify('x'.repeat(300_000)));
      if (request.url === '/drip') answer.write('{');
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it('is read if the authority of the configuration has signed the certificate', async () => {
    expect(await fetchJson(`${url}/good`, ca)).toEqual({ a: 1 });
    await expect(fetchJson(`${url}/good`, undefined)).rejects.toThrow(/certificate/);
  });

  it.each([
    ['html', /the answer is no JSON/],
    ['broken', /the answer has the status 500/],
    ['huge', /the answer has more than 262144 bytes/],
  ])('is refused with the URL and the reason: %s', async (path, reason) => {
    await expect(fetchJson(`${url}/${path}`, ca)).rejects.toMatchObject({
      code: 'Unavailable',
      message: expect.stringMatching(new RegExp(`^${url}/${path}: .*${reason.source}`)),
    });
  });

  it.each(['slow', 'drip'])(
    'is given up after five seconds: %s',
    async (path) => {
      await expect(fetchJson(`${url}/${path}`, ca)).rejects.toThrow('no whole answer within 5000 ms');
    },
    10_000,
  );
});
