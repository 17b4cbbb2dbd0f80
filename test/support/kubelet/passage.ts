/**
 * `passage.ts FROM=TO …`: what connects to FROM comes out at TO, each HOST:PORT or the path of a Unix socket. Such a socket is a file, and so it leads out of a
 * network that has no other way out. A process of its own, since a test waits for programs and does nothing else meanwhile.
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

/** Neither outlives the other. */
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
