/** The base of the worlds of transcripts: virtual time, a store for each name, and a record of events as lines. */

import { FeedConsumer } from '../../core/feed/consumer.ts';
import { FeedProducer } from '../../core/feed/producer.ts';
import type { Judge } from '../../core/feed/quarantine.ts';
import { VirtualClock } from '../../core/runtime/clock.ts';
import { SeededRandom } from '../../core/runtime/random.ts';
import { beginBoot } from '../../core/session/node-identity.ts';
import { MemoryStore } from '../../core/store/memory/memory-store.ts';
import type { Store } from '../../core/store/store.ts';
import { FrameText } from './frame-text.ts';
import { lineLogger, ProcessClock } from './process.ts';

export const startMs = 1_700_000_000_000;

export class VirtualNodes {
  protected readonly clock = new VirtualClock(startMs);
  /** The texts of hashes, as they are in frames. */
  protected readonly keys = new Map<string, string>();
  protected readonly frameText = new FrameText(this.keys);
  protected readonly stores = new Map<string, MemoryStore>();
  #lines: string[] = [];
  #seed = 1;

  /** The events since the last call. */
  takeLines(): string[] {
    const lines = this.#lines;
    this.#lines = [];
    return lines;
  }

  /** `turn`: a turn of the event loop, for events that take one. */
  async run(ms: number, turn?: () => Promise<unknown>): Promise<void> {
    for (let done = 0; done < ms; done++) {
      this.clock.advance(1);
      await turn?.();
      for (let i = 0; i < 5; i++) await Promise.resolve();
    }
  }

  store(name: string): MemoryStore {
    const store = this.stores.get(name) ?? this.newStore(name);
    this.stores.set(name, store);
    return store;
  }

  copy(from: string, to: string): void {
    this.stores.set(to, this.store(from).copy());
  }

  protected newStore(_name: string): MemoryStore {
    return new MemoryStore();
  }

  protected note(line: string): void {
    const atMs = Math.round(this.clock.monotonicMs() - startMs);
    this.#lines.push(`${String(atMs).padStart(7)}  ${line}`);
  }

  /** Of one process. */
  protected base(name: string, wallOffsetMs: () => number = () => 0) {
    const random = new SeededRandom(this.#seed++);
    const clock = new ProcessClock(this.clock, wallOffsetMs);
    const log = lineLogger((line) => this.note(`${name}: ${line}`));
    return { random, clock, log, store: this.store(name) };
  }
}

interface Booting {
  readonly store: Store;
  readonly clock: ProcessClock;
  readonly random: SeededRandom;
}

/** The feeds of a parent with its only child. */
export function bootParent({ store, clock, random }: Booting): { producer: FeedProducer; consumer: FeedConsumer } {
  return store.write((t) => {
    const { bootNonce } = beginBoot(t, clock, random);
    return {
      producer: FeedProducer.open(t, { name: 'mailbox/kid', bootNonce, random }),
      consumer: FeedConsumer.open(t, { name: 'reported/kid', ofNoSpace: true }),
    };
  });
}

export function bootChild({ store, clock, random }: Booting, judge?: Judge) {
  return store.write((t) => {
    const identity = beginBoot(t, clock, random);
    return {
      identity,
      producer: FeedProducer.open(t, { name: 'outbox', bootNonce: identity.bootNonce, random }),
      consumer: FeedConsumer.open(t, { name: 'upstream', ...(judge ? { judge } : {}) }),
    };
  });
}
