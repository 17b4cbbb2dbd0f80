import { beforeEach, describe, expect, it } from 'vitest';
import { quarantineMinMs } from '../../../../core/crash/crash-marks.ts';
import { type Clock, VirtualClock } from '../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { asText } from '../../../../core/store/bytes.ts';
import { PoisonWorkGuard } from '../../../../relay/work/work-guard.ts';
import { mapKey, ScheduleBench, selecting } from '../support/schedule-bench.ts';

/** A node whose process ends when it ships an object with one of these bodies, and is then started again. */
class Bench {
  readonly schedule = new ScheduleBench();
  readonly clock = new VirtualClock();
  readonly deadly = new Set<string>();
  build = '1';
  ends = 0;
  guard!: PoisonWorkGuard;
  note = '';
  #starts = 0;

  constructor() {
    this.schedule.stages = [
      {
        outgoing: (_t, _shipment, what) => {
          const body = what.type === 'content' ? asText(what.content.body) : '';
          if (this.deadly.has(body)) throw new Error(`died of ${body}`);
          return what;
        },
      },
    ];
    this.restart();
  }

  restart(crashMessage?: string): void {
    this.guard?.stop();
    this.begin(crashMessage);
  }

  begin(crashMessage?: string): void {
    const { build } = this;
    const start = ++this.#starts;
    // An ended process has no timers.
    const clock: Clock = {
      wallMs: () => this.clock.wallMs(),
      monotonicMs: () => this.clock.monotonicMs(),
      after: (ms, run) => this.clock.after(ms, () => start === this.#starts && run()),
    };
    const { store } = this.schedule;
    this.guard = new PoisonWorkGuard({
      clock,
      store,
      build,
      crashMessage,
      log: silentLogger,
      crashJournal: {
        found: this.note === '' ? undefined : this.note,
        write: (text) => {
          this.note = text;
        },
      },
    });
    this.guard.start();
    this.schedule.guard = this.guard;
    this.schedule.restart();
  }

  /** True when all is done. */
  run(): boolean {
    try {
      this.schedule.settle();
      return true;
    } catch (error) {
      this.ends++;
      this.begin((error as Error).message);
      return false;
    }
  }

  settle(): void {
    for (let starts = 0; !this.run(); ) if (++starts > 20) throw new Error('it ends again and again');
  }

  quarantinedWork(): string[] {
    return this.guard.quarantinedWork().map(({ key }) => key);
  }
}

describe('work that ends the process', () => {
  let bench: Bench;

  beforeEach(() => {
    bench = new Bench();
    bench.schedule.placement('p', selecting('paris'));
    bench.schedule.agent('a', { site: 'paris' });
    for (const name of ['x', 'y', 'z']) bench.schedule.object(name, ['p'], `${name}1`);
    bench.settle();
    bench.deadly.add('y2');
  });

  it('is quarantined after two ends, with its last good form in the mailbox and all other work done', () => {
    for (const name of ['x', 'y', 'z']) bench.schedule.object(name, ['p'], `${name}2`);
    bench.settle();
    expect(bench.ends).toBe(2);
    expect(['x', 'y', 'z'].map((name) => bench.schedule.body('a', name))).toEqual(['x2', 'y1', 'z2']);
    expect(bench.guard.quarantinedWork()).toEqual([
      {
        key: mapKey('y'),
        originRevision: expect.any(Number),
        reason: expect.stringMatching(/ended 2 times.*died of y2/),
      },
    ]);
  });

  it('is narrowed down to one object for one child when a placement comes with many', () => {
    bench.deadly.add('y1');
    bench.schedule.agent('b', { site: 'paris' });
    bench.settle();
    expect(bench.schedule.mailbox('b')).toEqual(expect.arrayContaining(['o/x', 'o/z']));
    expect([bench.ends, bench.quarantinedWork()]).toEqual([2, [`${mapKey('y')} for b`]]);
  });

  it('stays quarantined over further starts, and when it is marked dirty again', () => {
    bench.schedule.object('y', ['p'], 'y2');
    bench.settle();
    bench.restart();
    bench.schedule.mark('row', mapKey('y'));
    bench.settle();
    expect([bench.ends, bench.quarantinedWork()]).toEqual([2, [mapKey('y')]]);
  });

  it('is done when its content has changed', () => {
    bench.schedule.object('y', ['p'], 'y2');
    bench.settle();
    bench.schedule.object('y', ['p'], 'y3');
    bench.settle();
    expect([bench.schedule.body('a', 'y'), bench.quarantinedWork()]).toEqual(['y3', []]);
  });

  it('is removed from the mailbox when the object is deleted', () => {
    bench.schedule.object('y', ['p'], 'y2');
    bench.settle();
    bench.schedule.removeObject('y');
    bench.settle();
    expect([bench.schedule.body('a', 'y'), bench.quarantinedWork()]).toEqual([undefined, []]);
  });

  it('is done by another build', () => {
    bench.schedule.object('y', ['p'], 'y2');
    bench.settle();
    bench.deadly.clear();
    bench.build = '2';
    bench.restart();
    bench.settle();
    expect([bench.schedule.body('a', 'y'), bench.quarantinedWork()]).toEqual(['y2', []]);
  });

  it('is tried again after a minute, and after two more if it still ends the process', () => {
    bench.schedule.object('y', ['p'], 'y2');
    bench.settle();
    bench.clock.advance(quarantineMinMs);
    bench.settle();
    expect([bench.ends, bench.quarantinedWork()]).toEqual([3, [mapKey('y')]]);
    bench.deadly.clear();
    bench.clock.advance(quarantineMinMs);
    bench.settle();
    expect(bench.schedule.body('a', 'y')).toBe('y1');
    bench.clock.advance(quarantineMinMs);
    bench.settle();
    expect([bench.ends, bench.schedule.body('a', 'y'), bench.quarantinedWork()]).toEqual([3, 'y2', []]);
  });

  it('stays quarantined while the disk is full, and is tried again when there is room', async () => {
    bench.schedule.object('y', ['p'], 'y2');
    bench.settle();
    bench.deadly.clear();
    const { store } = bench.schedule;
    await store.flushed();
    store.failFlush(new BanyanError('StoreFull', 'the disk is full'));
    bench.clock.advance(quarantineMinMs);
    expect(bench.quarantinedWork()).toEqual([mapKey('y')]);
    store.crash();
    bench.clock.advance(quarantineMinMs);
    bench.settle();
    expect([bench.ends, bench.schedule.body('a', 'y'), bench.quarantinedWork()]).toEqual([2, 'y2', []]);
  });

  it('is not work that succeeds after one end', () => {
    bench.schedule.object('y', ['p'], 'y2');
    bench.run();
    bench.deadly.clear();
    bench.settle();
    bench.deadly.add('y3');
    bench.schedule.object('y', ['p'], 'y3');
    bench.run();
    expect([bench.ends, bench.quarantinedWork()]).toEqual([2, []]);
  });

  it('is not blamed for an end of the idle process, nor because of a damaged journal', () => {
    bench.note = 'torn{';
    bench.begin();
    bench.begin();
    bench.begin();
    expect(bench.quarantinedWork()).toEqual([]);
    bench.settle();
    expect(bench.note).toBe('');
  });
});
