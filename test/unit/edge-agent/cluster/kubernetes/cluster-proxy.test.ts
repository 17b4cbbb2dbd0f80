import { createServer, type IncomingHttpHeaders, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { duplexPair } from 'node:stream';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import {
  ClusterProxy,
  impersonation,
  type Visitors,
} from '../../../../../edge-agent/cluster/kubernetes/cluster-proxy.ts';

const jo = { name: 'center:jo', groups: ['center:system:masters', 'center:ops'] };
const visitors: Visitors = { fromAbove: 'grants', users: ['center:jo'], groups: ['center:ops', 'center:till'] };

describe('a user from above', () => {
  let apiServer: Server;
  let port = 0;
  beforeAll(async () => {
    apiServer = createServer(({ method, url, headers }, answer) =>
      answer.end(JSON.stringify({ method, url, headers })),
    );
    await new Promise<void>((resolve) => apiServer.listen(0, '127.0.0.1', resolve));
    ({ port } = apiServer.address() as AddressInfo);
  });
  afterAll(() => {
    apiServer.closeAllConnections();
    apiServer.close();
  });

  const ask = async (may: Visitors, headers: Record<string, string> = {}, to = port) => {
    const proxy = new ClusterProxy({
      visitors: may,
      log: silentLogger,
      ask: ({ method, target, headers: sent }) => request({ port: to, method, path: target, headers: sent }),
    });
    const [near, far] = duplexPair();
    proxy.take(far, jo);
    const sent = request({ method: 'DELETE', path: '/api/v1/pods?a=b', headers, createConnection: () => near });
    const answered = new Promise<{ status: number; body: unknown }>((resolve, reject) => {
      sent.on('error', reject).on('response', (answer) => {
        json(answer).then((body) => resolve({ status: answer.statusCode ?? 0, body }), reject);
      });
    });
    sent.end();
    return answered;
  };

  it('is the user for whom the cluster is asked, whatever user the request names', async () => {
    const claimed = {
      authorization: 'Bearer stolen',
      'impersonate-user': 'system:admin',
      'impersonate-extra-scopes': 'all',
      'x-remote-user': 'root',
      cookie: 'a=b',
      'x-else': 'kept',
    };
    const { status, body } = await ask(visitors, claimed);
    const { method, url, headers } = body as { method: string; url: string; headers: IncomingHttpHeaders };
    expect([status, method, url]).toEqual([200, 'DELETE', '/api/v1/pods?a=b']);
    const { host: _, connection: __, ...sent } = headers;
    expect(sent).toEqual({ 'impersonate-user': 'center:jo', 'impersonate-group': 'center:ops', 'x-else': 'kept' });
  });

  it('is refused with a message if the site does not know the user', async () => {
    for (const may of [{ fromAbove: 'grants' } as const, { ...visitors, users: ['center:kim'] }]) {
      const { status, body } = await ask(may);
      expect([status, body]).toEqual([403, expect.objectContaining({ kind: 'Status', reason: 'Forbidden' })]);
      expect(body).toMatchObject({
        message: expect.stringMatching(/does not let center:jo send requests.*streams\.cluster\.users/),
      });
    }
  });

  it('is a member of system:masters if the site gives everything to users of nodes above', async () => {
    const { body } = await ask({ fromAbove: 'cluster-admin' });
    expect((body as { headers: IncomingHttpHeaders }).headers).toMatchObject({
      'impersonate-user': 'center:jo',
      'impersonate-group': 'system:masters',
    });
  });

  it('brings all groups if the site names none in particular', () => {
    const headers = impersonation(jo, { fromAbove: 'grants', users: ['*'], groups: ['*'] });
    expect(headers['impersonate-group']).toEqual(['center:system:masters', 'center:ops']);
  });

  it('reads why the API server cannot be reached', async () => {
    const { status, body } = await ask(visitors, {}, 1);
    expect([status, body]).toEqual([503, expect.objectContaining({ reason: 'ServiceUnavailable' })]);
    expect(body).toMatchObject({ message: expect.stringMatching(/API server can't be reached: .*ECONNREFUSED/) });
  });

  it('may have a name that no header could carry unencoded', () => {
    const named = impersonation({ name: 'center:zoë', groups: [] }, { ...visitors, users: ['*'] });
    expect(Buffer.from(String(named['impersonate-user']), 'latin1').toString('utf8')).toBe('center:zoë');
    expect(() => impersonation(jo, { ...visitors, users: [] })).toThrow(BanyanError);
  });
});
