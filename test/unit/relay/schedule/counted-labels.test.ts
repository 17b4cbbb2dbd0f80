import { beforeEach, describe, expect, it } from 'vitest';
import { EmbeddedStorage } from '../../../../core/apiserver/storage/embedded.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { decodeLabelSummary, encodeLabelSummary, type LabelSummary } from '../../../../core/match/label-summary.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import type { Transaction } from '../../../../core/store/store.ts';
import { countedKey, labelsKey } from '../../../../core/wire/entries.ts';
import { Mailboxes } from '../../../../relay/mailbox/mailboxes.ts';
import { ChildBook } from '../../../../relay/schedule/child-book.ts';
import { matchChild } from '../../../../relay/schedule/children.ts';
import { Evictions } from '../../../../relay/schedule/evictions.ts';
import { Inventory } from '../../../../relay/schedule/inventory.ts';
import { narrowingDelayMs } from '../../../../relay/schedule/told-labels.ts';
import { sites } from './sites.ts';

const everywhere = { id: 's/p', source: 's', name: 'p', locationSelectors: [{}], children: new Set<string>() };
const [paris, sibling] = ['paris', 'paris~1'];

describe('what a node above siblings tells of the places that it counts', () => {
  const random = new SeededRandom(1);
  let store: MemoryStore;
  let clock: VirtualClock;
  let outbox: FeedProducer;
  let mailboxes: Mailboxes;
  let book: ChildBook;
  let revision: number;

  beforeEach(() => {
    store = new MemoryStore();
    clock = new VirtualClock();
    outbox = store.write((t) => FeedProducer.open(t, { name: 'outbox', bootNonce: 'boot', random }));
    mailboxes = new Mailboxes(store, random, 'boot', 'fr');
    revision = 0;
    book = new ChildBook({
      counting: { isSibling: false, counts: () => true },
      toldLabels: () => undefined,
      inventory: new Inventory(new EmbeddedStorage({ store, name: 'system', logger: silentLogger })),
      mailboxes,
      outbox,
      clock,
      write: (act: (t: Transaction) => void) => store.write(act),
      evictions: new Evictions(clock, () => undefined),
      rowsAt: () => [],
      relayCame: () => undefined,
      inherited: () => ({}),
      path: 'fr',
    });
    store.write((t) => book.load(t));
    for (const child of [paris, sibling]) store.write((t) => book.feedsOf(t, child, 'relay'));
    for (const child of [paris, sibling]) store.write((t) => book.refresh(t, child));
  });

  /** As the node takes it; undefined: it counts all of them. */
  function say(child: string, labels: LabelSummary, counted?: LabelSummary): void {
    hear(child, labels, counted);
    store.write((t) => {
      for (const one of [paris, sibling]) book.refresh(t, one);
    });
  }

  function hear(child: string, labels: LabelSummary, counted?: LabelSummary): void {
    store.write((t) => {
      const entry = (key: string, summary: LabelSummary | undefined) => {
        const content = summary && { key, attributes: encodeLabelSummary(summary), body: new Uint8Array(0) };
        return { keyHash: hash128(key), revision: ++revision, originRevision: 0, ...(content ? { content } : {}) };
      };
      mailboxes.get(child)!.consumer.applyEntries(t, [entry(countedKey, counted), entry(labelsKey, labels)]);
      book.widen(t, child);
    });
  }

  function told(key: string): LabelSummary | undefined {
    return store.read((reader) => {
      const row = outbox.get(reader, hash128(key));
      return row?.content && decodeLabelSummary(outbox.content(reader, row.content).attributes);
    });
  }
  /** As its parent reads it: whoever tells the one tells both. */
  const counted = () => (told(countedKey) ?? told(labelsKey))!.leaves;
  const expected = () => [paris, sibling].map((name) => matchChild(everywhere, book.children.get(name)!).expected);

  it('has nothing of a sibling that has said nothing, though that one gets what the others need', () => {
    say(paris, sites('a', 'b'));
    expect(matchChild(everywhere, book.children.get(sibling)!).matches).toBe(true);
    expect([expected(), counted()]).toEqual([[2, 0], 2]);
  });

  it('is never more than there are while siblings find out about the same places one after the other', () => {
    say(paris, sites('a', 'b'));
    say(sibling, sites('a'), sites());
    expect([expected(), told(labelsKey)?.leaves, counted()]).toEqual([[2, 0], 3, 2]);
    say(sibling, sites('a', 'b'), sites());
    // The wider labels are what was told still: they narrow later.
    expect([told(labelsKey)?.leaves, counted()]).toEqual([3, 2]);
    clock.advance(narrowingDelayMs);
    expect([told(labelsKey)?.leaves, told(countedKey)]).toEqual([2, undefined]);
  });

  it('is what a sibling says of itself as soon as it counts, before the scheduler looks', () => {
    say(paris, sites('a'));
    say(sibling, sites('a'));
    expect(expected()).toEqual([1, 1]);
    hear(sibling, sites('a'), sites());
    store.write((t) => book.recount(t, [paris, sibling]));
    expect(expected()).toEqual([1, 0]);
  });

  it('goes out in front of wider labels', () => {
    say(paris, sites('a'));
    const head = store.read((reader) => outbox.head(reader));
    say(sibling, sites('b'), sites());
    const keys = store.read((reader) => {
      const rows = [...outbox.rows(reader)].filter((row) => row.revision > head && row.content);
      return rows.sort((a, b) => a.revision - b.revision).map((row) => outbox.content(reader, row.content!).key);
    });
    expect(keys).toEqual([countedKey, labelsKey]);
  });
});
