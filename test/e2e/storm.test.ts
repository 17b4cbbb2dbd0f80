import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { afterAll, expect, it } from 'vitest';
import type { ChildrenRequest } from '../bench/children.ts';
import { makeAuthority } from '../bench/credentials.ts';
import { RelayProcess } from '../bench/relay-process.ts';
import { ask, Scratch } from '../bench/scratch.ts';
import { until } from './local-tree.ts';

const children = 1_000;
const path = 'eu';

const scratch = new Scratch();
afterAll(() => scratch[Symbol.asyncDispose](), 60_000);

it('a relay with a thousand children that is killed has all of them back within the bound of the admission', async () => {
  const authority = await makeAuthority();
  const meshPort = await freePort();
  const names = Array.from({ length: children }, (_, i) => `kid-${i}`);
  const relay = await RelayProcess.prepare(scratch, {
    path,
    data: scratch.directory(),
    clusters: names,
    authority,
    meshPort,
  });
  await relay.start(60_000, 'listening');
  const crowd = scratch.fork(new URL('../bench/children.ts', import.meta.url));
  const request: ChildrenRequest = {
    kind: 'mesh',
    authority,
    parent: { address: `127.0.0.1:${meshPort}`, path },
    names,
    answerBytes: 0,
  };
  await ask(crowd, request);
  expect(attached(relay).size).toBe(children);
  await relay.end('SIGKILL');
  const killedAt = new Date().toISOString();
  await relay.start(60_000, 'listening');
  const upMs = performance.now();
  await until('all are back', () => attached(relay, killedAt).size === children, 90);
  const backMs = performance.now() - upMs;
  // 1,000 at 200 a second, the children's own waits of up to 16 s after some refused dials, and a machine with other work.
  console.log(`${children} children are back after ${(backMs / 1000).toFixed(1)} s`);
  expect(backMs).toBeLessThan(60_000);
}, 240_000);

/** Children that the log says were attached, since a time. */
function attached({ log }: RelayProcess, since = ''): Set<string> {
  const lines = readFileSync(log, 'utf8').trim().split('\n');
  return new Set(
    lines
      .filter((line) => line.includes('a child is attached'))
      .map((line) => JSON.parse(line) as { time: number; child: string })
      .filter(({ time }) => since === '' || new Date(time).toISOString() > since)
      .map(({ child }) => child),
  );
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
