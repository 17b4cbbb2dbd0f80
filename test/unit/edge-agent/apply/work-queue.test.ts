import { describe, expect, it } from 'vitest';
import type { Company } from '../../../../core/crash/crash-guard.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { retryMaxMs, retryMinMs, WorkQueue } from '../../../../edge-agent/apply/work-queue.ts';

type Result = 'done' | 'retry';

/** A queue whose work ends when the test says so. */
function bench(
  concurrency = 2,
  priority: (key: string) => number = () => 0,
  companyOf: (key: string) => Company = () => 'any',
) {
  const clock = new VirtualClock();
  const started: string[] = [];
  const ends = new Map<string, (result: Result) => void>();
  const queue = new WorkQueue({
    clock,
    random: new SeededRandom(3),
    concurrency,
    priority,
    companyOf,
    work: (key) => {
      started.push(key);
      return new Promise((resolve) => ends.set(key, resolve));
    },
  });
  const end = async (key: string, result: Result = 'done') => {
    ends.get(key)!(result);
    await nextTurn();
  };
  return { clock, queue, started, end };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe('the work queue', () => {
  it('processes a key once, however often it was added', async () => {
    const { queue, started } = bench();
    for (let i = 0; i < 5; i++) queue.add('a');
    await nextTurn();
    expect(started).toEqual(['a']);
  });

  it('processes a key again that was added during its work, and never twice at once', async () => {
    const { queue, started, end } = bench();
    queue.add('a');
    await nextTurn();
    queue.add('a');
    await nextTurn();
    expect(started).toEqual(['a']);
    await end('a');
    expect(started).toEqual(['a', 'a']);
  });

  it('starts no more than its concurrency, smallest priority first', async () => {
    const { queue, started, end } = bench(2, (key) => Number(key));
    for (const key of ['3', '1', '4', '2']) queue.add(key);
    await nextTurn();
    expect(started).toEqual(['1', '2']);
    await end('2');
    expect(started).toEqual(['1', '2', '3']);
  });

  it('processes failed keys after all others, until they count as fresh', async () => {
    const { clock, queue, started, end } = bench(1, (key) => Number(key[0]));
    for (const key of ['1a', '1b', '1c']) queue.add(key);
    await nextTurn();
    for (const key of ['1a', '1b', '1c']) await end(key, 'retry');
    started.length = 0;
    clock.advance(2 * retryMinMs);
    await nextTurn();
    queue.add('2');
    queue.add('1c', true);
    await end(started[0]!, 'retry');
    await end('1c');
    await end('2');
    expect(started.slice(1, 3)).toEqual(['1c', '2']);
    expect([...started].sort()).toEqual(['1a', '1b', '1c', '2']);
  });

  it('processes doubtful keys when all else is done and only their kind in parallel, and isolated keys after that, alone', async () => {
    const named: Record<string, Company> = { d: 'doubtful', a: 'apart' };
    const { queue, started, end } = bench(
      2,
      (key) => -Number(key[1]),
      (key) => named[key[0]!] ?? 'any',
    );
    for (const key of ['a1', 'a2', 'd1', 'd2', 'n1', 'n2', 'n3']) queue.add(key);
    await nextTurn();
    const seen = [[...started]];
    for (const key of ['n3', 'n2', 'n1', 'd2', 'd1', 'a2', 'a1']) {
      started.length = 0;
      await end(key);
      seen.push([...started]);
    }
    expect(seen).toEqual([['n3', 'n2'], ['n1'], [], ['d2', 'd1'], [], ['a2'], ['a1'], []]);
  });

  it('lets a hanging key block no other', async () => {
    const { queue, started, end } = bench(2);
    for (const key of ['hangs', 'b', 'c', 'd']) queue.add(key);
    await nextTurn();
    for (const key of ['b', 'c', 'd']) await end(key);
    expect(started).toEqual(['hangs', 'b', 'c', 'd']);
  });

  it('retries failed keys within its bounds, later each time', async () => {
    const { clock, queue, started, end } = bench();
    queue.add('a');
    await nextTurn();
    let longest = 0;
    for (let failure = 0; failure < 20; failure++) {
      const before = started.length;
      await end('a', 'retry');
      const sinceMs = clock.monotonicMs();
      clock.advance(retryMinMs - 1);
      await nextTurn();
      expect(started).toHaveLength(before);
      while (started.length === before) {
        clock.advance(1_000);
        await nextTurn();
      }
      const waitedMs = clock.monotonicMs() - sinceMs;
      expect(waitedMs).toBeLessThanOrEqual(retryMaxMs + 1_000);
      longest = Math.max(longest, waitedMs);
    }
    expect(longest).toBeGreaterThan(retryMaxMs / 4);
  });

  it('forgets earlier failures when the desired state has changed', async () => {
    const { clock, queue, started, end } = bench();
    queue.add('a');
    await nextTurn();
    for (let failure = 0; failure < 12; failure++) {
      await end('a', 'retry');
      queue.add('a');
      await nextTurn();
    }
    queue.add('a', true);
    await end('a', 'retry');
    await end('a', 'retry');
    const before = started.length;
    clock.advance(2 * retryMinMs);
    await nextTurn();
    expect(started).toHaveLength(before + 1);
  });

  it('is idle when nothing waits or runs, whatever is to be retried later', async () => {
    const { queue, end } = bench();
    queue.add('a');
    let idle = false;
    const waiting = queue.idle().then(() => {
      idle = true;
    });
    await nextTurn();
    expect(idle).toBe(false);
    await end('a', 'retry');
    await waiting;
    expect(idle).toBe(true);
  });

  it('starts nothing after its stop, and is stopped when the running work has ended', async () => {
    const { clock, queue, started, end } = bench(1);
    queue.add('a');
    queue.add('b');
    queue.addAfter('c', 10);
    await nextTurn();
    const stopping = queue.stop();
    await end('a', 'retry');
    await stopping;
    clock.advance(retryMaxMs * 2);
    await nextTurn();
    expect(started).toEqual(['a']);
  });
});
