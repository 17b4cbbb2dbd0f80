import { describe, expect, test } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import {
  AppliedInventoryScan,
  type AppliedInventoryScanPorts,
  type ScannedAgent,
  scanAppliedInventory,
} from '../../../../edge-agent/agent/applied-inventory-scan.ts';
import type { AppliedInventory } from '../../../../edge-agent/apply/applied-inventory.ts';
import type { FoundObjects } from '../../../../edge-agent/cluster/cluster.ts';
import { settle } from '../lease/memory-lease.ts';

const nothing: AppliedInventory = { records: new Map(), kept: new Map() };

class Bench {
  readonly clock = new VirtualClock();
  readonly hindrances: string[] = [];
  answers: (() => Promise<FoundObjects>)[] = [];
  stock = nothing;
  taken = 0;

  take(isOver = () => false): Promise<void> {
    return scanAppliedInventory(this.#stocked(), this.#ports(), isOver);
  }

  taking(isDue: boolean): AppliedInventoryScan {
    return new AppliedInventoryScan(() => this.#stocked(), this.#ports(), isDue);
  }

  #ports(): AppliedInventoryScanPorts {
    const { clock } = this;
    return { clock, log: silentLogger, limits: { entries: 50, fraction: 0.2 } };
  }

  #stocked(): ScannedAgent {
    return {
      agent: {
        scanAppliedInventory: () => {
          this.taken++;
          return this.stock;
        },
      },
      applied: () => this.answers.shift()?.(),
      scanFailed: (why) => void this.hindrances.push(why),
    };
  }
}

describe('the applied-inventory scan', () => {
  test('continues until the cluster answers, and reports why it does not', async () => {
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

  test('ends when the agent is no longer active', async () => {
    const bench = new Bench();
    let isOver = false;
    bench.answers = [
      () => {
        isOver = true;
        return Promise.resolve({ objects: [], unknown: [] });
      },
    ];
    await bench.take(() => isOver);
    expect(bench.taken).toBe(0);
  });

  test('is not delayed by one broken resource: that resource is asked for again, less and less often, until it answers', async () => {
    const bench = new Bench();
    const broken = () => Promise.resolve({ objects: [], unknown: ['tills.shop.example: no answer'] });
    bench.answers = [broken, broken, () => Promise.reject(new Error('away'))];
    await bench.take();
    expect([bench.taken, bench.hindrances]).toEqual([1, []]);
    for (const seconds of [30, 60, 120]) {
      const looks = bench.answers.length;
      bench.clock.advance(seconds * 1_000 - 1);
      await settle();
      expect(bench.answers.length).toBe(looks);
      bench.clock.advance(1);
      await settle();
    }
    expect(bench.taken).toBe(3);
    bench.clock.advance(3_600_000);
    await settle();
    expect(bench.taken).toBe(3);
  });

  test('stops asking for the broken resource when the agent is no longer active', async () => {
    const bench = new Bench();
    let isOver = false;
    bench.answers = [() => Promise.resolve({ objects: [], unknown: ['tills.shop.example: no answer'] })];
    await bench.take(() => isOver);
    isOver = true;
    bench.clock.advance(30_000);
    await settle();
    expect(bench.taken).toBe(1);
  });
});

describe('the time of a scan', () => {
  test('is after the parent has sent the desired state, and no later attachment', async () => {
    const bench = new Bench();
    const taking = bench.taking(true);
    await settle();
    expect(bench.taken).toBe(0);
    for (let i = 0; i < 2; i++) {
      taking.caughtUp();
      await settle();
      expect(bench.taken).toBe(1);
    }
  });

  test('comes again each time that the cluster was restored, and not before the parent has sent the desired state', async () => {
    const bench = new Bench();
    const taking = bench.taking(false);
    taking.wentBack();
    await settle();
    expect(bench.taken).toBe(0);
    taking.caughtUp();
    await settle();
    expect(bench.taken).toBe(1);
    taking.wentBack();
    await settle();
    expect(bench.taken).toBe(2);
  });

  test('comes once more if the cluster was restored during the scan', async () => {
    const bench = new Bench();
    const taking = bench.taking(true);
    bench.answers = [
      () => {
        taking.wentBack();
        return Promise.resolve({ objects: [], unknown: [] });
      },
    ];
    taking.caughtUp();
    await settle();
    expect(bench.taken).toBe(2);
  });

  test('includes the broken resource once more, however often the cluster was restored meanwhile', async () => {
    const bench = new Bench();
    const broken = () => Promise.resolve({ objects: [], unknown: ['tills.shop.example: no answer'] });
    bench.answers = Array.from({ length: 20 }, () => broken);
    const taking = bench.taking(true);
    taking.caughtUp();
    await settle();
    for (let i = 0; i < 4; i++) {
      taking.wentBack();
      await settle();
    }
    expect(bench.taken).toBe(5);
    bench.clock.advance(30_000);
    await settle();
    expect(bench.taken).toBe(6);
  });
});
