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

describe('labels that the nodes above have worked off', () => {
  const random = new SeededRandom(1);
  let store: MemoryStore;
  let upstream: FeedConsumer;
  let outbox: FeedProducer;
  let mailboxes: Mailboxes;
  let acknowledgement: LabelSummaryAcknowledgement;
  let written: string[];
  let revision: number;

  beforeEach(() => {
    store = new MemoryStore();
    store.subscribe(producerRowsTopic, (tables) => written.push(...childrenOfMailboxes(tables)));
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
    written = [];
    acknowledgement = new LabelSummaryAcknowledgement({ store, upstream, outbox, mailboxes });
    acknowledgement.load();
  }

  const apply = (t: Transaction, consumer: FeedConsumer, key: string, attributes: Uint8Array) => {
    revision++;
    const entry = { revision, keyHash: hash128(key), originRevision: 0, content: { key, attributes, body } };
    const at = { from: revision - 1, to: revision, head: revision, epoch: 'e', incarnation: 'i' };
    return consumer.apply(t, { ...at, entries: [entry] });
  };
  const report = (summary: LabelSummary) =>
    store.write((t) => {
      const attributes = encodeLabelSummary(summary);
      outbox.put(t, { key: entryKey.labels(), attributes, body }, 0);
      acknowledgement.summaryReported(t, attributes);
    });
  const parentAcknowledges = (summary: LabelSummary) =>
    store.write((t) => {
      const labels = Buffer.from(hash128(encodeLabelSummary(summary))).toString('hex');
      acknowledgement.receivedFromParent(t, apply(t, upstream, entryKey.matched(), text(JSON.stringify({ labels }))));
    });
  const parisReports = (summary: LabelSummary) =>
    store.write((t) => {
      revision = 0;
      const { consumer } = mailboxes.get('paris')!;
      const { cursor } = consumer.resume(t);
      revision = cursor;
      apply(t, consumer, entryKey.labels(), encodeLabelSummary(summary));
      acknowledgement.labelsReceived('paris');
      revision = upstream.resume(t).cursor;
    });
  const covers = (...names: string[]) => store.read((reader) => acknowledgement.covers(reader, sites(...names)));
  /** The hash of the summary that this node has acknowledged to paris. */
  const acknowledgedToParis = () =>
    store.read((reader) => {
      const { producer } = mailboxes.get('paris')!;
      const row = producer.get(reader, hash128(entryKey.matched()));
      return row?.content && attributesOf<{ labels: string }>(producer.content(reader, row.content)).labels;
    });
  const hashOf = (summary: LabelSummary) => Buffer.from(hash128(encodeLabelSummary(summary))).toString('hex');

  it('are all labels at the root, which has no parent', () => {
    report(sites('rome'));
    expect(covers('oslo')).toBe(true);
    parisReports(sites('rome'));
    acknowledgement.acknowledge();
    expect([acknowledgedToParis(), written]).toEqual([hashOf(sites('rome')), ['paris']]);
  });

  it('are the labels of the summary that the parent acknowledges, until the parent acknowledges another one', () => {
    report(sites('rome'));
    parentAcknowledges(sites('rome'));
    report(sites('rome', 'oslo'));
    expect([covers('rome'), covers('oslo')]).toEqual([true, false]);
    parentAcknowledges(sites('rome', 'oslo'));
    expect([covers('rome'), covers('oslo')]).toEqual([true, true]);
  });

  it('are known from an acknowledgement of a summary that is no longer the newest', () => {
    report(sites('rome'));
    report(sites('rome', 'oslo'));
    report(sites('rome', 'oslo', 'bern'));
    parentAcknowledges(sites('rome', 'oslo'));
    expect([covers('oslo'), covers('bern')]).toEqual([true, false]);
  });

  it('are none if the parent acknowledges what this store never reported, and are known when this node reports it', () => {
    report(sites('rome'));
    parentAcknowledges(sites('rome'));
    parentAcknowledges(sites('bern'));
    expect(covers('rome')).toBe(false);
    report(sites('bern'));
    expect([covers('rome'), covers('bern')]).toEqual([false, true]);
  });

  it('are decoded once, however many children are compared with them', () => {
    report(sites('rome', 'oslo'));
    parentAcknowledges(sites('rome', 'oslo'));
    const parse = vi.spyOn(JSON, 'parse');
    for (let i = 0; i < 100; i++) expect(covers('rome')).toBe(true);
    const summaries = parse.mock.calls.filter(([json]) => String(json).includes('rome'));
    parse.mockRestore();
    // The record, and the summary in it.
    expect(summaries.length).toBeLessThanOrEqual(2);
  });

  it('are known after a restart', () => {
    report(sites('rome'));
    parentAcknowledges(sites('rome'));
    start();
    expect([covers('rome'), covers('oslo')]).toEqual([true, false]);
  });

  it('are acknowledged to a relay below when the nodes above have worked them off too, and only once', () => {
    report(sites('rome'));
    parentAcknowledges(sites('rome'));
    parisReports(sites('oslo'));
    acknowledgement.acknowledge();
    expect(acknowledgedToParis()).toBeUndefined();
    report(sites('rome', 'oslo'));
    acknowledgement.acknowledge();
    expect(acknowledgedToParis()).toBeUndefined();
    parentAcknowledges(sites('rome', 'oslo'));
    acknowledgement.acknowledge();
    acknowledgement.acknowledge();
    start();
    acknowledgement.acknowledge();
    expect([acknowledgedToParis(), written]).toEqual([hashOf(sites('oslo')), []]);
  });

  it('are not acknowledged to a relay that was removed, or that takes its labels back', () => {
    store.write((t) => {
      acknowledgement.labelsReceived('gone');
      acknowledgement.labelsReceived('paris');
      mailboxes.ensure(t, 'rome', 'relay');
    });
    acknowledgement.acknowledge();
    expect([acknowledgedToParis(), written]).toEqual([undefined, []]);
  });
});
