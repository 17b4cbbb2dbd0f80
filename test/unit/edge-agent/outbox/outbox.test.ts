import { describe, expect, it } from 'vitest';
import { FeedConsumer } from '../../../../core/feed/consumer.ts';
import { piecedBytesMax } from '../../../../core/feed/pieces.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { answer, Reconciliation } from '../../../../core/feed/reconcile.ts';
import { producerRowsTopic } from '../../../../core/feed/topics.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { asText, text } from '../../../../core/store/bytes.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { Outbox, type UpFeedEntry } from '../../../../edge-agent/outbox/outbox.ts';

const isReady = (entry: UpFeedEntry | undefined) => entry !== undefined && asText(entry.attributes) === 'ready';

function bench(store = new MemoryStore(), clock = new VirtualClock(), bootNonce = 'boot') {
  const random = new SeededRandom(1);
  let wrote = 0;
  const producer = store.write((t) => FeedProducer.open(t, { name: 'outbox', bootNonce, random }));
  store.subscribe(producerRowsTopic, () => wrote++);
  const facts = new Map<string, string>();
  /** The number of bytes of the reported body. */
  const large = new Map<string, number>();
  const outgrown = new Set<string>();
  const outbox = new Outbox({
    clock,
    logger: silentLogger,
    store,
    producer,
    entryOf: (key) => {
      const fact = facts.get(key);
      return fact === undefined ? undefined : { attributes: text(fact), body: new Uint8Array(large.get(key) ?? 0) };
    },
    isFollowed: (key) => key === 'followed',
    isUrgent: (partial, former) => isReady(partial) && !isReady(former),
    tooLarge: (key, bytes) => void (bytes === undefined ? outgrown.delete(key) : outgrown.add(key)),
  });
  const set = (key: string, fact: string | undefined) => {
    if (fact === undefined) facts.delete(key);
    else facts.set(key, fact);
    outbox.touch(key);
  };
  /** Keys of the up feed in the order in which they were written. */
  const sent = () =>
    store.read((reader) => {
      const rows = [...producer.rows(reader)].sort((a, b) => a.revision - b.revision);
      return rows.map((row) => producer.content(reader, row.content!).key);
    });
  const body = (key: string) =>
    store.read((reader) => {
      const row = producer.get(reader, hash128(key));
      return row?.content && producer.content(reader, row.content).body;
    });
  const writes = () => store.read((reader) => producer.head(reader));
  return { store, clock, producer, outbox, facts, large, outgrown, body, set, sent, writes, wrote: () => wrote };
}

describe('the outbox', () => {
  it('writes keys that were touched together in one transaction, objects before the placements that sum them up', () => {
    const { clock, outbox, set, sent, wrote } = bench();
    outbox.open();
    set('partial/a', '1');
    set('state/b', '1');
    set('state/b', '2');
    clock.advance(20);
    expect(sent()).toEqual(['state/b', 'partial/a']);
    expect(wrote()).toBe(1);
  });

  it('omits the status of a state that is too large for an entry, keeps the former report of another object, and reports all when they fit again', () => {
    const { clock, outbox, large, outgrown, set, sent, body } = bench();
    outbox.open();
    large.set('assoc/b', 3);
    large.set('assoc/new', piecedBytesMax);
    for (const key of ['state/a', 'assoc/b', 'state/c']) set(key, '1');
    clock.advance(20);
    const sizes = () => ['state/a', 'assoc/b', 'state/c'].map((key) => body(key)?.length);
    expect(sizes()).toEqual([0, 3, 0]);
    for (const key of ['state/a', 'assoc/b']) {
      large.set(key, piecedBytesMax);
      outbox.touch(key);
    }
    set('state/c', '2');
    clock.advance(20);
    expect([sizes(), [...outgrown]]).toEqual([
      [0, 3, 0],
      ['state/a', 'assoc/b'],
    ]);
    expect(sent()).toContain('state/c');
    for (const key of ['state/a', 'assoc/b']) {
      large.set(key, 100);
      outbox.touch(key);
    }
    clock.advance(20);
    expect([sizes(), [...outgrown]]).toEqual([[100, 100, 0], []]);
    set('assoc/new', '1');
    clock.advance(20);
    expect([sent().includes('assoc/new'), [...outgrown]]).toEqual([false, ['assoc/new']]);
  });

  it('writes a partial that has become urgent soon, though others of its key have used up the rate', () => {
    const { clock, outbox, set, writes } = bench();
    outbox.open();
    for (let i = 0; i < 20; i++) {
      set('partial/a', `${i}`);
      clock.advance(20);
    }
    const before = writes();
    set('partial/a', 'ready');
    clock.advance(70);
    expect(writes()).toBe(before + 1);
    set('partial/a', 'not ready');
    clock.advance(500);
    expect(writes()).toBe(before + 1);
    clock.advance(1_000);
    expect(writes()).toBe(before + 2);
  });

  it('delays a state that says the same', () => {
    const { clock, outbox, set, writes } = bench();
    outbox.open();
    for (let i = 0; i < 20; i++) {
      set('state/a', `${i}`);
      clock.advance(20);
    }
    const before = writes();
    set('state/a', 'ready');
    clock.advance(500);
    expect(writes()).toBe(before);
  });

  it('reports nothing before it is opened, and then the latest state', () => {
    const { clock, outbox, set, writes } = bench();
    set('state/b', '1');
    clock.advance(60_000);
    expect(writes()).toBe(0);
    outbox.open();
    clock.advance(20);
    expect(writes()).toBe(1);
  });

  it('does not repeat a report, and uses nothing of its rate for that', () => {
    const { clock, outbox, set, writes } = bench();
    outbox.open();
    for (let i = 0; i < 50; i++) {
      set('state/b', 'same');
      clock.advance(20);
    }
    expect(writes()).toBe(1);
    set('state/b', 'other');
    clock.advance(20);
    expect(writes()).toBe(2);
  });

  it('reports a burst at once and then one a second per key, always the last state', () => {
    const { clock, outbox, facts, set, producer, store, writes } = bench();
    outbox.open();
    for (let i = 0; i < 100; i++) {
      set('busy', `${i}`);
      clock.advance(20);
    }
    expect(writes()).toBe(4 + 1);
    clock.advance(10_000);
    expect(facts.get('busy')).toBe('99');
    const reported = store.read((reader) =>
      [...producer.rows(reader)].map((row) => producer.content(reader, row.content!)),
    );
    expect(Buffer.from(reported[0]!.attributes).toString()).toBe('99');
  });

  it('reports a followed state twenty times a second, however often it changes', () => {
    const { clock, outbox, set, writes } = bench();
    outbox.open();
    for (let i = 0; i < 200; i++) {
      set('followed', `${i}`);
      clock.advance(10);
    }
    const reports = writes();
    expect(reports).toBeGreaterThan(30);
    expect(reports).toBeLessThanOrEqual(4 + 40);
  });

  it('lets a busy key delay no other', () => {
    const { clock, outbox, set, sent } = bench();
    outbox.open();
    for (let i = 0; i < 10; i++) {
      set('busy', `${i}`);
      clock.advance(20);
    }
    set('quiet', '1');
    clock.advance(20);
    expect(sent()).toContain('quiet');
  });

  it('withdraws reports without a subject, also those of an earlier process', () => {
    const first = bench();
    first.outbox.open();
    first.set('state/b', '1');
    first.clock.advance(20);
    expect(first.sent()).toEqual(['state/b']);
    const second = bench(first.store, first.clock);
    second.outbox.touchAll();
    second.outbox.open();
    second.clock.advance(20);
    expect(second.sent()).toEqual([]);
  });

  it('splits reports that do not fit into one transaction', () => {
    const { clock, outbox, set, writes, wrote } = bench();
    outbox.open();
    for (let i = 0; i < 1_200; i++) set(`state/${i}`, '1');
    clock.advance(300);
    expect(writes()).toBe(1_200);
    expect(wrote()).toBe(12);
  });

  it('is accepted by a parent that has received a later report from a copy of the disk', () => {
    const first = bench();
    first.outbox.open();
    first.set('partial/a', 'of 1');
    first.clock.advance(20);
    const older = first.store.copy();
    first.set('partial/a', 'of 2');
    first.clock.advance(20);
    const parent = new MemoryStore();
    const reported = parent.write((t) => FeedConsumer.open(t, { name: 'reported/a' }));
    follow(first, parent, reported);
    const second = bench(older, new VirtualClock(1_000), 'boot 2');
    follow(second, parent, reported);
    const [row] = parent.read((reader) => [...reported.rows(reader)]);
    const has = parent.read((reader) => reported.content(reader, row!.content!));
    expect(Buffer.from(has.attributes).toString()).toBe('of 1');
  });
});

/** A reconciliation of everything in the outbox. */
function follow({ store, producer }: ReturnType<typeof bench>, parent: MemoryStore, reported: FeedConsumer): void {
  const reconciliation = parent.read((reader) => new Reconciliation(reader, reported, Buffer.alloc(8, 7)));
  for (let request = reconciliation.next(); request; request = reconciliation.next()) {
    const asked = request;
    const reply = store.read((reader) => answer(reader, producer, asked, producer.head(reader), { maxBytes: 1e6 }));
    parent.write((t) => reconciliation.absorb(t, reply));
  }
  parent.write((t) => reconciliation.finish(t));
}
