import { describe, expect, test } from 'vitest';
import { VirtualClock } from '../../../core/runtime/clock.ts';
import { silentLogger } from '../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../core/runtime/random.ts';
import { MemoryStore } from '../../../core/store/memory/memory-store.ts';
import type { Applied, Stock } from '../../../edge-agent/apply/stock.ts';
import { openLeaseMemory } from '../../../edge-agent/lease/lease-memory.ts';
import { takeStock } from '../../../edge-agent/stock-taking.ts';
import { settle } from './lease/memory-lease.ts';

const nothing: Stock = { records: new Map(), kept: new Map() };

class Bench {
  readonly clock = new VirtualClock();
  readonly random = new SeededRandom(1);
  readonly store = new MemoryStore();
  readonly hindrances: string[] = [];
  answers: (() => Promise<readonly Applied[]>)[] = [];
  stock = nothing;
  taken = 0;

  take(isOver = () => false): Promise<void> {
    const { store, clock, random } = this;
    const limits = { entries: 50, fraction: 0.2 };
    return takeStock(
      {
        agent: {
          takeStock: () => {
            this.taken++;
            return this.stock;
          },
        },
        applied: () => this.answers.shift()?.(),
        hindered: (why) => this.hindrances.push(why),
      },
      { store, clock, random, log: silentLogger, limits },
      isOver,
    );
  }

  get tookStock(): boolean {
    return openLeaseMemory(this.store, this.random).tookStock;
  }
}

describe('taking stock', () => {
  test('is done once for a store', async () => {
    const bench = new Bench();
    await bench.take();
    expect([bench.taken, bench.tookStock]).toEqual([1, true]);
  });

  test('goes on until the cluster answers, and says why it does not', async () => {
    const bench = new Bench();
    const away = () => Promise.reject(new Error('away'));
    bench.answers = [away, away];
    const taken = bench.take();
    await settle();
    bench.clock.advance(1_000);
    await settle();
    bench.clock.advance(1_999);
    await settle();
    expect([bench.taken, bench.hindrances]).toEqual([0, ['away', 'away']]);
    bench.clock.advance(1);
    await taken;
    expect(bench.taken).toBe(1);
  });

  test('ends when the agent is active no more', async () => {
    const bench = new Bench();
    let isOver = false;
    bench.answers = [
      () => {
        isOver = true;
        return Promise.resolve([]);
      },
    ];
    await bench.take(() => isOver);
    expect([bench.taken, bench.tookStock]).toEqual([0, false]);
  });

  test('is done again at the next start where it left too much', async () => {
    const bench = new Bench();
    const record = { source: 'center.retail', bodyHash: '', uid: 'u', fingerprint: '', created: false };
    bench.stock = { ...nothing, kept: new Map([['/configmaps/shop/a', record]]) };
    await bench.take();
    expect([bench.taken, bench.tookStock]).toEqual([1, false]);
  });
});
