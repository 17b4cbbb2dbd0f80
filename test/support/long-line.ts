/** A line of a given length and width on loopback. In each direction separately, bytes arrive after a delay, and no faster than the rate of the line. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface LongLine extends AsyncDisposable {
  /** host:port */
  readonly address: string;
}

export interface LineOptions {
  /** The delay in one direction. */
  readonly delayMs: number;
  readonly bytesPerSecond: number;
}

/** The bytes in flight are bounded, as in the queue of a router: when they are twice the capacity of the line, the sender has to wait. */
const underWayFactor = 2;

/** `target`: host:port. */
export async function longLine(target: string, options: LineOptions): Promise<LongLine> {
  const [host, port] = target.split(':');
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ host: host!, port: Number(port), noDelay: true });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      carry(from, to, options);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function carry(from: Socket, to: Socket, { delayMs, bytesPerSecond }: LineOptions): void {
  const underWayMax = underWayFactor * bytesPerSecond * (delayMs / 1000);
  /** The bytes in the order in which they have to arrive: two timers of one turn may fire in the other order. */
  const line: Buffer[] = [];
  let underWay = 0;
  /** The time at which the newest byte has passed the narrow part of the line. */
  let freeAtMs = 0;
  from.on('data', (bytes: Buffer) => {
    const nowMs = performance.now();
    freeAtMs = Math.max(nowMs, freeAtMs) + (bytes.length / bytesPerSecond) * 1000;
    underWay += bytes.length;
    line.push(bytes);
    if (underWay > underWayMax) from.pause();
    setTimeout(
      () => {
        const first = line.shift()!;
        underWay -= first.length;
        if (!to.destroyed) to.write(first);
        if (underWay <= underWayMax) from.resume();
      },
      freeAtMs - nowMs + delayMs,
    );
  });
}
