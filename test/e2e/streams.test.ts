import { type ChildProcess, spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageVersion } from '../../core/runtime/package-version.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { banyan, fixture, LocalTree, type Ran, until } from './local-tree.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const deep = 'a:b:c:d:deep';
const near = 'a:b:near';

describe.skipIf(withoutKubectl)(`byte streams in a chain of five levels, one hop over WebSocket${why}`, () => {
  const tree = new LocalTree('test/e2e/streams-topology.yaml');
  const ping = (...args: string[]) => banyan('ping', ...args, '--data', tree.data);
  /** Runs the command while the test does something else. */
  const pingMeanwhile = (...args: string[]) => {
    const command = [fixture('center/cli/banyan.ts'), 'ping', ...args, '--data', tree.data];
    return ended(spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'pipe'] }));
  };
  const openEnds = (context: string) =>
    Number(/^banyan_stream_ends_open (\d+)$/m.exec(tree.ok(context, 'get', '--raw', '/metrics'))?.[1]);
  /** A ping with bytes is two streams, one after the other: first the identity, then the bytes. True if the second exists. */
  const bytesUnderWay = (context: string) => {
    const closed = closedEnds(context);
    return () => closedEnds(context) > closed && openEnds(context) > 0;
  };
  const closedEnds = (context: string) =>
    [...tree.ok(context, 'get', '--raw', '/metrics').matchAll(/^banyan_stream_ends_closed_total\{.*\} (\d+)$/gm)]
      .map(([, count]) => Number(count))
      .reduce((sum, count) => sum + count, 0);

  beforeAll(() => tree.up('--no-restart'));
  afterAll(() => tree[Symbol.asyncDispose]());

  it('reach every node from the center, with its readiness and its version', () => {
    const version = packageVersion().replaceAll('.', '\\.');
    for (const path of ['center', 'a:b', near, deep]) {
      const { code, out } = ping(path);
      expect(out).toMatch(new RegExp(`^${path}: (center|relay|agent) ${version}, ready, [\\d.]+ ms\n$`));
      expect(code).toBe(0);
    }
  });

  it('are asked for by stock kubectl at the API of any node above', () => {
    const answer = JSON.parse(tree.ok('node/a:b', 'get', '--raw', `/tree/${deep}/healthz`)) as object;
    expect(answer).toMatchObject({ path: deep, role: 'agent', ready: true, roundTripMs: expect.any(Number) });
    expect(tree.kubectl('node/a', ['get', '--raw', '/tree/a:nope/healthz']).out).toMatch(
      /NotFound.*a: there is no child a:nope/,
    );
    expect(tree.kubectl('node/a:b:c', ['get', '--raw', `/tree/${near}/healthz`]).out).toMatch(
      /Forbidden.*a:b: streams from below are not taken here/,
    );
  });

  it('carry a million bytes there and back through all levels, unchanged', () => {
    const { code, out } = ping(deep, '--bytes', '1000000', '--timeout', '30');
    expect(out).toMatch(/1000000 bytes there and back, the same/);
    expect(code).toBe(0);
  });

  it('end, for a stopped agent, with the name of the hop above it, and end for no other node', async () => {
    process.kill(tree.pid(deep), 'SIGSTOP');
    try {
      const { code, out } = ping(deep, '--timeout', '10');
      expect(out).toMatch(/^banyan: a:b:c:d: a:b:c:d:deep did not take the stream in time \(DeadlineExceeded\)/m);
      expect(code).toBe(3);
      expect(ping(near).code).toBe(0);
    } finally {
      process.kill(tree.pid(deep), 'SIGCONT');
    }
    await until('it answers again', () => ping(deep).code === 0);
  });

  it('stall when the far end stalls, while other streams continue, and continue with the far end', async () => {
    const underWay = bytesUnderWay(`cluster/${near}`);
    const stalled = pingMeanwhile(near, '--bytes', '200000000', '--timeout', '120');
    await until('it is under way', underWay);
    process.kill(tree.pid(near), 'SIGSTOP');
    try {
      const busy = ping(deep, '--bytes', '1000000', '--timeout', '20');
      expect(busy.out).toMatch(/the same/);
      expect(openEnds('node/a:b')).toBeGreaterThan(0);
    } finally {
      process.kill(tree.pid(near), 'SIGCONT');
    }
    expect((await stalled).out).toMatch(/200000000 bytes there and back, the same/);
  });

  it('are reset at both ends when a relay in the middle is killed, and leave nothing behind', async () => {
    const underWay = bytesUnderWay(`cluster/${deep}`);
    const broken = pingMeanwhile(deep, '--bytes', '1000000000', '--timeout', '120');
    await until('it is under way', underWay);
    tree.kill('a:b:c');
    const { code, out } = await broken;
    expect(out).toMatch(/^banyan: a:b: .*a:b:c.* \(Unavailable\)/m);
    expect(code).toBe(1);
    const alive = ['node/center', 'node/a', 'node/a:b', 'node/a:b:c:d', `cluster/${near}`, `cluster/${deep}`];
    await until('no end is open', () => alive.every((context) => openEnds(context) === 0));
    expect(tree.ok(`cluster/${deep}`, 'get', '--raw', '/metrics')).toMatch(
      /banyan_stream_ends_closed_total\{code="(Unavailable|Cancelled)"\} [1-9]/,
    );
    expect(ping(deep).out).toMatch(/a:b: the child a:b:c is not connected, for \d+ s \(Disconnected\)/);
  });
});

function ended(child: ChildProcess): Promise<Pick<Ran, 'code' | 'out'>> {
  let out = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    out += chunk;
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    out += chunk;
  });
  return new Promise((resolve) => child.once('close', (code) => resolve({ code: code ?? -1, out })));
}
