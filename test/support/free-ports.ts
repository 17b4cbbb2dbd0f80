/**
 * Ports of 127.0.0.1 that were free a moment ago, for programs that need a given port. The ports are below the range that the system uses for outgoing
 * connections: otherwise such a connection could get the port before the program listens.
 */
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

const from = 10_000;
/** The start of the range by the usual setting of Linux. */
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

/** The first port that the system uses for outgoing connections. Linux has it in /proc/sys/net/ipv4/ip_local_port_range. */
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
