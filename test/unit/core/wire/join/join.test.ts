/** A request for a certificate over a real connection: who is asked, which data go to whom, and which requests are refused before the parent reads them. */
import { X509Certificate } from 'node:crypto';
import { request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newJoinToken } from '../../../../../core/identity/join-token.ts';
import { authorityId, hashOfKey } from '../../../../../core/identity/peer-identity.ts';
import { systemClock } from '../../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../../core/runtime/random.ts';
import { linkOptionsSchema } from '../../../../../core/wire/dialer/link-options.ts';
import { type JoinLine, joinParent, renewAtParent } from '../../../../../core/wire/join/join-client.ts';
import type { Joins } from '../../../../../core/wire/joins.ts';
import type { Listener } from '../../../../../core/wire/link.ts';
import { listenMesh } from '../../../../../core/wire/network/mesh-listener.ts';
import type { NodeCredentials } from '../../../../../core/wire/node-credentials.ts';
import { connectProxy } from '../../../../support/connect-proxy.ts';
import { TestTree } from '../../../../support/test-tree.ts';

const asked = { name: 'aaaaaaaaaa', secret: 's', path: 'eu:kid', request: 'pem' };
const answer = { authority: 'authority', certificate: 'certificate' };

let tree: TestTree;
let own: NodeCredentials;
let kid: NodeCredentials;
let pin: string;
beforeAll(async () => {
  tree = await TestTree.create();
  [own, kid] = await Promise.all([tree.credentials('eu', 'relay'), tree.credentials('eu:kid', 'agent')]);
  ({ pin } = newJoinToken(tree.authority.certPem, new SeededRandom(1)));
});

let listener: Listener;
let calls: unknown[];
let joins: Joins | undefined;
beforeEach(async () => {
  calls = [];
  joins = {
    admit: () => void calls.push('admit'),
    authority: () => tree.authority.certPem,
    join: async (...given) => {
      calls.push(given);
      return answer;
    },
    renew: async (...given) => {
      calls.push(given);
      return answer;
    },
  };
  listener = await listen();
});
afterEach(() => listener[Symbol.asyncDispose]());

function listen(): Promise<Listener> {
  const accept = () => {
    throw new Error('no session is begun here');
  };
  return listenMesh({ host: '127.0.0.1', port: 0, credentials: own, accept, joins, log: silentLogger });
}

function line(more: Partial<JoinLine> = {}): JoinLine {
  return {
    parent: { address: listener.address, path: 'eu' },
    link: linkOptionsSchema.parse({}),
    environment: {},
    clock: systemClock,
    ...more,
  };
}

/** The answer to a peer that is no agent. */
function raw(path: string, method: string, body = '', credentials?: NodeCredentials) {
  const [host, port] = listener.address.split(':');
  return new Promise<{ status: number | undefined; code: unknown; body: string }>((resolve, reject) => {
    const identity = credentials ? { cert: credentials.certPem, key: credentials.keyPem } : {};
    const options = { host, port, path, method, rejectUnauthorized: false, ...identity };
    const sent = httpsRequest(options, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode, code: response.headers['banyan-code'], body: text }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

describe('a request with a join token', () => {
  it('reaches the parent that has the pinned key, with the client’s address', async () => {
    expect(await joinParent(line(), pin, asked)).toEqual(answer);
    expect(calls).toEqual(['admit', [asked, expect.stringMatching(/^127\.0\.0\.1:\d+$/)]]);
  });

  it('goes through a proxy as sessions do', async () => {
    const proxy = await connectProxy({ login: 'me:secret' });
    const url = proxy.url.replace('://', '://me:secret@');
    expect(await joinParent(line({ link: linkOptionsSchema.parse({ proxy: url }) }), pin, asked)).toEqual(answer);
    expect(proxy.tunnels).toEqual([listener.address, listener.address]);
    await proxy[Symbol.asyncDispose]();
  });

  it('is not sent to another tree, to another node, or where TLS is terminated', async () => {
    const otherPin = newJoinToken((await TestTree.create()).authority.certPem, new SeededRandom(1)).pin;
    await expect(joinParent(line(), otherPin, asked)).rejects.toMatchObject({
      code: 'Unauthorized',
      message: expect.stringMatching(/is of another tree than the join token/),
    });
    const us = { address: listener.address, path: 'us' };
    await expect(joinParent(line({ parent: us }), pin, asked)).rejects.toThrow(/is the relay "eu", not the relay "us"/);
    const terminated = linkOptionsSchema.parse({ terminatedTls: true });
    await expect(joinParent(line({ link: terminated }), pin, asked)).rejects.toThrow(
      /^link\.terminatedTls: this node can't get a cert/,
    );
    expect(calls).toEqual([]);
  });

  it('is not sent to a node that presents the authority and has no certificate of it', async () => {
    await listener[Symbol.asyncDispose]();
    const thief = await (await TestTree.create()).credentials('eu', 'relay');
    const mine = own;
    own = thief;
    listener = await listen();
    own = mine;
    await expect(joinParent(line(), pin, asked)).rejects.toThrow(/was not signed by the authority of this tree/);
    expect(calls).toEqual([]);
  });

  it('is refused with the code and message of the parent, and the time to retry', async () => {
    joins!.join = async () => {
      throw new BanyanError('Conflict', 'it was used');
    };
    await expect(joinParent(line(), pin, asked)).rejects.toMatchObject({
      code: 'Conflict',
      message: `${listener.address}: it was used`,
    });
    joins!.admit = () => {
      throw new BanyanError('TooManyRequests', 'later', { retryAfterSeconds: 7 });
    };
    await expect(joinParent(line(), pin, asked)).rejects.toMatchObject({
      code: 'TooManyRequests',
      details: { retryAfterSeconds: 7 },
    });
  });

  it('hides an internal error of the parent', async () => {
    joins!.join = async () => {
      throw new Error('the secret of the house');
    };
    expect(await raw('/banyan.mesh.v1/join', 'POST', JSON.stringify(asked))).toEqual({
      status: 500,
      code: 'Internal',
      body: 'the parent could not answer: its log says why\n',
    });
  });

  it.each([
    ['no JSON', 'x', 'BadRequest', /the body is not JSON/],
    ['a part that is missing', '{"name":"a"}', 'BadRequest', /secret is missing; path is missing; request is missing/],
    ['a part too many', JSON.stringify({ ...asked, hosts: ['a'] }), 'BadRequest', /hosts/],
    ['far too much', `"${'x'.repeat(40_000)}"`, 'TooLarge', /has at most 32768 bytes/],
  ])('is refused for %s, after its turn at the rate limiter', async (_what, body, code, message) => {
    const got = await raw('/banyan.mesh.v1/join', 'POST', body);
    expect(got).toMatchObject({ code, body: expect.stringMatching(message) });
    expect(calls).toEqual(['admit']);
  });

  it('gets no answer at a parent that signs nothing, and supports no other method', async () => {
    expect(await raw('/banyan.mesh.v1/join', 'GET')).toMatchObject({ status: 405, code: 'MethodNotAllowed' });
    joins = undefined;
    await listener[Symbol.asyncDispose]();
    listener = await listen();
    await expect(joinParent(line(), pin, asked)).rejects.toMatchObject({
      code: 'NotFound',
      message: expect.stringMatching(/gives no certificates: its configuration has no pki\.issuer/),
    });
  });

  it('reports that there is no answer if nobody listens', async () => {
    await listener[Symbol.asyncDispose]();
    await expect(joinParent(line(), pin, asked)).rejects.toMatchObject({ code: 'Unavailable' });
    listener = await listen();
  });
});

describe('a request to renew', () => {
  it('is about the node whose certificate was shown', async () => {
    expect(await renewAtParent(line(), kid, 'pem')).toEqual(answer);
    const { publicKey, validFrom } = new X509Certificate(kid.certPem);
    const key = hashOfKey(publicKey.export({ type: 'spki', format: 'der' }));
    const authority = authorityId(new X509Certificate(tree.authority.certPem));
    const certificate = { key, fromMs: Date.parse(validFrom), authority };
    expect(calls).toEqual([[{ path: 'eu:kid', role: 'agent', certificate }, 'pem']]);
  });

  it('is refused without a certificate, and with one of another tree, before it is read', async () => {
    const body = JSON.stringify({ request: 'pem' });
    const other = await (await TestTree.create()).credentials('eu:kid', 'agent');
    for (const credentials of [undefined, other]) {
      expect(await raw('/banyan.mesh.v1/renew', 'POST', body, credentials)).toMatchObject({ code: 'Unauthorized' });
    }
    expect(calls).toEqual([]);
  });
});

it('gives up at once when an answer changes the protocol, since nothing else can follow', async () => {
  const tls = { cert: own.certPem, key: own.keyPem, ca: own.caPem, requestCert: true, ALPNProtocols: ['http/1.1'] };
  const server = createTlsServer(tls, (socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.write('HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const refused = renewAtParent(line({ parent: { address, path: 'eu' } }), kid, 'pem');
  await expect(refused).rejects.toThrow(`${address} changes the protocol, which nobody asked for`);
  server.close();
});
