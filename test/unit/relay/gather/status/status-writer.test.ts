import { beforeEach, describe, expect, it } from 'vitest';
import { entryKey } from '../../../../../core/entries/entry-keys.ts';
import { placementId } from '../../../../../core/entries/placement-id.ts';
import { FeedProducer } from '../../../../../core/feed/producer.ts';
import { producerRowsTopic } from '../../../../../core/feed/topics.ts';
import { hash128 } from '../../../../../core/object/hash.ts';
import type { Condition } from '../../../../../core/object/meta.ts';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../../core/runtime/random.ts';
import { decodePartial, emptyPartial, type Partial } from '../../../../../core/summary/partial.ts';
import { StatusWriter } from '../../../../../relay/gather/status/status-writer.ts';
import { Placements } from '../../../../../relay/placements/placements.ts';
import { announced } from '../../../../support/schedule-steps.ts';
import { SpaceBench, source } from '../../support/space-bench.ts';

const id = placementId(source, 'p');

class Bench {
  readonly spaces = new SpaceBench();
  readonly store = this.spaces.store;
  readonly outbox = this.store.write((t) =>
    FeedProducer.open(t, { name: 'outbox', bootNonce: 'b', random: new SeededRandom(1) }),
  );
  readonly placements = new Placements();
  /** Since the last call: the feeds with new rows. */
  readonly sent = announced(this.store, producerRowsTopic);
  total: Partial | undefined = emptyPartial(1, 1);
  isOwn = true;
  readonly writer = new StatusWriter({
    expressions: { of: () => undefined },
    store: this.store,
    clock: new VirtualClock(),
    log: silentLogger,
    gather: { total: () => this.total },
    placements: this.placements,
    outbox: this.outbox,
    ownSpace: () => (this.isOwn ? this.spaces.space : undefined),
    unresolved: () => undefined,
    rolloutOf: () => undefined,
    isRolledBack: () => false,
    rolloutBelow: () => undefined,
  });

  constructor() {
    this.spaces.placement('p', { locationSelectors: [{}] });
    this.placements.set({ id, source, name: 'p', locationSelectors: [], children: new Set() });
  }

  counts(counts: object, generation = 1): void {
    const empty = emptyPartial(generation, 1);
    this.total = { ...empty, counts: { ...empty.counts, ...counts } };
  }

  status() {
    const key = { group: 'edge.banyan.io', resource: 'edgeplacements', namespace: '', name: 'p' };
    return this.spaces.space.get(key)?.status as { display: string; conditions: Condition[] } | undefined;
  }

  reportedPartial(): Partial | undefined {
    return this.store.read((reader) => {
      const row = this.outbox.get(reader, hash128(entryKey.partial(id)));
      return row?.content && decodePartial(this.outbox.content(reader, row.content).body);
    });
  }

  events(): string[] {
    const { space } = this.spaces;
    const stored = space.storage.scan({ group: '', resource: 'events' });
    return stored.map((one) => String(space.parse(one).reason)).sort();
  }
}

describe('the gathered counts', () => {
  let bench: Bench;

  beforeEach(() => {
    bench = new Bench();
  });

  it('are the status of a placement of an own space, and go nowhere else', () => {
    bench.counts({ expected: 2, fresh: 2, available: 1 });
    bench.writer.write([id]);
    expect(bench.status()).toMatchObject({ display: 'available 1/2', observedGeneration: 1 });
    expect(bench.reportedPartial()).toBeUndefined();
  });

  it('wait for a generation of the placement that has not been scheduled yet', () => {
    bench.counts({ expected: 2 }, 7);
    bench.writer.write([id]);
    expect(bench.status()).toBeUndefined();
  });

  it('are urgent when all destinations have become available since the last write', () => {
    const become = (available: number, generation = 1) => {
      bench.counts({ expected: 2, fresh: 2, available }, generation);
      const isUrgent = bench.writer.hasBecomeComplete(id);
      bench.writer.write([id]);
      return isUrgent;
    };
    expect([1, 2, 2, 1, 2].map((available) => become(available))).toEqual([false, true, false, false, true]);
    become(1);
    // A status of another generation is not written. So the placement is still known as incomplete.
    expect([become(2, 7), become(2)]).toEqual([true, true]);
    bench.counts({ expected: 0 });
    expect(bench.writer.hasBecomeComplete(id)).toBe(false);
  });

  it('are an event when the condition Conflicted changes, and none while it does not', () => {
    for (const conflicted of [0, 1, 1, 2, 0]) {
      bench.counts({ expected: 2, fresh: 2, conflicted });
      bench.writer.write([id]);
    }
    expect(bench.events()).toEqual(['ConflictResolved', 'Conflicted']);
    const { status } = bench.status()!.conditions.find(({ type }) => type === 'Conflicted')!;
    expect(status).toBe('False');
  });

  it('go to the parent for a placement from above, once for each change, and are shown in its view', () => {
    bench.isOwn = false;
    bench.counts({ expected: 1, available: 1 });
    bench.writer.write([id]);
    expect(bench.sent()).toEqual(['outbox']);
    bench.writer.write([id]);
    expect(bench.sent()).toEqual([]);
    expect(bench.reportedPartial()?.counts.available).toBe(1);
    const shown = bench.store.read((reader) => bench.writer.statusOf(reader, id));
    expect(JSON.parse(Buffer.from(shown!).toString())).toMatchObject({ display: 'available 1/1' });
    expect(bench.status()).toBeUndefined();
  });

  it('are withdrawn from the parent when the placement is gone', () => {
    bench.isOwn = false;
    bench.writer.write([id]);
    bench.sent();
    bench.placements.delete(id);
    bench.writer.write([id]);
    expect(bench.sent()).toEqual(['outbox']);
    expect(bench.reportedPartial()).toBeUndefined();
  });

  it('are not written while nothing is known of the placement', () => {
    bench.total = undefined;
    bench.writer.write([id]);
    expect(bench.sent()).toEqual([]);
    expect(bench.status()).toBeUndefined();
  });
});
