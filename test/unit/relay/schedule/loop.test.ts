import { beforeEach, describe, expect, it } from 'vitest';
import { LocalTable } from '../../../../core/feed/table.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { Placements } from '../../../../relay/placements/placements.ts';
import { ScheduleLoop } from '../../../../relay/schedule/loop.ts';
import { Scheduler } from '../../../../relay/schedule/schedule.ts';
import { scheduledTopic } from '../../../../relay/work/topics.ts';
import { noGuard } from '../../../support/no-guard.ts';
import { openPassage } from '../../../support/open-passage.ts';
import { Turns } from '../../core/apiserver/lifecycle/turns.ts';
import { noReleases } from '../support/no-releases.ts';
import { idOf, selecting } from '../support/schedule-bench.ts';
import { SpaceBench, source } from '../support/space-bench.ts';

describe('the loop of a scheduler', () => {
  let bench: SpaceBench;
  let turns: Turns;
  let clock: VirtualClock;
  let events: string[];
  let placements: Placements;
  let loop: ScheduleLoop;

  beforeEach(() => {
    bench = new SpaceBench();
    turns = new Turns();
    clock = new VirtualClock();
    events = [];
    placements = new Placements();
    bench.store.subscribe(scheduledTopic, (ids) => events.push(`stepped: ${[...ids].join()}`));
    const table = bench.store.write((t) => LocalTable.open(t, `source/${source}`));
    const scheduler = new Scheduler({
      tableOf: () => table,
      mailboxOf: () => undefined,
      children: new Map(),
      placements,
      refreshChild: () => false,
      askedChanged: () => undefined,
      auxiliaryChanged: () => undefined,
      releases: noReleases,
      stages: [],
      passage: openPassage,
      covered: () => ({}),
      guard: noGuard,
    });
    loop = new ScheduleLoop({
      store: bench.store,
      clock,
      log: silentLogger,
      scheduler,
      guard: noGuard,
      before: () => [bench.selection],
      defer: turns.schedule,
      idle: () => events.push('idle'),
      failed: (error) => events.push(`failed: ${(error as Error).message}`),
    });
  });

  it('processes selections before it schedules, until nothing remains', () => {
    bench.placement('p', selecting('paris'));
    loop.wake();
    turns.settle();
    expect(events).toEqual([`stepped: ${idOf('p')}`, 'idle']);
    expect(placements.get(idOf('p'))?.target?.generation).toBe(1);
  });

  it('treats many wake calls as one', () => {
    for (let i = 0; i < 5; i++) loop.wake();
    expect(turns.settle()).toBe(1);
    expect(events).toEqual(['idle']);
  });

  it('is quiet when the work of its last wake is done, and not before its first', () => {
    expect(loop.quiet).toBe(false);
    loop.wake();
    turns.settle();
    expect(loop.quiet).toBe(true);
    loop.wake();
    expect(loop.quiet).toBe(false);
  });

  it('reports a failing store, and continues at the next wake', async () => {
    bench.placement('p', selecting('paris'));
    await bench.store.flushed();
    bench.store.failFlush(new BanyanError('StoreCorrupt', 'the disk is broken'));
    loop.wake();
    turns.settle();
    expect([events, loop.quiet]).toEqual([['failed: the disk is broken'], false]);
    bench.store.crash();
    loop.wake();
    turns.settle();
    expect(events.slice(1)).toEqual([`stepped: ${idOf('p')}`, 'idle']);
  });

  it('waits for room, and then makes the delayed writes, in order and before any step', async () => {
    bench.placement('p', selecting('paris'));
    await bench.store.flushed();
    bench.store.failFlush(new BanyanError('StoreFull', 'the disk is full'));
    loop.wake();
    turns.settle();
    for (const name of ['one', 'two']) loop.enqueue(() => events.push(name));
    clock.advance(1_000);
    turns.settle();
    expect([events, loop.quiet]).toEqual([[], false]);
    bench.store.crash();
    clock.advance(1_000);
    turns.settle();
    expect([events, loop.quiet]).toEqual([['one', 'two', `stepped: ${idOf('p')}`, 'idle'], true]);
  });

  it('accepts a bounded number of writes that wait for room', async () => {
    await bench.store.flushed();
    bench.store.failFlush(new BanyanError('StoreFull', 'the disk is full'));
    for (let i = 0; i < 10_000; i++) loop.enqueue(() => undefined);
    expect(() => loop.enqueue(() => undefined)).toThrow('more than 10000 writes wait for room');
  });

  it('waits for more work when it may, and processes all of it when the first has waited, or when something cannot wait', () => {
    loop.wake();
    turns.settle();
    events.length = 0;
    bench.placement('p', selecting('paris'));
    loop.wakeIn(100);
    clock.advance(60);
    loop.wakeIn(100);
    turns.settle();
    expect([events, loop.quiet]).toEqual([[], false]);
    clock.advance(40);
    turns.settle();
    expect([events, loop.quiet]).toEqual([[`stepped: ${idOf('p')}`, 'idle'], true]);
    loop.wakeIn(100);
    loop.wake();
    turns.settle();
    expect([events.length, loop.quiet]).toEqual([3, true]);
    clock.advance(1_000);
    expect(turns.settle()).toBe(0);
  });

  it('starts work at once that need not wait', () => {
    loop.wakeIn(0);
    expect(turns.settle()).toBe(1);
    expect(events).toEqual(['idle']);
  });

  it('does nothing after its stop', () => {
    loop.wakeIn(10);
    loop.wake();
    loop.stop();
    turns.settle();
    loop.wake();
    loop.wakeIn(10);
    clock.advance(100);
    turns.settle();
    expect(events).toEqual([]);
  });
});
