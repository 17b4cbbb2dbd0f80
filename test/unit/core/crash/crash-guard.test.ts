import { describe, expect, it } from 'vitest';
import { CrashGuard, settleMs, siftedMax } from '../../../../core/crash/crash-guard.ts';
import { quarantineMinMs } from '../../../../core/crash/crash-marks.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

class Bench {
  readonly clock = new VirtualClock();
  readonly store = new MemoryStore();
  guard = this.start();

  /** A new process on the same store, however the last one ended. */
  start(build = '1'): CrashGuard {
    const { clock, store } = this;
    this.guard = new CrashGuard({ clock, store, build, log: silentLogger, schedule: setImmediate });
    return this.guard;
  }

  /** The process ends while it works on these keys. */
  async dieAt(...keys: string[]): Promise<void> {
    for (const key of keys) void this.guard.work(key, 'h', () => new Promise(() => {}));
    await turn();
    this.start();
  }

  quarantined(): string[] {
    return [...this.guard.quarantined()].map(([key]) => key);
  }
}

const done = () => Promise.resolve('done' as const);

it('work leaves no mark once it has settled, nor when the process ends in order', async () => {
  const bench = new Bench();
  await bench.guard.work('a', 'h', done);
  bench.clock.advance(2 * settleMs);
  expect(bench.start().companyOf('a')).toBe('any');
  await bench.guard.work('b', 'h', done);
  bench.guard.stop();
  bench.guard.end();
  expect(bench.start().companyOf('b')).toBe('any');
});

it('work that has just ended is suspect too: its after-effects may have ended the process', async () => {
  const bench = new Bench();
  await bench.guard.work('a', 'h', done);
  bench.clock.advance(settleMs);
  expect(bench.start().companyOf('a')).toBe('apart');
});

it('a suspect that succeeds is cleared, and one that could not be tried stays a suspect', async () => {
  const bench = new Bench();
  await bench.dieAt('a', 'b');
  const [a, b] = [
    bench.guard.work('a', 'h', done),
    bench.guard.work('b', 'h', () => Promise.resolve('retry' as const)),
  ];
  await turn();
  bench.clock.advance(settleMs);
  expect(await Promise.all([a, b])).toEqual(['done', 'retry']);
  expect([bench.guard.companyOf('a'), bench.guard.companyOf('b')]).toEqual(['any', 'apart']);
});

describe('if the process ended while it worked on a great many items', () => {
  const many = Array.from({ length: 2 * siftedMax }, (_, i) => `${i}`);
  const dead = async () => {
    const bench = new Bench();
    await bench.dieAt(...many);
    return bench;
  };

  it('they are processed in parallel again, at most as many as may be suspect afterwards', async () => {
    const bench = await dead();
    expect(many.every((key) => bench.guard.companyOf(key) === 'doubtful' && bench.guard.isHeldOff(key))).toBe(true);
    let begun = 0;
    const all = many.map((key) =>
      bench.guard.work(key, 'h', async () => {
        begun++;
        return 'done' as const;
      }),
    );
    await turn();
    await turn();
    expect(begun).toBe(siftedMax);
    for (let passed = 0; passed < 6; passed++) {
      bench.clock.advance(settleMs);
      await turn();
      await turn();
    }
    expect((await Promise.all(all)).length).toBe(begun);
    expect(many.some((key) => bench.start().isHeldOff(key))).toBe(false);
  });

  it('the items in progress at an end are suspect, the others stay doubtful, and the second end during one item alone names it', async () => {
    const bench = await dead();
    await bench.dieAt('a-new-one', ...many.slice(0, 20));
    const company = (key: string) => bench.guard.companyOf(key);
    expect([company('0'), company('19'), company('20'), company('a-new-one')]).toEqual([
      'apart',
      'apart',
      'doubtful',
      'doubtful',
    ]);
    await bench.dieAt('7');
    expect(bench.quarantined()).toEqual(['7']);
  });

  it('the second run of an item that has just been narrowed down belongs to the same search', async () => {
    const bench = await dead();
    await bench.guard.work('0', 'h', done);
    await bench.dieAt('0');
    expect(bench.guard.companyOf('0')).toBe('apart');
  });

  it('an item that could not be tried keeps its state', async () => {
    const bench = await dead();
    await bench.guard.work('0', 'h', () => Promise.resolve('retry' as const));
    expect(bench.guard.companyOf('0')).toBe('doubtful');
  });
});

it('work that ends the process twice is not begun a third time', async () => {
  const bench = new Bench();
  await bench.dieAt('a', 'b');
  await bench.dieAt('b');
  expect(bench.quarantined()).toEqual(['b']);
  expect(await bench.guard.work('b', 'h', () => Promise.reject(new Error('begun')))).toBe('quarantined');
});

it('another content of the key is processed as new, and the change is reported', async () => {
  const bench = new Bench();
  await bench.dieAt('a');
  await bench.dieAt('a');
  let announcements = 0;
  bench.guard.listen({ due() {}, changed: () => announcements++ });
  expect(await bench.guard.work('a', 'other', done)).toBe('done');
  expect([announcements, bench.quarantined()]).toEqual([1, []]);
});

it('a quarantined item is tried again after a minute, and one crash is enough to quarantine it again', async () => {
  const bench = new Bench();
  await bench.dieAt('a');
  await bench.dieAt('a');
  const due: string[] = [];
  bench.guard.listen({ due: (key) => due.push(key), changed() {} });
  bench.clock.advance(quarantineMinMs - 1);
  expect(due).toEqual([]);
  bench.clock.advance(quarantineMinMs / 4);
  expect([due, bench.guard.companyOf('a')]).toEqual([['a'], 'apart']);
  await bench.dieAt('a');
  expect(bench.quarantined()).toEqual(['a']);
});
