import { beforeEach, describe, expect, it } from 'vitest';
import { retryMinMs } from '../../../../core/crash/crash-marks.ts';
import { type Clock, VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { asText } from '../../../../core/store/bytes.ts';
import { WorkGuard, youngMs } from '../../../../relay/schedule/work-guard.ts';
import { mapKey, ScheduleBench, selecting } from '../support/schedule-bench.ts';

/** A node whose process ends when it ships an object of one of these bodies, and is started again by whoever runs it. */
class Bench {
  readonly schedule = new ScheduleBench();
  readonly clock = new VirtualClock();
  readonly deadly = new Set<string>();
  build = '1';
  ends = 0;
  guard!: WorkGuard;
  #lives = 0;

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

  restart(lastWords?: string): void {
    this.guard?.stop();
    this.begin(lastWords);
  }

  begin(lastWords?: string): void {
    const { build } = this;
    const life = ++this.#lives;
    // A process that has ended has no timers.
    const clock: Clock = {
      wallMs: () => this.clock.wallMs(),
      monotonicMs: () => this.clock.monotonicMs(),
      after: (ms, run) => this.clock.after(ms, () => life === this.#lives && run()),
    };
    const { store } = this.schedule;
    this.guard = new WorkGuard({
      clock,
      store,
      build,
      lastWords,
      log: silentLogger,
      due: () => {},
      changed: () => {},
    });
    this.guard.start();
    this.schedule.guard = this.guard;
    this.schedule.restart();
  }

  /** As the loop does it. True when all is done. */
  async run(): Promise<boolean> {
    try {
      for (let more = true; more; ) {
        const next = this.guard.isCareful ? this.schedule.next() : undefined;
        if (next && !this.guard.hasBegun(next)) await this.guard.begin(next);
        more = this.schedule.step(this.guard.isCareful ? 1 : undefined).more;
      }
      return true;
    } catch (error) {
      this.ends++;
      this.begin((error as Error).message);
      return false;
    }
  }

  async settle(): Promise<void> {
    for (let starts = 0; !(await this.run()); ) if (++starts > 20) throw new Error('it ends again and again');
  }

  setAside(): string[] {
    return this.guard.setAside().map(({ key }) => key);
  }
}

describe('work that ends the process', () => {
  let bench: Bench;

  beforeEach(async () => {
    bench = new Bench();
    bench.schedule.placement('p', selecting('paris'));
    bench.schedule.agent('a', { site: 'paris' });
    for (const name of ['x', 'y', 'z']) bench.schedule.object(name, ['p'], `${name}1`);
    await bench.settle();
    bench.clock.advance(youngMs);
    bench.deadly.add('y2');
  });

  it('is set aside after some ends, with its last good form in the mailbox and all else done', async () => {
    for (const name of ['x', 'y', 'z']) bench.schedule.object(name, ['p'], `${name}2`);
    await bench.settle();
    expect(bench.ends).toBe(4);
    expect(['x', 'y', 'z'].map((name) => bench.schedule.body('a', name))).toEqual(['x2', 'y1', 'z2']);
    expect(bench.guard.setAside()).toEqual([
      {
        key: mapKey('y'),
        originRevision: expect.any(Number),
        reason: expect.stringMatching(/ended 2 times.*died of y2/),
      },
    ]);
  });

  it('is one object for one child when a placement comes with many', async () => {
    bench.deadly.add('y1');
    bench.schedule.agent('b', { site: 'paris' });
    await bench.settle();
    expect(bench.schedule.mailbox('b')).toEqual(expect.arrayContaining(['o/x', 'o/z']));
    expect(bench.setAside()).toEqual([`${mapKey('y')} for b`]);
  });

  it('stays set aside over further starts, and when it is marked dirty again', async () => {
    bench.schedule.object('y', ['p'], 'y2');
    await bench.settle();
    bench.restart();
    bench.schedule.mark('row', mapKey('y'));
    await bench.settle();
    expect([bench.ends, bench.setAside()]).toEqual([4, [mapKey('y')]]);
    bench.clock.advance(youngMs);
    expect(bench.guard.isCareful).toBe(false);
  });

  it('is done when it is something else', async () => {
    bench.schedule.object('y', ['p'], 'y2');
    await bench.settle();
    bench.schedule.object('y', ['p'], 'y3');
    await bench.settle();
    expect([bench.schedule.body('a', 'y'), bench.setAside()]).toEqual(['y3', []]);
  });

  it('is taken from the mailbox when the object is deleted', async () => {
    bench.schedule.object('y', ['p'], 'y2');
    await bench.settle();
    bench.schedule.removeObject('y');
    await bench.settle();
    expect([bench.schedule.body('a', 'y'), bench.setAside()]).toEqual([undefined, []]);
  });

  it('is done by another build', async () => {
    bench.schedule.object('y', ['p'], 'y2');
    await bench.settle();
    bench.deadly.clear();
    bench.build = '2';
    bench.restart();
    await bench.settle();
    expect([bench.schedule.body('a', 'y'), bench.setAside()]).toEqual(['y2', []]);
  });

  it('is tried again after a minute, and after two more when it still ends the process', async () => {
    bench.schedule.object('y', ['p'], 'y2');
    await bench.settle();
    bench.clock.advance(retryMinMs);
    await bench.settle();
    expect([bench.ends, bench.setAside()]).toEqual([5, [mapKey('y')]]);
    bench.clock.advance(retryMinMs);
    expect(bench.guard.isCareful).toBe(false);
    bench.deadly.clear();
    bench.clock.advance(retryMinMs);
    await bench.settle();
    expect([bench.ends, bench.schedule.body('a', 'y'), bench.setAside()]).toEqual([5, 'y2', []]);
  });

  it('is not what was worked on when the process was killed from outside once or twice', async () => {
    bench.deadly.clear();
    bench.schedule.object('y', ['p'], 'y2');
    bench.begin();
    bench.begin();
    expect(bench.guard.isCareful).toBe(true);
    await bench.guard.begin(bench.schedule.next()!);
    bench.begin();
    await bench.settle();
    expect([bench.schedule.body('a', 'y'), bench.setAside()]).toEqual(['y2', []]);
    bench.clock.advance(youngMs);
    bench.begin();
    expect(bench.guard.isCareful).toBe(false);
  });

  it('gives a child all anew that left and came back between two pieces', async () => {
    bench.schedule.leave('a');
    bench.schedule.step(1);
    bench.schedule.agent('a', { site: 'paris' });
    await bench.settle();
    expect(bench.schedule.mailbox('a')).toEqual(expect.arrayContaining(['o/x', 'o/y', 'o/z']));
  });

  it('leaves no mark when the process ends in order', async () => {
    bench.schedule.object('x', ['p'], 'x2');
    bench.restart();
    bench.restart();
    expect(bench.guard.isCareful).toBe(false);
  });
});
