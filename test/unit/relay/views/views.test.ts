import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { StorageEvent } from '../../../../core/apiserver/storage.ts';
import { producerRowsTopic } from '../../../../core/feed/topics.ts';
import { formatKey, type ObjectKey, parseKey } from '../../../../core/object/key.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { childrenOfMailboxes } from '../../../../relay/mailbox/mailboxes.ts';
import { withoutReplicas } from '../../../../relay/replicas/replicas.ts';
import { MailboxContents } from '../../../../relay/views/mailbox-view.ts';
import { Views } from '../../../../relay/views/views.ts';
import { ReportedBench, report, source, upsynced } from '../support/reported-bench.ts';

const nothing = { shown: () => [], shownOne: () => undefined };

describe('the views of a node', () => {
  let bench: ReportedBench;
  let clock: VirtualClock;
  let views: Views;
  const reportFromParis = (...reports: Parameters<ReportedBench['report']>[1][]) =>
    views.reportedChanged('paris', bench.report('paris', ...reports));
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
      objectStatusOf: () => undefined,
      summaries: nothing,
      slices: nothing,
      path: 'eu',
      replicas: withoutReplicas,
    });
    bench.store.subscribe(producerRowsTopic, (tables) => {
      for (const child of childrenOfMailboxes(tables)) views.mailboxChanged(child);
    });
  });

  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('are one space for all users', () => {
    expect(views.resolve('/mailboxes/paris')).toBe(views.resolve('/mailboxes/paris'));
    expect(views.resolve('/spaces/center.retail')).toBe(views.resolve('/spaces/center.retail'));
    expect(views.resolve('/reported/eu:paris:shop')).toBe(views.resolve('/reported/eu:paris:shop'));
    expect(views.resolve('/mailboxes/rome')).toBeUndefined();
    expect(views.resolve('/reported/eu:rome:shop')).toBeUndefined();
    expect(views.resolve('/spaces/own')).toBeUndefined();
  });

  it('without contents have a bound, and give the time to ask again', () => {
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

  it('make room when nobody has used them, and are made again for the next user', () => {
    const before = views.resolve('/spaces/center.retail');
    clock.advance(60_000);
    ask('/spaces/made.up-', 1_000);
    clock.advance(60_000);
    expect(views.resolve('/spaces/center.retail')).not.toBe(before);
  });

  it('stay while somebody watches, or while they have contents', () => {
    const watched = views.resolve('/reported/eu:paris:shop')!;
    const events: StorageEvent[] = [];
    watched.storage.subscribe((some) => events.push(...some));
    reportFromParis(upsynced('eu:paris:bar', report));
    const full = views.resolve('/reported/eu:paris:bar')!;
    clock.advance(60_000);
    ask('/spaces/made.up-', 999);
    clock.advance(60_000);
    ask('/spaces/other.made.up-', 500);
    expect(views.resolve('/reported/eu:paris:shop')).toBe(watched);
    expect(views.resolve('/reported/eu:paris:bar')).toBe(full);
    reportFromParis(upsynced('eu:paris:shop', report));
    expect(events).toMatchObject([{ type: 'ADDED', object: { key: report } }]);
  });

  describe('of a mailbox', () => {
    const pod = (name: string): ObjectKey => parseKey(`/pods/shop/${name}`);
    let events: string[];
    const watch = () => {
      events = [];
      const { storage } = views.resolve('/mailboxes/paris')!;
      return storage.subscribe((some) => {
        events.push(...some.map(({ type, object }) => `${type} ${formatKey(object.key)}`));
      });
    };

    it('report each change to watchers, without reading unchanged objects', () => {
      for (let i = 0; i < 50; i++) bench.send('paris', source, pod(`web-${i}`));
      watch();
      const list = vi.spyOn(MailboxContents.prototype, 'list');
      bench.send('paris', source, pod('web-3'), { spec: { nodeName: 'a' } });
      bench.send('paris', source, pod('web-3'), { spec: { nodeName: 'b' } });
      bench.send('paris', source, pod('new'));
      bench.withdraw('paris', source, pod('web-7'));
      bench.withdraw('paris', source, pod('new'));
      expect(events).toEqual([
        'MODIFIED /pods/shop/web-3',
        'MODIFIED /pods/shop/web-3',
        'ADDED /pods/shop/new',
        'DELETED /pods/shop/web-7',
        'DELETED /pods/shop/new',
      ]);
      expect(list).not.toHaveBeenCalled();
    });

    it('show of two sources the object that the other one still sends, even if it was never read', () => {
      bench.send('paris', source, pod('web'));
      watch();
      bench.send('paris', source, pod('other'));
      bench.send('paris', 'center.new', pod('web'), { spec: { nodeName: 'b' } });
      bench.withdraw('paris', source, pod('web'));
      expect(events).toEqual(['ADDED /pods/shop/other', 'MODIFIED /pods/shop/web']);
      bench.withdraw('paris', 'center.new', pod('web'));
      expect(events.at(-1)).toBe('DELETED /pods/shop/web');
    });

    it('end with the child, and show its new mailbox when it comes again', () => {
      bench.send('paris', source, pod('web'));
      watch();
      bench.send('paris', source, pod('web'), { spec: { nodeName: 'a' } });
      bench.leave('paris');
      views.mailboxChanged('paris');
      expect(events).toEqual(['MODIFIED /pods/shop/web', 'DELETED /pods/shop/web']);
      bench.child('paris', 'relay');
      bench.send('paris', source, pod('web'));
      bench.withdraw('paris', source, pod('web'));
      expect(events.slice(2)).toEqual(['ADDED /pods/shop/web', 'DELETED /pods/shop/web']);
    });

    it('are closed by the next change if nobody has read them for five minutes, and not while somebody watches', () => {
      bench.send('paris', source, pod('web'));
      const view = views.resolve('/mailboxes/paris');
      const end = watch();
      clock.advance(600_000);
      bench.send('paris', source, pod('web'), { spec: { nodeName: 'a' } });
      expect(events).toEqual(['MODIFIED /pods/shop/web']);
      end();
      expect(views.resolve('/mailboxes/paris')).toBe(view);
      clock.advance(299_000);
      bench.send('paris', source, pod('web'), { spec: { nodeName: 'b' } });
      expect(views.resolve('/mailboxes/paris')).toBe(view);
      clock.advance(301_000);
      bench.send('paris', source, pod('web'), { spec: { nodeName: 'c' } });
      expect(views.resolve('/mailboxes/paris')).not.toBe(view);
    });
  });

  it('with contents are opened however many are empty', () => {
    reportFromParis(upsynced('eu:paris:shop', report));
    ask('/spaces/made.up-', 1_000);
    expect(views.resolve('/reported/eu:paris:shop')?.storage.get(report)).toBeDefined();
  });
});
