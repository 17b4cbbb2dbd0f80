import { describe, expect, it } from 'vitest';
import { FeedConsumer } from '../../../../core/feed/consumer.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { attachTo, beginAttach, passAttachSequence, readAttachment } from '../../../../core/session/attach.ts';
import { candidates, ended, notReached, returnAfterMs, sessionMinMs } from '../../../../core/session/candidates.ts';
import { ChildSession } from '../../../../core/session/child-session.ts';
import { failoverDialer } from '../../../../core/session/failover-dialer.ts';
import { beginBoot } from '../../../../core/session/node-identity.ts';
import { ParentSessions } from '../../../../core/session/parent-sessions.ts';
import { describeParentLag, raised, readWatermarks, type Watermarks } from '../../../../core/session/watermark.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { memoryDialer } from '../../../../core/wire/memory/memory-link.ts';
import { content } from '../../../support/session-pair.ts';

const source = 'center.retail';
const key = (name: string) => `o/${source}/core/configmaps/ns/${name}`;

describe('the parent that is tried next', () => {
  it('is the next one after one that does not answer, in a circle', () => {
    const [first, second] = [candidates(3), notReached(candidates(3))];
    expect([first.next, second.next, notReached(second).next, notReached(notReached(second)).next]).toEqual([
      0, 1, 2, 0,
    ]);
  });

  it('is the same again when a session ends, and the next one if the session ended at once', () => {
    expect(ended({ count: 2, next: 1 }, sessionMinMs).next).toBe(1);
    expect(ended({ count: 2, next: 0 }, sessionMinMs - 1).next).toBe(1);
  });

  it('is the home after a long time elsewhere, and when the child itself ended the session for that reason', () => {
    expect(ended({ count: 2, next: 1 }, returnAfterMs).next).toBe(0);
    expect(ended({ count: 2, next: 1 }, sessionMinMs, 'home').next).toBe(0);
  });

  it('is the next one when the child itself left one that is cut off, however long it was there', () => {
    expect(ended({ count: 3, next: 1 }, returnAfterMs, 'on').next).toBe(2);
    expect(ended({ count: 2, next: 1 }, sessionMinMs, 'on').next).toBe(0);
  });
});

describe('an attach sequence', () => {
  it('grows when the parent is another one than last time, and only then', () => {
    const first = attachTo(undefined, 'eu', 1_700);
    expect(first).toEqual({ sequence: 1_700, parent: 'eu' });
    expect(attachTo(first, 'eu', 9_999)).toBe(first);
    expect(attachTo(first, 'eu~1', 1_600)).toEqual({ sequence: 1_701, parent: 'eu~1' });
  });

  it('continues above the number that the parent names, which is not lower and not absurdly high', () => {
    const store = new MemoryStore();
    const nextSequence = (known: number) => {
      store.write((t) => passAttachSequence(t, known));
      return store.read((reader) => readAttachment(reader))?.sequence;
    };
    expect(nextSequence(5)).toBeUndefined();
    const clock = new VirtualClock();
    const { sequence } = store.write((t) => beginAttach(t, { path: 'eu', role: 'relay' }, clock));
    expect(nextSequence(sequence - 1)).toBe(sequence);
    expect(nextSequence(sequence + 7)).toBe(sequence + 8);
    expect(nextSequence(2 ** 43)).toBe(sequence + 8);
    expect(store.write((t) => beginAttach(t, { path: 'eu', role: 'relay' }, clock)).sequence).toBe(sequence + 8);
  });

  it('ignores a clock that is far ahead, and is right again when the clock is', () => {
    const far = 2 ** 43;
    expect(attachTo(undefined, 'eu', far)).toEqual({ sequence: 1, parent: 'eu' });
    expect(attachTo({ sequence: far, parent: 'eu' }, 'eu', 1_700)).toEqual({ sequence: 1_700, parent: 'eu' });
  });

  it('is above all numbers sent before a store was restored', () => {
    const backup = attachTo(undefined, 'eu', 1_700);
    const lost = attachTo(backup, 'eu~1', 1_800);
    expect(attachTo(backup, 'eu~2', 1_900).sequence).toBeGreaterThan(lost.sequence);
  });
});

describe('watermarks', () => {
  it('never decrease, and name the sources of which a parent has too little', () => {
    expect(raised({ a: 5, b: 1 }, { a: 3, b: 2 })).toEqual({ a: 5, b: 2 });
    expect(describeParentLag({ a: 5 }, { a: 5 })).toBeUndefined();
    expect(describeParentLag({ a: 4 }, { a: 5 })).toContain('a is at revision 4 there, and at 5 here');
    expect(describeParentLag({}, { a: 1 })).toContain('revision 0 there');
  });
});

describe('a child of replicas', () => {
  it('continues with the other replica, and attaches with a higher sequence', async () => {
    const mesh = new ReplicaPair();
    mesh.put([0, 1], 'a', 1, 'one');
    mesh.watermark([0, 1], { [source]: 1 });
    mesh.child.start();
    await mesh.run(50);
    const before = mesh.sequence();
    mesh.cut(0);
    mesh.put([1], 'b', 2, 'two');
    mesh.watermark([1], { [source]: 2 });
    await mesh.run(4_000);
    expect(mesh.held()).toEqual({ a: 'one', b: 'two' });
    expect(mesh.sequence()).toBeGreaterThan(before);
  });

  it('continues with the other replica when its home accepts connections and sends nothing in time', async () => {
    const mesh = new ReplicaPair();
    mesh.put([1], 'a', 1, 'one');
    mesh.watermark([0, 1], { [source]: 1 });
    mesh.far(0, 10_000);
    mesh.child.start();
    // The child waits 15 s for a welcome, and hangs up.
    await mesh.run(40_000);
    expect(mesh.attachedTo()).toBe(1);
    expect(mesh.held()).toEqual({ a: 'one' });
    // The links to its home have ended late, and no longer affect it.
    mesh.blink(1);
    await mesh.run(5_000);
    expect(mesh.attachedTo()).toBe(1);
  });

  it('continues with the other replica when its home refuses, however late', async () => {
    const mesh = new ReplicaPair();
    mesh.watermark([0, 1], { [source]: 1 });
    mesh.far(0, 1_500);
    mesh.refuse(0);
    mesh.child.start();
    await mesh.run(40_000);
    expect(mesh.attachedTo()).toBe(1);
  });

  it('accepts nothing from a replica that is behind: no older value, no deletion, and no row that was deleted since', async () => {
    const mesh = new ReplicaPair();
    for (const name of ['a', 'gone']) mesh.put([0, 1], name, 1, 'one');
    mesh.watermark([0, 1], { [source]: 1 });
    mesh.child.start();
    await mesh.run(50);
    // From here on the second replica receives nothing.
    mesh.put([0], 'a', 2, 'two');
    mesh.put([0], 'b', 3, 'three');
    mesh.remove([0], 'gone', 4);
    mesh.watermark([0], { [source]: 4 });
    await mesh.run(50);
    const held = { a: 'two', b: 'three' };
    expect(mesh.held()).toEqual(held);
    mesh.cut(0);
    await mesh.run(20_000);
    expect(mesh.attachedTo()).toBe(1);
    expect(mesh.held()).toEqual(held);
    expect(mesh.child.waiting?.for).toBe('center.retail is at revision 1 there, and at 4 here');
    expect(mesh.clock.wallMs() - mesh.child.waiting!.sinceMs).toBeGreaterThan(10_000);
    // It catches up, and gets one more change.
    mesh.put([1], 'a', 5, 'five');
    mesh.put([1], 'b', 3, 'three');
    mesh.remove([1], 'gone', 4);
    mesh.watermark([1], { [source]: 5 });
    await mesh.run(2_000);
    expect(mesh.held()).toEqual({ a: 'five', b: 'three' });
    expect(mesh.child.waiting).toBeUndefined();
    expect(mesh.watermarks()).toEqual({ own: { [source]: 5 }, complete: { [source]: 5 } });
  });

  it('follows a replica that was up to date before it was ready, and reports so without new data to send', async () => {
    const mesh = new ReplicaPair();
    mesh.put([0, 1], 'a', 1, 'one');
    mesh.put([0], 'gone', 1, 'one');
    mesh.watermark([0], { [source]: 1 });
    mesh.child.start();
    await mesh.run(50);
    mesh.unready(1);
    mesh.watermark([1], { [source]: 2 });
    mesh.put([1], 'a', 2, 'two');
    mesh.cut(0);
    await mesh.run(20_000);
    expect(mesh.attachedTo()).toBe(1);
    expect(mesh.held()).toEqual({ a: 'one', gone: 'one' });
    expect(mesh.watermarks()).toEqual({ own: { [source]: 1 }, complete: {} });
    mesh.ready(1);
    await mesh.run(1_000);
    expect(mesh.held()).toEqual({ a: 'two' });
    expect(mesh.child.waiting).toBeUndefined();
    expect(mesh.watermarks()).toEqual({ own: { [source]: 2 }, complete: { [source]: 2 } });
  });
});

/** Two replicas with a mailbox each, and one child. */
class ReplicaPair {
  readonly clock = new VirtualClock();
  readonly #cut = new Set<number>();
  readonly #refusing = new Set<number>();
  readonly #delayMs = [1, 1];
  readonly #unready = new Set<number>();
  readonly #marks: Watermarks[] = [{}, {}];
  readonly #store = new MemoryStore();
  readonly #consumer: FeedConsumer;
  readonly #parents = [0, 1].map((replica) => this.#parent(replica));
  readonly child: ChildSession;

  constructor() {
    const random = new SeededRandom(7);
    const { identity, producer, consumer } = this.#store.write((t) => {
      const boot = beginBoot(t, this.clock, random);
      const outbox = FeedProducer.open(t, { name: 'outbox', bootNonce: boot.bootNonce, random });
      return { identity: boot, producer: outbox, consumer: FeedConsumer.open(t, { name: 'upstream' }) };
    });
    this.#consumer = consumer;
    const dialers = this.#parents.map(({ dialer }) => dialer);
    this.child = new ChildSession({
      store: this.#store,
      clock: this.clock,
      random,
      log: silentLogger,
      dialer: failoverDialer({ clock: this.clock, random }, dialers),
      identity,
      path: 'eu:kid',
      role: 'agent',
      software: 'test',
      producer,
      consumer,
      applied() {},
      committed() {},
      connected() {},
      disconnected() {},
      caughtUp() {},
      ready: () => true,
    });
  }

  #parent(replica: number) {
    const [store, random, clock] = [new MemoryStore(), new SeededRandom(replica + 1), this.clock];
    const feeds = store.write((t) => {
      const { bootNonce } = beginBoot(t, clock, random);
      const producer = FeedProducer.open(t, { name: 'mailbox/kid', bootNonce, random });
      return { producer, consumer: FeedConsumer.open(t, { name: 'reported/kid' }) };
    });
    const sessions = new ParentSessions({
      defer: queueMicrotask,
      store,
      clock,
      random,
      log: silentLogger,
      path: 'eu',
      software: 'test',
      feedsOf: () => feeds,
      ready: () => !this.#unready.has(replica),
      replicas: {
        hasReplicas: true,
        superseded: () => (this.#refusing.has(replica) ? { message: 'it is elsewhere' } : undefined),
        attached() {},
      },
      watermarks: () => this.#marks[replica]!,
      applied() {},
      committed() {},
      acknowledged() {},
      connected() {},
      disconnected() {},
      rootAgeMs: () => 0,
    });
    const delays = this.#delayMs;
    const network = {
      clock,
      get delayMs() {
        return delays[replica]!;
      },
      isCut: () => this.#cut.has(replica),
    };
    const peer = { path: 'eu', role: 'relay', ...(replica === 0 ? {} : { replica }) } as const;
    const dialer = memoryDialer(network, { path: 'eu:kid', role: 'agent' }, peer, (link) => sessions.accept(link));
    return { store, sessions, dialer, ...feeds };
  }

  put(replicas: readonly number[], name: string, originRevision: number, body: string): void {
    for (const replica of replicas) {
      const { store, producer } = this.#parents[replica]!;
      store.write((t) => producer.put(t, content(key(name), body), originRevision));
    }
  }

  remove(replicas: readonly number[], name: string, originRevision: number): void {
    for (const replica of replicas) {
      const { store, producer } = this.#parents[replica]!;
      store.write((t) => producer.remove(t, hash128(key(name)), originRevision));
    }
  }

  watermark(replicas: readonly number[], marks: Watermarks): void {
    for (const replica of replicas) {
      this.#marks[replica] = marks;
      this.#parents[replica]!.sessions.watermarksChanged();
    }
  }

  refuse(replica: number): void {
    this.#refusing.add(replica);
  }

  far(replica: number, delayMs: number): void {
    this.#delayMs[replica] = delayMs;
  }

  unready(replica: number): void {
    this.#unready.add(replica);
  }

  ready(replica: number): void {
    this.#unready.delete(replica);
    this.#parents[replica]!.sessions.readyChanged();
  }

  cut(replica: number): void {
    this.#cut.add(replica);
    this.#parents[replica]!.dialer.cut();
  }

  /** Its connections break, and can be made again. */
  blink(replica: number): void {
    this.#parents[replica]!.dialer.cut();
  }

  attachedTo(): number {
    return this.#parents.findIndex(({ sessions }) => sessions.status('kid').connected);
  }

  sequence(): number {
    return this.#store.read((reader) => readAttachment(reader))!.sequence;
  }

  watermarks() {
    return this.#store.read((reader) => readWatermarks(reader));
  }

  held(): Record<string, string> {
    return this.#store.read((reader) =>
      Object.fromEntries(
        [...this.#consumer.rows(reader)].map((row) => {
          const { key: at, body } = this.#consumer.content(reader, row.content!);
          return [at.split('/').at(-1), Buffer.from(body).toString()];
        }),
      ),
    );
  }

  async run(ms: number): Promise<void> {
    for (let done = 0; done < ms; done += 1) {
      this.clock.advance(1);
      for (let i = 0; i < 4; i++) await Promise.resolve();
    }
  }
}
