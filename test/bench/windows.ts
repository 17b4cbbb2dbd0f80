/** One link over a long line, 100 Mbit/s at a round trip of 200 ms: the part of the line that a stream of frames fills, each way, by each transport. */
import { systemClock } from '../../core/runtime/clock.ts';
import { silentLogger } from '../../core/runtime/logger.ts';
import { grpcDialer } from '../../core/wire/grpc/grpc-dialer.ts';
import type { Link, LinkEvents } from '../../core/wire/link.ts';
import { listenMesh } from '../../core/wire/network/mesh-listener.ts';
import { webSocketDialer } from '../../core/wire/websocket/websocket-dialer.ts';
import { data } from '../support/link-log.ts';
import { longLine } from '../support/long-line.ts';
import { TestTree } from '../support/test-tree.ts';
import { wayTo } from '../support/ways.ts';
import type { BenchPorts, Figure } from './figure.ts';

const line = { delayMs: 100, bytesPerSecond: 12_500_000 };
const frameBytes = 64 * 1024;
/** Some three seconds, of which the windows take a few round trips to open. */
const frames = 600;
const dialers = { gRPC: grpcDialer, WebSocket: webSocketDialer };

export async function bench({ progress }: BenchPorts): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [transport, makeDialer] of Object.entries(dialers)) {
    for (const from of ['child', 'parent'] as const) {
      progress(`${transport}, from the ${from}`);
      const value = (await throughput(makeDialer, from)) / 1e6;
      figures.push({
        name: `${transport}, ${frames * frameBytes} bytes from the ${from}`,
        value,
        unit: 'MB/s',
        baseline: { name: 'the line', value: line.bytesPerSecond / 1e6 },
        goal: { of: 'ratio', is: '≥', bound: 0.8 },
      });
    }
  }
  return figures;
}

/** Bytes a second from the arrival of the first frame to that of the last. */
async function throughput(makeDialer: typeof grpcDialer, from: 'child' | 'parent'): Promise<number> {
  const tree = await TestTree.create();
  const [parent, child] = [new Counting(), new Counting()];
  const listener = await listenMesh({
    host: '127.0.0.1',
    port: 0,
    credentials: await tree.credentials('eu', 'relay'),
    accept(link) {
      parent.link = link;
      return parent;
    },
    log: silentLogger,
  });
  const middle = await longLine(listener.address, line);
  const way = wayTo({
    address: middle.address,
    parentPath: 'eu',
    credentials: await tree.credentials('eu:kid', 'agent'),
    clock: systemClock,
  });
  try {
    child.link = await makeDialer(way).dial(child, 10_000);
    const [sender, receiver] = from === 'child' ? [child, parent] : [parent, child];
    sender.pump();
    await receiver.all;
    return ((frames - 1) * frameBytes * 1000) / (receiver.lastMs - receiver.firstMs);
  } finally {
    await middle[Symbol.asyncDispose]();
    await listener[Symbol.asyncDispose]();
  }
}

class Counting implements LinkEvents {
  link: Link | undefined;
  firstMs = 0;
  lastMs = 0;
  readonly all: Promise<void>;
  #done: (error?: Error) => void = () => {};
  #received = 0;
  #left = frames;

  constructor() {
    this.all = new Promise((resolve, reject) => {
      this.#done = (error) => (error ? reject(error) : resolve());
    });
    // A sender that receives nothing is not awaited.
    this.all.catch(() => {});
  }

  pump(): void {
    while (this.#left > 0) {
      this.#left--;
      if (!this.link!.send(data(Buffer.alloc(frameBytes, this.#left)))) return;
    }
  }

  onFrame(): void {
    this.lastMs = performance.now();
    if (this.#received === 0) this.firstMs = this.lastMs;
    this.#received++;
    if (this.#received === frames) this.#done();
  }

  onBytes(): void {}

  onDrain(): void {
    this.pump();
  }

  onClose(): void {
    this.#done(new Error('the link ended before all had arrived'));
  }
}
