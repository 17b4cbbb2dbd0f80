/**
 * `passage.ts FROM=TO …`: passes connections to FROM on to TO. Each of them is HOST:PORT or the path of a Unix socket. A Unix socket is a file, so it leads
 * out of a network that has no other way out. This is a process of its own, because a test that waits for a program does nothing else meanwhile.
 */
import { connect, createServer, type ListenOptions, type Socket } from 'node:net';

for (const argument of process.argv.slice(2)) {
  const [from, to] = argument.split('=').map(endOf);
  if (!from || !to) throw new Error(`${argument}: FROM=TO is expected, each HOST:PORT or the path of a socket`);
  createServer((near) => join(near, connect(to))).listen(from);
}

function endOf(text: string): (ListenOptions & { port: number }) | (ListenOptions & { path: string }) {
  const [, host, port] = /^([^/]+):(\d+)$/.exec(text) ?? [];
  return host === undefined ? { path: text } : { host, port: Number(port) };
}

/** Joins two connections. When one ends, the other ends too. */
function join(near: Socket, far: Socket): void {
  for (const [from, to] of [
    [near, far],
    [far, near],
  ] as const) {
    from.setNoDelay();
    from.on('error', () => to.destroy());
    from.on('close', () => to.destroy());
    from.pipe(to);
  }
}
