import { beforeEach, describe, expect, it, vi } from 'vitest';
import { attributesOf, entryKey } from '../../../../core/entries/entry-keys.ts';
import { FeedConsumer } from '../../../../core/feed/consumer.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { producerRowsTopic } from '../../../../core/feed/topics.ts';
import { encodeLabelSummary, type LabelSummary } from '../../../../core/match/label-summary.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { text } from '../../../../core/store/bytes.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import type { Transaction } from '../../../../core/store/store.ts';
import { LabelSummaryAcknowledgement } from '../../../../relay/catch-up/label-summary-acknowledgement.ts';
import { childrenOfMailboxes, Mailboxes } from '../../../../relay/mailbox/mailboxes.ts';
import { sites } from '../schedule/sites.ts';

const body = new Uint8Array(0);

describe('the labels that the tree above has processed', () => {
  const random = new SeededRandom(1);
  let store: MemoryStore;
  let upstream: FeedConsumer;
  let outbox: FeedProducer;
  let mailboxes: Mailboxes;
  let matched: LabelSummaryAcknowledgement;
  let wrote: string[];
  let revision: number;

  beforeEach(() => {
    store = new MemoryStore();
    store.subscribe(producerRowsTopic, (tables) => wrote.push(...childrenOfMailboxes(tables)));
    revision = 0;
    mailboxes = new Mailboxes(store, random, 'boot', '');
    store.write((t) => {
      upstream = FeedConsumer.open(t, { name: 'upstream' });
      outbox = FeedProducer.open(t, { name: 'outbox', bootNonce: 'boot', random });
      mailboxes.ensure(t, 'paris', 'relay');
    });
    start();
  });

  function start(): void {
    wrote = [];
    matched = new LabelSummaryAcknowledgement({ store, upstream, outbox, mailboxes });
    matched.load();
  }

  const apply = (t: Transaction, consumer: FeedConsumer, key: string, attributes: Uint8Array) => {
    revision++;
    const entry = { revision, keyHash: hash128(key), originRevision: 0, content: { key, attributes, body } };
    const at = { from: revision - 1, to: revision, head: revision, epoch: 'e', incarnation: 'i' };
    return consumer.apply(t, { ...at, entries: [entry] });
  };
  const tell = (summary: LabelSummary) =>
    store.write((t) => {
      const attributes = encodeLabelSummary(summary);
      outbox.put(t, { key: entryKey.labels(), attributes, body }, 0);
      matched.told(t, attributes);
    });
  const word = (summary: LabelSummary) =>
    store.write((t) => {
      const labels = Buffer.from(hash128(encodeLabelSummary(summary))).toString('hex');
      matched.fromAbove(t, apply(t, upstream, entryKey.matched(), text(JSON.stringify({ labels }))));
    });
  const hear = (summary: LabelSummary) =>
    store.write((t) => {
      revision = 0;
      const { consumer } = mailboxes.get('paris')!;
      const { cursor } = consumer.resume(t);
      revision = cursor;
      apply(t, consumer, entryKey.labels(), encodeLabelSummary(summary));
      matched.heard('paris');
      revision = upstream.resume(t).cursor;
    });
  const covers = (...names: string[]) => store.read((reader) => matched.covers(reader, sites(...names)));
  /** The summary that paris has reported. */
  const told = () =>
    store.read((reader) => {
      const { producer } = mailboxes.get('paris')!;
      const row = producer.get(reader, hash128(entryKey.matched()));
      return row?.content && attributesOf<{ labels: string }>(producer.content(reader, row.content)).labels;
    });
  const hashOf = (summary: LabelSummary) => Buffer.from(hash128(encodeLabelSummary(summary))).toString('hex');

  it('are all labels at the root, without a parent', () => {
    tell(sites('rome'));
    expect(covers('oslo')).toBe(true);
    hear(sites('rome'));
    matched.idle();
    expect([told(), wrote]).toEqual([hashOf(sites('rome')), ['paris']]);
  });

  it('are those of the summary that the parent names, until it names another one', () => {
    tell(sites('rome'));
    word(sites('rome'));
    tell(sites('rome', 'oslo'));
    expect([covers('rome'), covers('oslo')]).toEqual([true, false]);
    word(sites('rome', 'oslo'));
    expect([covers('rome'), covers('oslo')]).toEqual([true, true]);
  });

  it('are known for a summary that is no longer the newest one', () => {
    tell(sites('rome'));
    tell(sites('rome', 'oslo'));
    tell(sites('rome', 'oslo', 'bern'));
    word(sites('rome', 'oslo'));
    expect([covers('oslo'), covers('bern')]).toEqual([true, false]);
  });

  it('are none if the parent names a summary that this store never reported, and known again once it is reported', () => {
    tell(sites('rome'));
    word(sites('rome'));
    word(sites('bern'));
    expect(covers('rome')).toBe(false);
    tell(sites('bern'));
    expect([covers('rome'), covers('bern')]).toEqual([false, true]);
  });

  it('are read once, however many children are compared with them', () => {
    tell(sites('rome', 'oslo'));
    word(sites('rome', 'oslo'));
    const parse = vi.spyOn(JSON, 'parse');
    for (let i = 0; i < 100; i++) expect(covers('rome')).toBe(true);
    const summaries = parse.mock.calls.filter(([json]) => String(json).includes('rome'));
    parse.mockRestore();
    // The record, and the summary in it.
    expect(summaries.length).toBeLessThanOrEqual(2);
  });

  it('are still known after a start', () => {
    tell(sites('rome'));
    word(sites('rome'));
    start();
    expect([covers('rome'), covers('oslo')]).toEqual([true, false]);
  });

  it('are sent to a relay below when they are processed above as well, and once', () => {
    tell(sites('rome'));
    word(sites('rome'));
    hear(sites('oslo'));
    matched.idle();
    expect(told()).toBeUndefined();
    tell(sites('rome', 'oslo'));
    matched.idle();
    expect(told()).toBeUndefined();
    word(sites('rome', 'oslo'));
    matched.idle();
    matched.idle();
    start();
    matched.idle();
    expect([told(), wrote]).toEqual([hashOf(sites('oslo')), []]);
  });

  it('are sent to no relay that has left, or withdraws its labels', () => {
    store.write((t) => {
      matched.heard('gone');
      matched.heard('paris');
      mailboxes.ensure(t, 'rome', 'relay');
    });
    matched.idle();
    expect([told(), wrote]).toEqual([undefined, []]);
  });
});
