import { beforeEach, describe, expect, it } from 'vitest';
import type { StorageEvent } from '../../../../core/apiserver/storage.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { Views } from '../../../../relay/spaces/views.ts';
import { ReportedBench, report, upsynced } from '../support/reported-bench.ts';

const nothing = { shown: () => [], shownOne: () => undefined };

describe('the views of a node', () => {
  let bench: ReportedBench;
  let clock: VirtualClock;
  let views: Views;
  const say = (...said: Parameters<ReportedBench['say']>[1][]) =>
    views.reportedChanged('paris', bench.say('paris', ...said));
  const ask = (prefix: string, count: number) => {
    for (let i = 0; i < count; i++) views.resolve(`${prefix}${i}`);
  };

  beforeEach(() => {
    bench = new ReportedBench('eu');
    clock = new VirtualClock();
    bench.child('paris', 'relay');
    views = new Views({
      store: bench.store,
      clock,
      random: new SeededRandom(1),
      log: silentLogger,
      mailboxes: bench.mailboxes,
      upstream: bench.mailboxes.get('paris')!.reported,
      statusOf: () => undefined,
      exactStatusOf: () => undefined,
      summaries: nothing,
      slices: nothing,
      path: 'eu',
    });
  });

  it('are one space for all who ask for it', () => {
    expect(views.resolve('/mailboxes/paris')).toBe(views.resolve('/mailboxes/paris'));
    expect(views.resolve('/spaces/center.retail')).toBe(views.resolve('/spaces/center.retail'));
    expect(views.resolve('/reported/eu:paris:shop')).toBe(views.resolve('/reported/eu:paris:shop'));
    expect(views.resolve('/mailboxes/rome')).toBeUndefined();
    expect(views.resolve('/reported/eu:rome:shop')).toBeUndefined();
    expect(views.resolve('/spaces/own')).toBeUndefined();
  });

  it('that show nothing have a bound, and say when to ask again', () => {
    ask('/reported/eu:paris:made-up-', 1_000);
    const one = () => views.resolve('/spaces/one.more');
    expect(one).toThrow(/1000 spaces that show nothing are in use here: .* again in 60 s/);
    try {
      one();
    } catch (error) {
      expect(error).toMatchObject({ code: 'TooManyRequests', details: { retryAfterSeconds: 60 } });
    }
    clock.advance(60_000);
    ask('/spaces/made.up-', 1_000);
    expect(one).toThrow(/in use/);
  });

  it('make room when nobody has asked for them, and are made anew for the next', () => {
    const before = views.resolve('/spaces/center.retail');
    clock.advance(60_000);
    ask('/spaces/made.up-', 1_000);
    clock.advance(60_000);
    expect(views.resolve('/spaces/center.retail')).not.toBe(before);
  });

  it('stay while somebody watches, or when they show something', () => {
    const watched = views.resolve('/reported/eu:paris:shop')!;
    const events: StorageEvent[] = [];
    watched.storage.subscribe((some) => events.push(...some));
    say(upsynced('eu:paris:bar', report));
    const full = views.resolve('/reported/eu:paris:bar')!;
    clock.advance(60_000);
    ask('/spaces/made.up-', 999);
    clock.advance(60_000);
    ask('/spaces/other.made.up-', 500);
    expect(views.resolve('/reported/eu:paris:shop')).toBe(watched);
    expect(views.resolve('/reported/eu:paris:bar')).toBe(full);
    say(upsynced('eu:paris:shop', report));
    expect(events).toMatchObject([{ type: 'ADDED', object: { key: report } }]);
  });

  it('that show something are opened however many show nothing', () => {
    say(upsynced('eu:paris:shop', report));
    ask('/spaces/made.up-', 1_000);
    expect(views.resolve('/reported/eu:paris:shop')?.storage.get(report)).toBeDefined();
  });
});
