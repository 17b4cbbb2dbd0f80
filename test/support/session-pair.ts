/** A parent and a child with their feeds and sessions on memory stores and virtual time. */

import { FeedConsumer } from '../../core/feed/consumer.ts';
import type { AppliedChange } from '../../core/feed/feed.ts';
import { FeedProducer } from '../../core/feed/producer.ts';
import type { Expiry } from '../../core/identity/expiry.ts';
import { VirtualClock } from '../../core/runtime/clock.ts';
import { silentLogger } from '../../core/runtime/logger.ts';
import { SeededRandom } from '../../core/runtime/random.ts';
import { ChildSession } from '../../core/session/child-session.ts';
import { beginBoot, markCaughtUp } from '../../core/session/node-identity.ts';
import { ParentSessions } from '../../core/session/parent-sessions.ts';
import { MemoryStore } from '../../core/store/memory/memory-store.ts';
import type { Transaction } from '../../core/store/store.ts';
import type { Frame } from '../../core/wire/generated/mesh.ts';
import { memoryDialer } from '../../core/wire/memory/memory-link.ts';

export class SessionPair {
  /** The refusals at the parent: the child's path and the reason. */
  readonly refusals: string[] = [];
  readonly clock = new VirtualClock();
  readonly frames: { from: 'child' | 'parent'; frame: Frame; atMs: number }[] = [];
  readonly down: AppliedChange[] = [];
  readonly up: AppliedChange[] = [];
  /** The parent's cursor each time that it announces applied entries. */
  readonly upCursors: number[] = [];
  readonly events: string[] = [];
  /** Children that attached with rows that the parent has not sent. */
  readonly otherHistories: string[] = [];
  /** The child's acknowledgement in the parent's store, each time that the parent announces an acknowledgement. */
  readonly stored: number[] = [];
  parentReady = true;
  childReady = true;
  cut = false;
  /** The attach sequence of an earlier attachment to this parent. */
  attachedWith = 0;
  /** The seed of the child's reconciliations. Absent: random. */
  childSeed: Uint8Array | undefined;
  /** The entries that the child writes when it is welcomed. */
  attaching: (t: Transaction) => void = () => {};
  /** How often the child received a tuple with rows that the child's store may have lost. */
  putBacks = 0;
  /** The keys that the parent had received when it learned that it had received all. */
  upWhenCaughtUp: string[] | undefined;
  /** Options of the parent. */
  rootAgeMs = () => 0;
  /** Why each end refuses the certificates of the other one. */
  readonly revoked: { parent?: string; child?: string } = {};
  /** Options of the links that are opened from now on. */
  expiry: Expiry | undefined;
  readonly #delayMs: number;
  #seed = 1;
  parent!: ReturnType<SessionPair['startParent']>;
  child!: ReturnType<SessionPair['startChild']>;

  /** `delayMs`: the delay in each direction, on all links. */
  constructor(parentStore = new MemoryStore(), childStore = new MemoryStore(), delayMs = 1) {
    this.#delayMs = delayMs;
    this.parent = this.startParent(parentStore);
    this.child = this.startChild(childStore);
  }

  startParent(store: MemoryStore) {
    const random = new SeededRandom(this.#seed++);
    const feeds = store.write((t) => {
      const { bootNonce } = beginBoot(t, this.clock, random);
      const producer = FeedProducer.open(t, { name: 'mailbox/kid', bootNonce, random });
      return { producer, consumer: FeedConsumer.open(t, { name: 'reported/kid' }) };
    });
    const sessions: ParentSessions = new ParentSessions({
      defer: queueMicrotask,
      store,
      clock: this.clock,
      random,
      log: silentLogger,
      refused: (path, reason) => this.refusals.push(`${path}: ${reason}`),
      path: 'eu',
      software: 'test',
      whyRevoked: () => this.revoked.child,
      feedsOf: () => feeds,
      ready: () => this.parentReady,
      hasOtherHistory: (child) => this.otherHistories.push(child),
      replicas: {
        hasReplicas: false,
        superseded: (_child, sequence) =>
          sequence < this.attachedWith ? { message: 'a newer one is known', sequence: this.attachedWith } : undefined,
        attached: (_t, _child, _role, sequence) => {
          this.attachedWith = sequence;
        },
      },
      applied: (t, _child, changes) => {
        this.up.push(...changes);
        this.upCursors.push(feeds.consumer.resume(t).cursor);
      },
      committed: () => {},
      acknowledgementStored: () => this.stored.push(store.read((reader) => feeds.producer.acknowledged(reader))),
      caughtUp: () => {
        this.upWhenCaughtUp ??= this.up.map(({ key }) => key);
      },
      connected: () => this.events.push('parent: connected'),
      disconnected: (_child, reason) => this.events.push(`parent: disconnected, ${reason}`),
      rootAgeMs: () => this.rootAgeMs(),
    });
    return { store, sessions, ...feeds };
  }

  startChild(store: MemoryStore) {
    const random = new SeededRandom(this.#seed++);
    const { identity, producer, consumer } = store.write((t) => {
      const boot = beginBoot(t, this.clock, random);
      const { bootNonce } = boot;
      return {
        identity: boot,
        producer: FeedProducer.open(t, { name: 'outbox', bootNonce, random }),
        consumer: FeedConsumer.open(t, { name: 'upstream' }),
      };
    });
    const network = {
      clock: this.clock,
      delayMs: this.#delayMs,
      isCut: () => this.cut,
      expiry: () => this.expiry,
      passes: (frame: Frame, from: 'child' | 'parent') => {
        this.frames.push({ from, frame, atMs: this.clock.monotonicMs() });
        return true;
      },
    };
    const dialer = memoryDialer(network, { path: 'eu:kid', role: 'agent' }, { path: 'eu', role: 'relay' }, (link) =>
      this.parent.sessions.accept(link),
    );
    const session: ChildSession = new ChildSession({
      store,
      clock: this.clock,
      random: { fraction: () => random.fraction(), bytes: (length) => this.childSeed ?? random.bytes(length) },
      log: silentLogger,
      dialer,
      whyRevoked: () => this.revoked.parent,
      identity,
      path: 'eu:kid',
      role: 'agent',
      software: 'test',
      producer,
      consumer,
      applied: (_t, changes) => this.down.push(...changes),
      committed: () => {},
      attaching: (t) => this.attaching(t),
      connected: () => this.events.push('child: connected'),
      disconnected: (reason) => this.events.push(`child: disconnected, ${reason}`),
      putBack: () => {
        this.putBacks++;
      },
      caughtUp: () => {
        store.write((t) => markCaughtUp(t));
        this.events.push('child: caught up');
      },
      ready: () => this.childReady,
      unreachedChanged: () => this.events.push(`child: unreached, ${session.unreached}`),
    });
    return { store, session, dialer, producer, consumer };
  }

  /** Puts a value at the parent and wakes the session. */
  put(key: string, value: string): void {
    this.parent.store.write((t) => this.parent.producer.put(t, content(key, value), 0));
  }

  /** Advances virtual time, with the microtasks between its steps. */
  async run(ms: number): Promise<void> {
    for (let done = 0; done < ms; done += 1) {
      this.clock.advance(1);
      for (let i = 0; i < 4; i++) await Promise.resolve();
    }
  }

  /** The child's rows: the body of each, keyed by its key. */
  held(): Record<string, string> {
    return this.child.store.read((reader) =>
      Object.fromEntries(
        [...this.child.consumer.rows(reader)].map((row) => {
          const { key, body } = this.child.consumer.content(reader, row.content!);
          return [key, Buffer.from(body).toString()];
        }),
      ),
    );
  }
}

export function content(key: string, body: string) {
  return { key, attributes: Buffer.from('{}'), body: Buffer.from(body) };
}
