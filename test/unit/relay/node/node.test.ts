import { describe, expect, it } from 'vitest';
import type { Space } from '../../../../core/apiserver/space.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { versionMax, versionMin } from '../../../../core/session/handshake.ts';
import { tupleToWire } from '../../../../core/session/wire-frames.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { type Frame, Hello } from '../../../../core/wire/generated/mesh.ts';
import type { Accept, Link } from '../../../../core/wire/link.ts';
import { nodeConfigSchema } from '../../../../relay/config/config.ts';
import { Node } from '../../../../relay/node/node.ts';

/** A center with one destination, and a child that sends a Hello to it. */
class Center {
  readonly clock = new VirtualClock();
  readonly sent: Frame[] = [];
  readonly spaces = new Map<string, Space>();
  isClosed = false;
  #accept!: Accept;

  async start(): Promise<this> {
    const config = nodeConfigSchema.parse({
      path: '',
      data: '',
      pki: { ca: '', cert: '', key: '' },
      api: {},
      mesh: {},
      inventory: [{ name: 'store' }],
    });
    const node = new Node(config, {
      store: new MemoryStore(),
      clock: this.clock,
      random: new SeededRandom(1),
      log: silentLogger,
      authority: () => '',
      software: 'test',
      defer: (run) => void this.clock.after(0, run),
      fatal: (error) => {
        throw error;
      },
      network: {
        listen: async (accept) => {
          this.#accept = accept;
          return { address: '', async [Symbol.asyncDispose]() {} };
        },
        dialer: () => ({ dial: () => Promise.reject(new Error('a center dials nobody')) }),
      },
      api: () => ({
        mount: (prefix, space) => void this.spaces.set(prefix, space),
        resolveWith() {},
        take() {},
        revocationsChanged() {},
        listen: async () => '',
        async [Symbol.asyncDispose]() {},
      }),
    });
    await node.start();
    await this.pass();
    return this;
  }

  async hello(): Promise<void> {
    const link: Link = {
      peer: { path: 'store', role: 'agent' },
      transport: 'test',
      send: (frame) => {
        this.sent.push(frame);
        return true;
      },
      close: () => {
        this.isClosed = true;
      },
      queuedBytes: () => 0,
    };
    const value = {
      ...Hello.decode(new Uint8Array(0)),
      versionMin,
      versionMax,
      transport: 'memory',
      path: 'store',
      role: 'agent',
      bootCounter: 1,
      bootNonce: Buffer.alloc(16, 1),
      down: tupleToWire({ epoch: '', incarnation: '', cursor: 0, seenHead: 0 }),
    };
    this.#accept(link).onFrame({ frame: { $case: 'hello', value } });
    await this.pass();
  }

  get sentKinds(): (string | undefined)[] {
    return this.sent.map(({ frame }) => frame?.$case);
  }

  async pass(): Promise<void> {
    for (let i = 0; i < 20; i++) {
      this.clock.advance(10);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

describe('a node without an API server', () => {
  it('ends the session of a child when its SyncTarget is deleted, and refuses the child from then on', async () => {
    const center = await new Center().start();
    await center.hello();
    expect(center.sentKinds).toContain('welcome');
    const system = center.spaces.get('')!;
    const target = { apiVersion: 'inventory.banyan.io/v1alpha1', kind: 'SyncTarget', metadata: { name: 'store' } };
    system.delete(system.keyOf(target));
    await center.pass();
    expect(center.sentKinds.at(-1)).toBe('goodbye');
    expect(center.isClosed).toBe(true);
    await center.hello();
    expect(center.sentKinds.at(-1)).toBe('retry');
  });
});
