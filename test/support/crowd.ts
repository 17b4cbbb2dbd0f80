/** A parent with very many children, on virtual time. */
import { FeedConsumer } from '../../core/feed/consumer.ts';
import { FeedProducer } from '../../core/feed/producer.ts';
import { VirtualClock } from '../../core/runtime/clock.ts';
import { silentLogger } from '../../core/runtime/logger.ts';
import { SeededRandom } from '../../core/runtime/random.ts';
import { ChildSession } from '../../core/session/child-session.ts';
import { beginBoot } from '../../core/session/node-identity.ts';
import { ParentSessions } from '../../core/session/parent-sessions.ts';
import { MemoryStore } from '../../core/store/memory/memory-store.ts';
import type { Frame } from '../../core/wire/generated/mesh.ts';
import { type MemoryDialer, memoryDialer } from '../../core/wire/memory/memory-link.ts';

export class Crowd {
  readonly clock = new VirtualClock();
  readonly connected = new Set<string>();
  /** The time at which each session began. */
  readonly begunAtMs: number[] = [];
  /** Called for each frame on any of the lines. */
  passes: (frame: Frame) => void = () => {};
  readonly #random = new SeededRandom(5);
  readonly #store = new MemoryStore();
  readonly #dialers: MemoryDialer[] = [];
  #parent: ParentSessions | undefined;

  startParent(): void {
    const bootNonce = this.#store.write((t) => beginBoot(t, this.clock, this.#random).bootNonce);
    this.#parent = new ParentSessions({
      store: this.#store,
      clock: this.clock,
      random: this.#random,
      log: silentLogger,
      path: 'eu',
      software: 'test',
      feedsOf: (t, child) => ({
        producer: FeedProducer.open(t, { name: `mailbox/${child}`, bootNonce, random: this.#random }),
        consumer: FeedConsumer.open(t, { name: `reported/${child}` }),
      }),
      ready: () => true,
      applied: () => {},
      committed: () => {},
      connected: (child) => {
        this.connected.add(child);
        this.begunAtMs.push(this.clock.monotonicMs());
      },
      disconnected: (child) => this.connected.delete(child),
      rootAgeMs: () => 0,
      defer: queueMicrotask,
    });
  }

  killParent(): void {
    this.#parent = undefined;
    for (const dialer of this.#dialers) dialer.cut();
  }

  startChildren(children: number): void {
    for (let i = 0; i < children; i++) this.#startChild(`kid-${i}`);
  }

  #startChild(name: string): void {
    const store = new MemoryStore();
    const random = new SeededRandom(1_000 + this.#dialers.length);
    const { identity, producer, consumer } = store.write((t) => {
      const boot = beginBoot(t, this.clock, random);
      return {
        identity: boot,
        producer: FeedProducer.open(t, { name: 'outbox', bootNonce: boot.bootNonce, random }),
        consumer: FeedConsumer.open(t, { name: 'upstream' }),
      };
    });
    const passes = (frame: Frame) => {
      this.passes(frame);
      return true;
    };
    const network = { clock: this.clock, delayMs: 5, isCut: () => this.#parent === undefined, passes };
    const dialer = memoryDialer(network, { path: `eu:${name}`, role: 'agent' }, { path: 'eu', role: 'relay' }, (link) =>
      this.#parent!.accept(link),
    );
    this.#dialers.push(dialer);
    new ChildSession({
      store,
      clock: this.clock,
      random,
      log: silentLogger,
      dialer,
      identity,
      path: `eu:${name}`,
      role: 'agent',
      software: 'test',
      producer,
      consumer,
      applied: () => {},
      committed: () => {},
      connected: () => {},
      disconnected: () => {},
      caughtUp: () => {},
      ready: () => true,
    }).start();
  }

  async run(ms: number): Promise<void> {
    for (let done = 0; done < ms; done += 5) {
      this.clock.advance(5);
      for (let i = 0; i < 6; i++) await Promise.resolve();
    }
  }
}
