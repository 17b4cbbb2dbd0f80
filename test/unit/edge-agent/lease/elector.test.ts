import { describe, expect, test } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { durationMs, releasedLeaseMs, renewDeadlineMs, renewMs } from '../../../../edge-agent/lease/election.ts';
import { answerMs, Elector } from '../../../../edge-agent/lease/elector.ts';
import type { LeaseRecord } from '../../../../edge-agent/lease/lease.ts';
import { MemoryLease, settle } from './memory-lease.ts';

class Bench {
  readonly clock = new VirtualClock();
  readonly lease = new MemoryLease();
  readonly won: LeaseRecord[] = [];
  readonly lost: string[] = [];
  readonly elector = new Elector(
    {
      lease: this.lease,
      clock: this.clock,
      log: silentLogger,
      me: 'a_1',
      path: 'eu:shop',
    },
    { won: (left) => this.won.push(left), lost: (why) => this.lost.push(why) },
  );

  async advance(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 500) {
      this.clock.advance(Math.min(500, ms - passed));
      await settle();
    }
  }

  async begin(released = true): Promise<this> {
    this.lease.put(released ? { durationMs: releasedLeaseMs, handover: { store: 's0' } } : { holder: 'b_1' });
    this.elector.start();
    await settle();
    return this;
  }
}

describe('an elector', () => {
  test('wins a free Lease, once, and gets the data in it', async () => {
    const { elector, won, lease } = await new Bench().begin();
    expect([elector.holds, elector.standing, lease.record?.holder]).toEqual([true, 'active', 'a_1']);
    expect(won.map(({ handover }) => handover)).toEqual([{ store: 's0' }]);
  });

  test('renews every two seconds', async () => {
    const bench = await new Bench().begin();
    await bench.advance(3 * renewMs);
    expect(bench.lease.writes).toHaveLength(4);
    expect(bench.lease.writes.at(-1)?.handover).toEqual({ store: 's0', path: 'eu:shop' });
    expect(bench.won).toHaveLength(1);
  });

  test('takes over from an elector that does not renew, and names the active one until then', async () => {
    const bench = await new Bench().begin(false);
    expect(bench.elector.standing).toBe('standby: b_1 is active');
    await bench.advance(durationMs - 500);
    expect(bench.elector.holds).toBe(false);
    await bench.advance(500);
    expect(bench.elector.holds).toBe(true);
  });

  test('gives up by its own clock if nobody answers, reports it, and continues when it finds its own record', async () => {
    const bench = await new Bench().begin();
    bench.lease.isAway = true;
    await bench.advance(renewDeadlineMs);
    expect([bench.elector.holds, bench.lost]).toEqual([false, []]);
    bench.lease.isAway = false;
    await bench.advance(1_000);
    expect([bench.elector.holds, bench.lost]).toEqual([true, []]);
  });

  test('has lost the Lease when another holder is in it', async () => {
    const bench = await new Bench().begin();
    bench.lease.put({ holder: 'b_1' });
    await bench.advance(renewMs);
    expect(bench.lost).toEqual(['b_1 holds the Lease']);
    expect(bench.elector.holds).toBe(false);
    await expect(bench.elector.handOver({ store: 's1' })).rejects.toThrow('does not hold the Lease any more');
  });

  test('ignores an answer that comes after its time', async () => {
    const bench = await new Bench().begin();
    let answer = () => {};
    bench.lease.gate = new Promise((resolve) => {
      answer = resolve;
    });
    await bench.advance(renewMs + answerMs + 400);
    bench.lease.gate = Promise.resolve();
    answer();
    await settle();
    await bench.advance(renewDeadlineMs);
    expect([bench.elector.holds, bench.lost]).toEqual([true, []]);
  });

  test('writes the given data, and reports that they are written', async () => {
    const bench = await new Bench().begin();
    let isWritten = false;
    bench.lease.isAway = true;
    void bench.elector.handOver({ store: 's1' }).then(() => {
      isWritten = true;
    });
    await bench.advance(1_000);
    expect(isWritten).toBe(false);
    bench.lease.isAway = false;
    await bench.advance(1_000);
    expect([isWritten, bench.lease.record?.handover.store]).toEqual([true, 's1']);
  });

  test('that ends writes that nobody holds the Lease', async () => {
    const bench = await new Bench().begin();
    await bench.elector.end();
    expect(bench.lease.record).toMatchObject({ holder: '', durationMs: releasedLeaseMs });
    expect(bench.elector.holds).toBe(false);
  });

  test('that ends does not wait for an API server that does not answer', async () => {
    const bench = await new Bench().begin();
    bench.lease.isAway = true;
    const ended = bench.elector.end();
    await bench.advance(3_500);
    await ended;
    expect(bench.lease.record?.holder).toBe('a_1');
  });

  test('leaves the Lease of another agent alone, and names that agent', async () => {
    const bench = new Bench();
    bench.lease.put({ durationMs: releasedLeaseMs, handover: { path: 'eu:other' } });
    bench.elector.start();
    await settle();
    await bench.advance(30_000);
    expect(bench.lease.writes).toEqual([]);
    expect(bench.elector.standing).toMatch(/belongs to agent eu:other.*cluster\.kubernetes\.lease\.name/);
  });
});
