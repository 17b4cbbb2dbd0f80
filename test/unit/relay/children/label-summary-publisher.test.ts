import { beforeEach, describe, expect, it } from 'vitest';
import { entryKey } from '../../../../core/entries/entry-keys.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { decodeLabelSummary, type LabelSummary } from '../../../../core/match/label-summary.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import {
  LabelSummaryPublisher,
  labelSummaryShrinkDelayMs,
} from '../../../../relay/children/label-summary-publisher.ts';
import { sites } from '../schedule/sites.ts';

describe('the label summary that a node reports', () => {
  const random = new SeededRandom(1);
  let store: MemoryStore;
  let clock: VirtualClock;
  let outbox: FeedProducer;
  let labels: LabelSummaryPublisher;
  let writes: number;
  let reportCount: number;

  beforeEach(() => {
    store = new MemoryStore();
    clock = new VirtualClock();
    outbox = store.write((t) => FeedProducer.open(t, { name: 'outbox', bootNonce: 'boot', random }));
    writes = 0;
    reportCount = 0;
    labels = new LabelSummaryPublisher({
      clock,
      outbox,
      summaryReported: () => reportCount++,
      write: (act) => {
        writes++;
        store.write(act);
      },
    });
    store.write((t) => labels.begin(t, sites('paris', 'rome')));
  });

  const publish = (summary: LabelSummary) => store.write((t) => labels.publish(t, summary));
  function reported(): (string | undefined)[] {
    return store.read((reader) => {
      const row = outbox.get(reader, hash128(entryKey.labels()))!;
      const { sets } = decodeLabelSummary(outbox.content(reader, row.content!).attributes);
      return sets!.flatMap((set) => Array<string | undefined>(set.leaves).fill(set.labels.site));
    });
  }

  it('widens in the transaction of the change', () => {
    publish(sites('paris', 'rome', 'oslo'));
    expect(reported()).toEqual(['oslo', 'paris', 'rome']);
    publish(sites('paris', 'rome', 'oslo', 'oslo'));
    expect(reported()).toEqual(['oslo', 'oslo', 'paris', 'rome']);
  });

  it('is no larger than an entry may be, and is not reported again while it is unchanged', () => {
    const values = Object.fromEntries(Array.from({ length: 250 }, (_, i) => [`${i}-`.padEnd(55, 'x'), 1]));
    const key = { present: 250, values, complete: true };
    const keys = Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`k${i}`, key]));
    const large: LabelSummary = { leaves: 250, keys };
    publish(large);
    const row = store.read((reader) =>
      outbox.content(reader, outbox.get(reader, hash128(entryKey.labels()))!.content!),
    );
    expect(decodeLabelSummary(row.attributes)).toMatchObject({ leaves: 250, keys: { k399: { present: 250 } } });
    const before = reportCount;
    publish(large);
    clock.advance(10 * labelSummaryShrinkDelayMs);
    expect(reportCount).toBe(before);
  });

  it('narrows after a delay, for all changes meanwhile together', () => {
    publish(sites('rome'));
    publish(sites());
    clock.advance(labelSummaryShrinkDelayMs - 1);
    expect(reported()).toEqual(['paris', 'rome']);
    clock.advance(1);
    expect(reported()).toEqual([]);
    expect(writes).toBe(1);
  });

  it('does not narrow if it has widened again before', () => {
    publish(sites('rome'));
    publish(sites('paris', 'rome'));
    clock.advance(labelSummaryShrinkDelayMs);
    expect(reported()).toEqual(['paris', 'rome']);
  });

  it('drops removed labels early if it has to report something new anyway', () => {
    publish(sites('rome', 'oslo'));
    expect(reported()).toEqual(['oslo', 'rome']);
  });

  it('is not reported in a transaction that fails', () => {
    const fail = () =>
      store.write((t) => {
        labels.publish(t, sites('rome', 'oslo'));
        throw new Error('full');
      });
    expect(fail).toThrow('full');
    expect(reported()).toEqual(['paris', 'rome']);
    publish(sites('oslo'));
    expect(reported()).toEqual(['oslo']);
  });

  it('uses the last of several states in one transaction', () => {
    store.write((t) => {
      labels.publish(t, sites('paris', 'rome', 'oslo'));
      labels.publish(t, sites('rome'));
      labels.publish(t, sites('rome', 'oslo'));
    });
    expect(reported()).toEqual(['oslo', 'rome']);
    publish(sites('rome'));
    expect(reported()).toEqual(['oslo', 'rome']);
  });

  it('notices at the start whether the node reported something else before', () => {
    const again = new LabelSummaryPublisher({
      clock,
      outbox,
      write: (act) => store.write(act),
      summaryReported: () => reportCount++,
    });
    expect(store.write((t) => again.begin(t, sites('paris', 'rome')))).toBe(false);
    expect(store.write((t) => again.begin(t, sites('rome')))).toBe(true);
  });

  it('is recorded when it is reported, and not while it only waits', () => {
    publish(sites('paris', 'rome', 'oslo'));
    expect(reportCount).toBe(2);
    publish(sites('rome', 'oslo'));
    expect(reportCount).toBe(2);
    clock.advance(labelSummaryShrinkDelayMs);
    expect(reportCount).toBe(3);
  });

  it('is not reported once the node ends', () => {
    publish(sites());
    labels.stop();
    clock.advance(labelSummaryShrinkDelayMs);
    expect(writes).toBe(0);
  });
});
