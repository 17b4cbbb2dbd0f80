/** The announcements of a session about changes that it has stored. */
import { describe, expect, it } from 'vitest';
import { FeedConsumer } from '../../../../core/feed/consumer.ts';
import type { AppliedChange } from '../../../../core/feed/feed.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { Consuming } from '../../../../core/session/consuming.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import type { Transaction } from '../../../../core/store/store.ts';
import { ProducerEnd } from '../feed/feed-support.ts';

/** `applied` is the room that is called in the transaction of the changes. */
function bench(applied: (t: Transaction) => void) {
  const store = new MemoryStore();
  const consumer = store.write((t) => FeedConsumer.open(t, { name: 'upstream' }));
  const committed: string[] = [];
  const ports = {
    store,
    consumer,
    fence() {},
    applied: (t: Transaction) => applied(t),
    committed: (changes: readonly AppliedChange[]) => committed.push(...changes.map(({ key }) => key)),
    random: new SeededRandom(1),
    prefixes: false,
    produces: 'up' as const,
  };
  const consuming = new Consuming(ports, { send() {}, afterFlush() {}, reconciled() {} });
  const producer = new ProducerEnd();
  producer.put('a', 'one');
  const has = () => store.read((reader) => [...consumer.rows(reader)].length);
  return { apply: () => consuming.apply(producer.batch(0)!), committed, has };
}

const full = () => {
  throw new BanyanError('Unavailable', 'the disk is full');
};

describe('changes that a session has stored', () => {
  it('are announced', () => {
    const { apply, committed, has } = bench(() => {});
    apply();
    expect([has(), committed]).toEqual([1, ['a']]);
  });

  it('are announced with their place, though their consequences fail', () => {
    const { apply, committed, has } = bench((t) => t.afterCommit(full));
    expect(apply).toThrow('the disk is full');
    expect([has(), committed]).toEqual([1, ['a']]);
  });

  it('are not announced if they are not stored', () => {
    const { apply, committed, has } = bench(full);
    expect(apply).toThrow('the disk is full');
    expect([has(), committed]).toEqual([0, []]);
  });
});
