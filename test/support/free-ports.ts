/**
 * Ports of 127.0.0.1 that nobody had a moment ago, for programs that have to be told one. They are below those that the system gives to
 * connections by itself: one of these may be taken between the question and the program that listens.
 */
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

const from = 10_000;
/** As Linux is usually set. */
const usuallyGivenFrom = 32_768;

export async function freePorts(count: number): Promise<number[]> {
  const below = givenFrom();
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries++) {
    if (tries > 100 * count) throw new Error(`no ${count} free ports from ${from} to ${below - 1}`);
    const port = randomInt(from, below);
    if (!ports.has(port) && (await isFree(port))) ports.add(port);
  }
  return [...ports];
}

/** The first port that the system gives to connections: /proc/sys/net/ipv4/ip_local_port_range, where there is one. */
function givenFrom(): number {
  try {
    const first = Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s+/)[0]);
    return first > 2 * from ? first : usuallyGivenFrom;
  } catch {
    return usuallyGivenFrom;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
