import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Content } from '../../../core/feed/feed.ts';
import { silentLogger } from '../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../core/runtime/random.ts';
import { versionMax, versionMin } from '../../../core/session/handshake.ts';
import { tupleToWire } from '../../../core/session/wire-frames.ts';
import { MemoryStore } from '../../../core/store/memory/memory-store.ts';
import { type Frame, Hello } from '../../../core/wire/generated/mesh.ts';
import type { Accept, Link } from '../../../core/wire/link.ts';
import { memoryDialer } from '../../../core/wire/memory/memory-link.ts';
import { nodeConfigSchema } from '../../../relay/config/config.ts';
import { Node } from '../../../relay/node/node.ts';
import { SessionPair } from '../../support/session-pair.ts';

/** A relay with one agent, below a parent that sends the given entries. */
class Relay {
  readonly parent = new SessionPair();
  readonly store = new MemoryStore();
  readonly failures: unknown[] = [];
  readonly toAgent: Frame[] = [];
  #accept!: Accept;
  #node!: Node;
  #revision = 0;

  async start(): Promise<this> {
    const { clock, parent } = this.parent;
    const config = nodeConfigSchema.parse({
      path: 'eu:kid',
      data: '',
      parent: { address: 'eu:1', path: 'eu' },
      pki: { ca: '', cert: '', key: '' },
      api: {},
      mesh: {},
      inventory: [{ name: 'store' }],
    });
    const network = { clock, delayMs: 1, isCut: () => false };
    const dialer = memoryDialer(network, { path: 'eu:kid', role: 'relay' }, { path: 'eu', role: 'relay' }, (link) =>
      parent.sessions.accept(link),
    );
    this.#node = new Node(config, {
      store: this.store,
      clock,
      random: new SeededRandom(1),
      log: silentLogger,
      authority: () => '',
      software: 'test',
      defer: (run) => void clock.after(0, run),
      fatal: (error) => void this.failures.push(error),
      network: {
        listen: async (accept) => {
          this.#accept = accept;
          return { address: '', async [Symbol.asyncDispose]() {} };
        },
        dialer: () => dialer,
      },
      api: () => ({
        mount() {},
        resolveWith() {},
        take() {},
        revocationsChanged() {},
        listen: async () => '',
        async [Symbol.asyncDispose]() {},
      }),
    });
    await this.#node.start();
    await this.pass();
    this.#hello();
    await this.pass();
    return this;
  }

  async restart(): Promise<void> {
    this.toAgent.length = 0;
    await this.#node[Symbol.asyncDispose]();
    await this.start();
  }

  async end(): Promise<void> {
    await this.#node[Symbol.asyncDispose]();
  }

  async send(contents: readonly Content[]): Promise<void> {
    const { store, producer } = this.parent.parent;
    store.write((t) => {
      for (const content of contents) producer.put(t, content, ++this.#revision);
    });
    await this.pass();
  }

  get keysToAgent(): string[] {
    return this.toAgent.flatMap(({ frame }) =>
      frame?.$case === 'batch' ? frame.value.entries.map(({ key }) => key) : [],
    );
  }

  #hello(): void {
    const link: Link = {
      peer: { path: 'eu:kid:store', role: 'agent' },
      transport: 'test',
      send: (frame) => this.toAgent.push(frame) > 0,
      close() {},
      queuedBytes: () => 0,
    };
    const value = {
      ...Hello.decode(new Uint8Array(0)),
      versionMin,
      versionMax,
      transport: 'memory',
      path: 'eu:kid:store',
      role: 'agent',
      bootCounter: 1,
      bootNonce: Buffer.alloc(16, 1),
      down: tupleToWire({ epoch: '', incarnation: '', cursor: 0, seenHead: 0 }),
    };
    this.#accept(link).onFrame({ frame: { $case: 'hello', value } });
  }

  async pass(): Promise<void> {
    for (let i = 0; i < 25; i++) {
      this.parent.clock.advance(20);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

const content = (key: string, attributes: object, body: object | string = ''): Content => ({
  key,
  attributes: Buffer.from(JSON.stringify(attributes)),
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
});
const origin = { uid: 'u', created: '2026-01-01T00:00:00Z', generation: 1 };
const goodKey = 'o/center.retail//configmaps/shop/good';
const good = [
  content('tree', { path: 'eu:kid', labels: {} }),
  content('p/center.retail/good', origin, {
    metadata: { name: 'good' },
    apiVersion: 'edge.banyan.io/v1alpha1',
    kind: 'EdgePlacement',
    spec: { locationSelectors: [{}] },
  }),
  content(goodKey, { ...origin, refs: ['good'] }, { metadata: { name: 'good' }, apiVersion: 'v1', kind: 'ConfigMap' }),
  content('t/center.retail/good', { generation: 1, target: 1, priority: 0, created: '', uid: '' }),
];

it('whatever a parent sends under whatever key, a relay passes the good entries on, at the next start too', async () => {
  const start = fc.constantFrom(
    ...['', 'x/', 'p/center.retail/', 't/center.retail/', 'o/center.retail//configmaps/shop/', 'u/center.retail/'],
    ...[
      'a/center.retail//customizers/shop/',
      'i/center.fleet/',
      'r/center.retail/',
      'g/center.retail/',
      'revision-gaps/center.',
    ],
    ...['q/center.retail/shop//configmaps/shop/', 'c/center.retail/shop//customizers/shop/', 'owner/', 'siblings'],
  );
  const json = fc.json().map((one) => Buffer.from(one));
  const objectLike = fc.constantFrom(content('', { ...origin, refs: ['good'] }).attributes, Buffer.from('{}'));
  const bytes = fc.oneof(fc.uint8Array(), json, objectLike);
  const entries = fc.array(fc.tuple(start, fc.string({ maxLength: 20 }), bytes, bytes), {
    minLength: 1,
    maxLength: 10,
  });
  await fc.assert(
    fc.asyncProperty(entries, async (sent) => {
      const relay = await new Relay().start();
      const keys = new Set(sent.map(([prefix, rest]) => prefix + rest));
      await relay.send(sent.map(([prefix, rest, attributes, body]) => ({ key: prefix + rest, attributes, body })));
      await relay.send(good.filter(({ key }) => !keys.has(key)));
      expect(relay.failures).toEqual([]);
      expect(relay.keysToAgent).toContain(goodKey);
      await relay.restart();
      expect(relay.failures).toEqual([]);
      expect(relay.keysToAgent).toContain(goodKey);
      await relay.end();
    }),
    { numRuns: 15 },
  );
});
