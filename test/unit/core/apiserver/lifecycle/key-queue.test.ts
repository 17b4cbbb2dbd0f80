import { describe, expect, it } from 'vitest';
import { KeyQueue } from '../../../../../core/apiserver/lifecycle/key-queue.ts';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { Turns } from './turns.ts';

function setup(work: (key: string) => void) {
  const clock = new VirtualClock();
  const turns = new Turns();
  return { clock, turns, queue: new KeyQueue({ work, schedule: turns.schedule, clock, logger: silentLogger }) };
}

describe('KeyQueue', () => {
  it('processes a key once, however often it was added', () => {
    const done: string[] = [];
    const { queue, turns } = setup((key) => done.push(key));
    for (const key of ['a', 'b', 'a']) queue.add(key);
    turns.settle();
    expect(done).toEqual(['a', 'b']);
  });

  it('processes at most 256 keys in a turn', () => {
    let done = 0;
    const { queue, turns } = setup(() => {
      done += 1;
    });
    for (let i = 0; i < 600; i++) queue.add(String(i));
    expect(turns.settle()).toBe(3);
    expect(done).toBe(600);
  });

  it('ends a turn whose work takes long, and goes on in the next one', () => {
    const done: string[] = [];
    const { queue, turns, clock } = setup((key) => {
      clock.advance(6);
      done.push(key);
    });
    for (const key of ['a', 'b', 'c', 'd', 'e']) queue.add(key);
    expect(turns.settle()).toBe(3);
    expect(done).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('retries a failed key, with growing delays up to a minute', () => {
    const times: number[] = [];
    const { queue, turns, clock } = setup(() => {
      times.push(clock.wallMs());
      throw new BanyanError('Conflict', 'not now');
    });
    queue.add('a');
    turns.settle();
    for (let second = 0; second < 4 * 300; second++) {
      clock.advance(250);
      turns.settle();
    }
    const waits = times.slice(1).map((time, at) => time - times[at]!);
    expect(waits).toEqual([250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  });

  it('forgets a failure with the first success', () => {
    let isBroken = true;
    let done = 0;
    const { queue, turns, clock } = setup(() => {
      if (isBroken) throw new BanyanError('Conflict', 'not now');
      done += 1;
    });
    queue.add('a');
    turns.settle();
    isBroken = false;
    queue.add('a');
    turns.settle();
    clock.advance(120_000);
    turns.settle();
    expect(done).toBe(1);
  });

  it('does not catch a broken invariant', () => {
    const { queue, turns } = setup(() => {
      throw new Error('impossible');
    });
    queue.add('a');
    expect(() => turns.settle()).toThrow('impossible');
  });

  it('does nothing once it is closed', () => {
    const done: string[] = [];
    const { queue, turns } = setup((key) => done.push(key));
    queue.add('a');
    queue.close();
    queue.add('b');
    turns.settle();
    expect(done).toEqual([]);
  });
});
