import { describe, expect, test } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { beginBoot, markAttached, readNodeIdentity } from '../../../../core/session/node-identity.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import type { Successor } from '../../../../edge-agent/agent/assembly.ts';
import { releasedLeaseMs, renewDeadlineMs, renewMs } from '../../../../edge-agent/lease/election.ts';
import { type AgentHooks, Leadership, type LedAgent } from '../../../../edge-agent/lease/leadership.ts';
import type { LeaseHandover } from '../../../../edge-agent/lease/lease.ts';
import { openLeaseMemory } from '../../../../edge-agent/lease/lease-memory.ts';
import { MemoryLease, settle } from './memory-lease.ts';

/** A fake agent that records the calls to it. */
class Bench {
  readonly clock = new VirtualClock();
  readonly random = new SeededRandom(1);
  readonly store = new MemoryStore();
  readonly lease = new MemoryLease();
  readonly log: string[] = [];
  successor: Successor | undefined;
  hooks: AgentHooks | undefined;
  readonly leadership: Leadership<LedAgent>;

  constructor() {
    const { clock, random, store, lease, log } = this;
    this.leadership = new Leadership({
      lease,
      clock,
      random,
      store,
      log: silentLogger,
      me: 'a_1',
      path: 'eu:shop',
      assemble: (hooks) => {
        this.hooks = hooks;
        this.successor = hooks.successor;
        store.write((t) => beginBoot(t, clock, random, hooks.successor.forebear));
        log.push('assemble');
        return Promise.resolve({
          start: () => log.push('start'),
          resume: () => log.push('resume'),
          [Symbol.asyncDispose]: () => {
            log.push('end');
            return Promise.resolve();
          },
        });
      },
      scanAppliedInventory: () => {
        log.push('scanAppliedInventory');
        return Promise.resolve();
      },
      lost: (why) => log.push(`lost: ${why}`),
    });
  }

  /** The id of its store. */
  get own(): string {
    return openLeaseMemory(this.store, this.random).store;
  }

  async begin(handover: LeaseHandover = {}): Promise<this> {
    this.lease.put({ durationMs: releasedLeaseMs, handover });
    this.leadership.start();
    await settle();
    return this;
  }

  async advance(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 500) {
      this.clock.advance(500);
      await settle();
    }
  }
}

describe('an agent with a Lease', () => {
  test('starts when it holds the Lease, after the Lease has the identity for the parent', async () => {
    const bench = await new Bench().begin({ path: 'eu:shop', bootCounter: 2 ** 32, attachedNonce: 'ab'.repeat(16) });
    expect(bench.log).toEqual(['assemble', 'start']);
    const { bootCounter, attachedNonce } = bench.store.read((reader) => readNodeIdentity(reader))!;
    expect([bootCounter, attachedNonce]).toEqual([2 ** 32 + 1, 'ab'.repeat(16)]);
    expect(bench.lease.record?.handover).toMatchObject({ bootCounter, store: bench.own });
  });

  test('knows the former paths of an agent that has moved', async () => {
    const bench = new Bench();
    bench.lease.put({ installedFor: 'eu:shop' });
    await bench.begin({ path: 'us:shop', formerPaths: 'asia:shop' });
    expect(bench.successor?.formerPaths).toEqual(['us:shop', 'asia:shop']);
    expect(bench.lease.record?.handover).toMatchObject({ path: 'eu:shop', formerPaths: 'us:shop,asia:shop' });
  });

  test('does not start while another one is active, and may write nothing', async () => {
    const bench = new Bench();
    bench.lease.put({ holder: 'b_1' });
    bench.leadership.start();
    await settle();
    expect(bench.log).toEqual([]);
    expect(bench.leadership.refusal()?.message).toMatch(/standby: b_1 is active/);
  });

  test('writes after a welcome the nonce by which its parent knows it', async () => {
    const bench = await new Bench().begin();
    bench.store.write((t) => markAttached(t));
    bench.hooks!.attached();
    await settle();
    const { bootNonce } = bench.store.read((reader) => readNodeIdentity(reader))!;
    expect(bench.lease.record?.handover.attachedNonce).toBe(bootNonce);
  });

  test('whose store was active last waits for nothing, and scans once', async () => {
    const bench = await new Bench().begin();
    expect(bench.successor?.waiting).toBeUndefined();
    bench.hooks!.caughtUp();
    bench.hooks!.caughtUp();
    await settle();
    expect(bench.log).toEqual(['assemble', 'start', 'scanAppliedInventory']);
  });

  test('whose store was not active last applies when it has caught up and scanned, and is named only then', async () => {
    const bench = await new Bench().begin({ store: 'another' });
    expect(bench.successor?.waiting?.for).toMatch(/was active last.*parent has sent what is wanted/);
    expect(bench.log).toEqual(['assemble', 'start']);
    expect(bench.lease.record?.handover.store).toBe('another');
    bench.hooks!.caughtUp();
    await settle();
    expect(bench.log).toEqual(['assemble', 'start', 'scanAppliedInventory', 'resume']);
    expect(bench.lease.record?.handover.store).toBe(bench.own);
  });

  test('applies nothing before the Lease has recorded that its store is up to date', async () => {
    const bench = await new Bench().begin({ store: 'another' });
    bench.lease.isAway = true;
    bench.hooks!.caughtUp();
    await bench.advance(renewDeadlineMs);
    expect(bench.log).not.toContain('resume');
    bench.lease.isAway = false;
    await bench.advance(1_000);
    expect(bench.log.at(-1)).toBe('resume');
  });

  test('dials nobody while it may not write', async () => {
    const bench = await new Bench().begin();
    const dialer = bench.leadership.dialer({ dial: () => Promise.reject(new Error('dialled')) });
    const events = { onFrame() {}, onBytes() {}, onDrain() {}, onClose() {} };
    await expect(dialer.dial(events, 1)).rejects.toThrow('dialled');
    bench.lease.isAway = true;
    await bench.advance(renewDeadlineMs);
    await expect(dialer.dial(events, 1)).rejects.toThrow('does not hold its Lease');
  });

  test('is over when another one is active, and does not start again', async () => {
    const bench = await new Bench().begin({ store: 'another' });
    bench.lease.put({ holder: 'b_1' });
    await bench.advance(renewMs);
    expect(bench.log.at(-1)).toBe('lost: b_1 holds the Lease');
    bench.hooks!.caughtUp();
    await settle();
    expect(bench.log).not.toContain('resume');
  });

  test('ends even while it waits for a write that is not answered', async () => {
    const bench = new Bench();
    bench.lease.put({ durationMs: releasedLeaseMs });
    bench.leadership.start();
    await Promise.resolve();
    bench.lease.isAway = true;
    await settle();
    const ended = bench.leadership[Symbol.asyncDispose]();
    await bench.advance(5_000);
    await ended;
    expect(bench.log).not.toContain('start');
  });

  test('ends before it writes that nobody is active', async () => {
    const bench = await new Bench().begin();
    await bench.leadership[Symbol.asyncDispose]();
    expect([bench.log.at(-1), bench.lease.record?.holder]).toEqual(['end', '']);
  });
});
