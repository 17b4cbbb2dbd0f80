import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { exactRate, StatusReporter } from '../../../../../relay/gather/status/reporter.ts';
import { Turns } from '../../../core/apiserver/lifecycle/turns.ts';

describe('a reporter', () => {
  let clock: VirtualClock;
  let turns: Turns;
  let reports: string[][];
  let failures: unknown[];
  let error: Error | undefined;
  let reporter: StatusReporter;
  const report = (ids: readonly string[]) => {
    if (error) throw error;
    reports.push([...ids]);
  };

  beforeEach(() => {
    clock = new VirtualClock();
    turns = new Turns();
    reports = [];
    failures = [];
    error = undefined;
    reporter = new StatusReporter({ clock, defer: turns.schedule, report, failed: (error) => failures.push(error) });
  });

  function change(id: string): void {
    reporter.mark(id);
    turns.settle();
  }

  it('reports a change at once, and several changes of one turn together and once each', () => {
    for (const id of ['s/a', 's/b', 's/a']) reporter.mark(id);
    turns.settle();
    expect(reports).toEqual([['s/a', 's/b']]);
  });

  it('reports again, after a second, what did not fit on the disk, once whatever happens in between', () => {
    error = new BanyanError('StoreFull', 'no room');
    change('s/a');
    change('s/a');
    clock.advance(1_000);
    turns.settle();
    expect([reports, failures]).toEqual([[], []]);
    error = undefined;
    clock.advance(1_000);
    turns.settle();
    expect(reports).toEqual([['s/a']]);
  });

  it('announces when a report could not be written otherwise', () => {
    error = new Error('broken');
    change('s/a');
    expect(failures).toEqual([error]);
  });

  it('reports a thousand simultaneous changes some at a time, each of them once', () => {
    const ids = Array.from({ length: 1_000 }, (_, i) => `s/${i}`);
    for (const id of ids) reporter.mark(id);
    turns.settle();
    expect(reports.flat()).toEqual(ids);
    expect(Math.max(...reports.map(({ length }) => length))).toBeLessThan(100);
  });

  it('reports a constantly changing placement at most once a second after a burst, and its last change always', () => {
    for (let i = 0; i < 100; i++) change('s/a');
    const burst = reports.length;
    expect(burst).toBeLessThan(10);
    for (let second = 0; second < 5; second++) {
      for (let i = 0; i < 50; i++) change('s/a');
      clock.advance(1_000);
      turns.settle();
    }
    expect(reports.length).toBe(burst + 5);
    clock.advance(60_000);
    turns.settle();
    expect(reports.length).toBe(burst + 5);
  });

  it('reports a constantly changing object twenty times a second if that is its rate', () => {
    reporter = new StatusReporter({
      clock,
      defer: turns.schedule,
      rate: exactRate,
      report,
      failed: (error) => failures.push(error),
    });
    for (let i = 0; i < 100; i++) change('s/a');
    reports.length = 0;
    for (let ms = 0; ms < 1_000; ms += 10) {
      change('s/a');
      clock.advance(10);
      turns.settle();
    }
    expect(reports).toHaveLength(20);
  });

  describe('of keys that may become urgent', () => {
    const urgent = new Set<string>();

    beforeEach(() => {
      urgent.clear();
      reporter = new StatusReporter({
        clock,
        defer: turns.schedule,
        isUrgent: (id) => urgent.has(id),
        report,
        failed: (error) => failures.push(error),
      });
      for (let i = 0; i < 100; i++) change('s/a');
      reports.length = 0;
    });

    it('reports at once what becomes urgent while it waits, once, and then goes on at its rate', () => {
      change('s/a');
      urgent.add('s/a');
      change('s/a');
      expect(reports).toEqual([['s/a']]);
      urgent.clear();
      change('s/a');
      expect(reports).toEqual([['s/a']]);
      clock.advance(1_000);
      turns.settle();
      expect(reports).toEqual([['s/a'], ['s/a']]);
    });

    it('asks a disk without room no more often because a report is urgent', () => {
      let asked = 0;
      reporter.stop();
      error = new BanyanError('StoreFull', 'no room');
      reporter = new StatusReporter({
        clock,
        defer: turns.schedule,
        isUrgent: () => true,
        report: (ids) => {
          asked++;
          report(ids);
        },
        failed: (error) => failures.push(error),
      });
      for (let i = 0; i < 100; i++) change('s/a');
      expect(asked).toBe(1);
      error = undefined;
      clock.advance(1_000);
      turns.settle();
      expect([asked, reports, failures]).toEqual([2, [['s/a']], []]);
    });
  });

  it('lets a constantly changing key delay no other', () => {
    for (let i = 0; i < 100; i++) change('s/a');
    reports.length = 0;
    change('s/b');
    expect(reports).toEqual([['s/b']]);
  });

  it('gives a quiet placement its burst again', () => {
    for (let i = 0; i < 100; i++) change('s/a');
    clock.advance(120_000);
    turns.settle();
    reports.length = 0;
    change('s/a');
    change('s/a');
    expect(reports).toEqual([['s/a'], ['s/a']]);
  });

  it('reports nothing after its stop', () => {
    for (let i = 0; i < 100; i++) change('s/a');
    reporter.stop();
    reports.length = 0;
    change('s/b');
    clock.advance(60_000);
    turns.settle();
    expect(reports).toEqual([]);
  });
});
