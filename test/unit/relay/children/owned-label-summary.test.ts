import { beforeEach, describe, expect, it } from 'vitest';
import { EmbeddedStorage } from '../../../../core/apiserver/storage/embedded.ts';
import { entryKey } from '../../../../core/entries/entry-keys.ts';
import type { Content } from '../../../../core/feed/feed.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { decodeLabelSummary, encodeLabelSummary, type LabelSummary } from '../../../../core/match/label-summary.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import type { Transaction } from '../../../../core/store/store.ts';
import { ChildRegistry } from '../../../../relay/children/child-registry.ts';
import { matchChild } from '../../../../relay/children/children.ts';
import { Evictions } from '../../../../relay/children/evictions.ts';
import { Inventory } from '../../../../relay/children/inventory.ts';
import { labelSummaryShrinkDelayMs } from '../../../../relay/children/label-summary-publisher.ts';
import { Mailboxes } from '../../../../relay/mailbox/mailboxes.ts';
import { sites } from '../schedule/sites.ts';
import { openChildClaims } from '../support/open-claims.ts';

const everywhere = { id: 's/p', source: 's', name: 'p', locationSelectors: [{}], children: new Set<string>() };
const [paris, otherReplica] = ['paris', 'paris~1'];

describe('the places that a node above replicas reports as counted', () => {
  const random = new SeededRandom(1);
  let store: MemoryStore;
  let clock: VirtualClock;
  let outbox: FeedProducer;
  let mailboxes: Mailboxes;
  let book: ChildRegistry;
  let revision: number;

  beforeEach(() => {
    store = new MemoryStore();
    clock = new VirtualClock();
    outbox = store.write((t) => FeedProducer.open(t, { name: 'outbox', bootNonce: 'boot', random }));
    mailboxes = new Mailboxes(store, random, 'boot', 'fr');
    revision = 0;
    book = bookOf('fr', store, outbox, mailboxes);
    store.write((t) => book.load(t));
    for (const child of [paris, otherReplica]) store.write((t) => book.feedsOf(t, child, 'relay'));
    for (const child of [paris, otherReplica]) store.write((t) => book.refresh(t, child));
  });

  function bookOf(path: string, at: MemoryStore, own: FeedProducer, children: Mailboxes): ChildRegistry {
    return new ChildRegistry({
      counting: { isOtherReplica: false, counts: () => true },
      revocations: { all: () => ({ users: {}, nodes: {} }) },
      metricsAccounts: { issuers: () => [] },
      authorities: () => undefined,
      summaryReported: () => undefined,
      claims: openChildClaims(),
      inventory: new Inventory(new EmbeddedStorage({ store: at, name: 'system', logger: silentLogger })),
      mailboxes: children,
      outbox: own,
      clock,
      write: (act: (t: Transaction) => void) => at.write(act),
      evictions: new Evictions(clock, () => undefined),
      rowsAt: () => [],
      relayAdded: () => undefined,
      inherited: () => ({}),
      path,
    });
  }

  /** The owned label summary as the node reads it; undefined: it counts all places. */
  function report(child: string, labels: LabelSummary, counted?: LabelSummary): void {
    receive(child, labels, counted);
    store.write((t) => {
      for (const one of new Set([paris, otherReplica, child])) book.refresh(t, one);
    });
  }

  function receive(child: string, labels: LabelSummary, counted?: LabelSummary): void {
    store.write((t) => receiveIn(t, child, labels, counted));
  }

  function receiveIn(t: Transaction, child: string, labels: LabelSummary, counted?: LabelSummary): void {
    const body = counted ? encodeLabelSummary(counted) : new Uint8Array(0);
    apply(t, child, { key: entryKey.labels(), attributes: encodeLabelSummary(labels), body });
    book.widen(t, child);
  }

  function apply(t: Transaction, child: string, ...contents: Content[]): void {
    const entries = contents.map((content) => ({
      keyHash: hash128(content.key),
      revision: ++revision,
      originRevision: 0,
      content,
    }));
    mailboxes.get(child)!.consumer.applyEntries(t, entries);
  }

  function reportedSummary(part: 'attributes' | 'body'): LabelSummary | undefined {
    return store.read((reader) => {
      const bytes = outbox.content(reader, outbox.get(reader, hash128(entryKey.labels()))!.content!)[part];
      return bytes.length === 0 ? undefined : decodeLabelSummary(bytes);
    });
  }
  const labels = () => reportedSummary('attributes')!.leaves;
  /** As the parent reads it: if only the label summary was reported, it is also the owned one. */
  const counted = () => (reportedSummary('body') ?? reportedSummary('attributes'))!.leaves;
  const expected = () => [paris, otherReplica].map((name) => matchChild(everywhere, book.children.get(name)!).expected);

  it('include none of a replica that has not reported, though that replica gets what the others need', () => {
    report(paris, sites('a', 'b'));
    expect(matchChild(everywhere, book.children.get(otherReplica)!).matches).toBe(true);
    expect([expected(), counted()]).toEqual([[2, 0], 2]);
  });

  it('never exceed the existing places while replicas learn of the same places one after the other', () => {
    report(paris, sites('a', 'b'));
    report(otherReplica, sites('a'), sites());
    expect([expected(), labels(), counted()]).toEqual([[2, 0], 3, 2]);
    report(otherReplica, sites('a', 'b'), sites());
    // The wider labels are still reported: they narrow later.
    expect([labels(), counted()]).toEqual([3, 2]);
    clock.advance(labelSummaryShrinkDelayMs);
    expect([labels(), reportedSummary('body')]).toEqual([2, undefined]);
  });

  it('are a replica’s report as soon as it counts, before the scheduler looks', () => {
    report(paris, sites('a'));
    report(otherReplica, sites('a'));
    expect(expected()).toEqual([1, 1]);
    receive(otherReplica, sites('a'), sites());
    store.write((t) => book.recount(t, [paris, otherReplica]));
    expect(expected()).toEqual([1, 0]);
  });

  it('reach the parent with the labels, wherever a batch ends and whatever was written again', () => {
    const above = new MemoryStore();
    const boxes = new Mailboxes(above, random, 'boot', '');
    const own = above.write((t) => FeedProducer.open(t, { name: 'outbox', bootNonce: 'boot', random }));
    const parent = bookOf('', above, own, boxes);
    above.write((t) => parent.feedsOf(t, 'fr', 'relay'));
    const { consumer } = boxes.get('fr')!;
    const counts: number[] = [];
    const most = () => Math.max(...counts);
    /** Entries of a feed that is behind: one entry a batch. */
    const bring = () => {
      const [after, head] = [above.read((reader) => consumer.resume(reader).cursor), store.read((r) => outbox.head(r))];
      for (let at = after; at < head; ) {
        const batch = store.read((reader) => outbox.batch(reader, at, head, { maxEntries: 1, maxBytes: 1 }))!;
        above.write((t) => {
          consumer.apply(t, batch);
          parent.refresh(t, 'fr');
        });
        counts.push(matchChild(everywhere, parent.children.get('fr')!).expected!);
        at = batch.to;
      }
    };
    report(paris, sites('a', 'b', 'c'), sites('a'));
    report(otherReplica, sites('a', 'b'), sites());
    // Written again after the wider labels.
    report(paris, sites('a', 'b', 'c'), sites('a', 'c'));
    report(otherReplica, sites('a', 'b'), sites('b'));
    bring();
    expect([labels(), counts.at(-1), most()]).toEqual([5, 3, 3]);
    report(otherReplica, sites('a', 'b', 'c'), sites('b'));
    clock.advance(labelSummaryShrinkDelayMs);
    // The labels are written again after the entry that all of them are counted.
    store.write((t) => book.feedsOf(t, 'lyon', 'relay'));
    report('lyon', sites('d'));
    bring();
    expect([labels(), counts.at(-1), most()]).toEqual([4, 4, 4]);
  });

  it('are reported when nothing else has changed', () => {
    report(paris, sites('a', 'b'));
    report(otherReplica, sites('a', 'b'), sites());
    clock.advance(labelSummaryShrinkDelayMs);
    expect([labels(), counted()]).toEqual([2, 2]);
    report(paris, sites('a', 'b'), sites('a'));
    expect([labels(), counted()]).toEqual([2, 1]);
  });

  it('are reported correctly after a failed transaction', () => {
    report(paris, sites('a', 'b'), sites('a'));
    report(otherReplica, sites('a', 'b'), sites());
    const fail = () =>
      store.write((t) => {
        receiveIn(t, paris, sites('a', 'b'), sites('a', 'b'));
        throw new Error('full');
      });
    expect(fail).toThrow('full');
    clock.advance(1);
    expect([labels(), counted()]).toEqual([2, 1]);
  });
});
