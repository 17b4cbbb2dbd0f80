import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { systemClock, VirtualClock } from '../../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import type { WriteGuard } from '../../../../../edge-agent/cluster/cluster.ts';
import { ClusterApiClient } from '../../../../../edge-agent/cluster/kubernetes/api-client.ts';
import { defaultLimits } from '../../../../../edge-agent/cluster/kubernetes/client-limits.ts';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function clientOf(
  answer: RequestListener,
  guard?: WriteGuard,
): Promise<{ client: ClusterApiClient; away: () => number }> {
  const made = createServer(answer);
  server = made;
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
  let away = 0;
  const access = {
    server: new URL(`http://127.0.0.1:${(made.address() as AddressInfo).port}`),
    credentials: async () => ({ headers: { authorization: 'Bearer t' } }),
  };
  const client = new ClusterApiClient(access, systemClock, defaultLimits, () => away++, guard);
  return { client, away: () => away };
}

test('a watch that breaks off means that the server was away, as a refused connection does', async () => {
  const { client, away } = await clientOf((request, response) => {
    if (request.url === '/watch') {
      response.write('{"type":"ADDED"}\n');
      setImmediate(() => response.destroy());
    } else response.end('{"a":1}');
  });
  expect(await client.json({ path: '/one' })).toEqual({ a: 1 });
  expect(away()).toBe(0);
  const stream = await client.stream({ path: '/watch' }, 10_000);
  await expect(async () => {
    for await (const _ of stream);
  }).rejects.toThrow();
  expect(away()).toBe(1);
  server!.closeAllConnections();
  await new Promise((resolve) => server!.close(resolve));
  await expect(client.json({ path: '/one' })).rejects.toMatchObject({ code: 'Unavailable' });
  expect(away()).toBe(2);
  client.close();
});

test('rejected credentials make the client ask again which cluster answers, and are reported', async () => {
  const { client, away } = await clientOf((_request, response) => {
    response.writeHead(401).end('{"kind":"Status","reason":"Unauthorized","message":"Unauthorized"}');
  });
  const refused = {
    code: 'Unauthorized',
    message: expect.stringMatching(/^Unauthorized: .*have expired or were withdrawn; renew/),
  };
  await expect(client.json({ path: '/one' })).rejects.toMatchObject(refused);
  await expect(client.stream({ path: '/watch' }, 1_000)).rejects.toMatchObject(refused);
  expect(away()).toBe(2);
  client.close();
});

test('an unreachable server is reported with a remedy', async () => {
  const { client } = await clientOf((_request, response) => response.end());
  await new Promise((resolve) => server!.close(resolve));
  await expect(client.json({ path: '/one' })).rejects.toThrow(
    /can't be reached: .*ECONNREFUSED.*; nothing listens there/,
  );
  client.close();
});

test('the client measures the difference of the clocks', async () => {
  const yearMs = 365 * 86_400_000;
  const { client } = await clientOf((_request, response) => {
    response.setHeader('date', new Date(Date.now() + yearMs).toUTCString());
    response.end('{}');
  });
  expect(client.aheadMs).toBe(0);
  await client.json({ path: '/one' });
  expect(Math.round(client.aheadMs / 60_000)).toBe(-365 * 24 * 60);
  client.close();
});

test('an answer over the size limit is aborted, with a message that names the limit, and its bytes are returned to the budget', async () => {
  const { client } = await clientOf((request, response) => {
    response.end(request.url === '/small' ? '{"a":1}' : JSON.stringify('x'.repeat(defaultLimits.inFlightBytes / 2)));
  });
  const refused = client.json({ path: '/large' });
  await expect(refused).rejects.toMatchObject({ code: 'TooLarge' });
  await expect(refused).rejects.toThrow(/larger than 8Mi bytes \(half of cluster\.kubernetes\.limits\.inFlightBytes/);
  expect(client.limitUses().find(({ reason }) => reason === 'BytesInFlight')?.used).toBe(0);
  expect(await client.json({ path: '/small' })).toEqual({ a: 1 });
  client.close();
});

test('a request that the server postpones is repeated, and a refusal is reported in the server’s words', async () => {
  let asked = 0;
  const { client } = await clientOf((request, response) => {
    asked++;
    if (request.url === '/busy' && asked === 1) response.writeHead(429, { 'retry-after': '0' }).end();
    else if (request.url === '/busy') response.end('{"asked":2}');
    else response.writeHead(403).end('{"kind":"Status","reason":"Forbidden","message":"you may not"}');
  });
  expect(await client.json({ path: '/busy' })).toEqual({ asked: 2 });
  await expect(client.json({ path: '/other' })).rejects.toMatchObject({ code: 'Forbidden', message: 'you may not' });
  client.close();
});

test('while the agent may not write, no request that changes anything is sent, but reads are', async () => {
  const asked: string[] = [];
  let refusal: BanyanError | undefined;
  const { client, away } = await clientOf(
    (request, response) => {
      asked.push(`${request.method} ${request.url}`);
      response.end('{}');
    },
    () => refusal,
  );
  await client.json({ method: 'PATCH', path: '/one', body: {} });
  refusal = new BanyanError('Unavailable', 'not now');
  for (const method of ['PATCH', 'PUT', 'POST', 'DELETE'] as const) {
    await expect(client.json({ method, path: '/two', body: {} })).rejects.toThrow('not now');
  }
  await client.json({ path: '/three' });
  expect(asked).toEqual(['PATCH /one', 'GET /three']);
  expect(away()).toBe(0);
  client.close();
});

test('the permission to write is checked once more when there is a connection, before any byte is sent', async () => {
  const asked: string[] = [];
  let questions = 0;
  const { client, away } = await clientOf(
    (request, response) => {
      asked.push(`${request.method} ${request.url}`);
      response.end('{}');
    },
    () => (++questions === 2 ? new BanyanError('Unavailable', 'no more') : undefined),
  );
  await expect(client.json({ method: 'DELETE', path: '/late' })).rejects.toThrow('no more');
  await client.json({ method: 'DELETE', path: '/again' });
  expect([asked, away()]).toEqual([['DELETE /again'], 0]);
  client.close();
});

test('the permission to write is checked after the request has waited for its turn', async () => {
  let mayWrite = true;
  const slow: ServerResponse[] = [];
  let allThere = () => {};
  const there = new Promise<void>((resolve) => {
    allThere = resolve;
  });
  const { client } = await clientOf(
    (_request, response) => {
      if (slow.push(response) === defaultLimits.inFlight) allThere();
    },
    () => (mayWrite ? undefined : new BanyanError('Unavailable', 'not now')),
  );
  const reads = Array.from({ length: defaultLimits.inFlight }, () => client.json({ path: '/slow' }));
  const waits = expect(client.json({ method: 'PATCH', path: '/waits', body: {} })).rejects.toThrow('not now');
  await there;
  mayWrite = false;
  for (const response of slow) response.end('{}');
  await Promise.all(reads);
  await waits;
  client.close();
});

test('a request that must not be repeated is repeated only if it was not admitted: a 503 may come from a proxy after the server acted', async () => {
  let asked = 0;
  const { client } = await clientOf((_request, response) => {
    asked++;
    if (asked === 1) response.writeHead(429, { 'retry-after': '0' }).end();
    else if (asked === 2) response.writeHead(503, { 'retry-after': '0' }).end();
    else response.end('{}');
  });
  const make = { method: 'PATCH', path: '/one', body: {} } as const;
  await expect(client.json({ ...make, once: true })).rejects.toMatchObject({ code: 'Unavailable' });
  expect(asked).toBe(2);
  asked = 1;
  expect(await client.json(make)).toEqual({});
  expect(asked).toBe(3);
  client.close();
});

test('credentials are read again shortly after a failed connection, and rarely while all is well', async () => {
  await clientOf((request, response) => {
    if (request.url === '/cut') response.destroy();
    else response.end('{}');
  });
  const clock = new VirtualClock();
  let read = 0;
  const access = {
    server: new URL(`http://127.0.0.1:${(server!.address() as AddressInfo).port}`),
    credentials: async () => ({ headers: { authorization: `Bearer ${++read}` } }),
  };
  const client = new ClusterApiClient(access, clock);
  const askAfter = async (ms: number, path = '/') => {
    clock.advance(ms);
    await client.json({ path }).catch(() => {});
    return read;
  };
  expect(await askAfter(0)).toBe(1);
  expect(await askAfter(50_000, '/cut')).toBe(1);
  expect(await askAfter(0)).toBe(2);
  expect(await askAfter(50_000, '/cut')).toBe(2);
  expect(await askAfter(0, '/cut')).toBe(3);
  expect(await askAfter(4_000, '/cut')).toBe(3);
  expect(await askAfter(2_000)).toBe(4);
  expect(await askAfter(59_000)).toBe(4);
  client.close();
});

test('a renewed certificate interrupts no request in progress, and leaves no connection of the former one', async () => {
  const slow: ServerResponse[] = [];
  const connections = new Set<unknown>();
  await clientOf((request, response) => {
    connections.add(request.socket);
    request.socket.on('close', () => connections.delete(request.socket));
    if (request.url === '/slow') slow.push(response);
    else response.end('{}');
  });
  const clock = new VirtualClock();
  let cert = 'first';
  const access = {
    server: new URL(`http://127.0.0.1:${(server!.address() as AddressInfo).port}`),
    credentials: async () => ({ cert }),
  };
  const client = new ClusterApiClient(access, clock);
  const under = client.json({ path: '/slow' });
  await client.json({ path: '/one' });
  expect(connections.size).toBe(2);
  cert = 'second';
  clock.advance(61_000);
  await client.json({ path: '/two' });
  slow[0]!.end('{"a":1}');
  expect(await under).toEqual({ a: 1 });
  await expect.poll(() => connections.size).toBe(1);
  client.close();
});

test('a sign-in program that does not answer is not started again before, and delays nothing beyond its time limit', async () => {
  await clientOf((_request, response) => response.end('{}'));
  const clock = new VirtualClock();
  let [asked, answer] = [0, () => {}];
  const access = {
    server: new URL(`http://127.0.0.1:${(server!.address() as AddressInfo).port}`),
    credentials: () => {
      asked++;
      return new Promise<object>((resolve) => {
        answer = () => resolve({});
      });
    },
  };
  const client = new ClusterApiClient(access, clock);
  for (let round = 0; round < 2 * defaultLimits.inFlight; round++) {
    const late = expect(client.json({ path: '/one' })).rejects.toMatchObject({
      code: 'Unauthorized',
      message: expect.stringMatching(/credentials can't be read: .* not answered within 30 s/),
    });
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(30_000);
    await late;
  }
  expect(asked).toBe(1);
  answer();
  await new Promise((resolve) => setImmediate(resolve));
  const signedIn = client.json({ path: '/one' });
  await new Promise((resolve) => setImmediate(resolve));
  answer();
  expect(await signedIn).toEqual({});
  expect(asked).toBe(2);
  client.close();
});

test('an invalid certificate or key is reported with a remedy', async () => {
  const access = {
    server: new URL('https://127.0.0.1:1'),
    credentials: async () => ({ cert: Buffer.from('none'), key: Buffer.from('none') }),
  };
  const client = new ClusterApiClient(access, systemClock);
  const refused = expect.objectContaining({
    code: 'Unavailable',
    message: expect.stringMatching(/PEM routines.*; a certificate or key of the agent/),
  });
  await expect(client.json({ path: '/one' })).rejects.toEqual(refused);
  await expect(client.stream({ path: '/watch' }, 1_000)).rejects.toEqual(refused);
  client.close();
});

test('an answer that changes the protocol is invalid, and no request waits for another', async () => {
  const { client } = await clientOf(({ socket }) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
  });
  await expect(client.json({ path: '/one' })).rejects.toThrow('it closed the connection without an answer');
  client.close();
});
