/** Watches on read-only spaces: over a child that is removed, over replicas, and beside changes that are announced later. */
import { describe, expect, it } from 'vitest';
import type { StorageEvent } from '../../../../core/apiserver/storage.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { formatKey, parseKey } from '../../../../core/object/key.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { text } from '../../../../core/store/bytes.ts';
import { passUpsynced } from '../../../../relay/gather/upsynced.ts';
import { ordinaryStanding, withoutReplicas } from '../../../../relay/replicas/replicas.ts';
import { Views, type ViewsPorts } from '../../../../relay/views/views.ts';
import { ReportedBench, report, source, upsynced } from '../support/reported-bench.ts';

const nothing = { shown: () => [], shownOne: () => undefined };

function viewsOf(
  bench: ReportedBench,
  path: string,
  child: string,
  replicas: ViewsPorts['replicas'],
  slices: ViewsPorts['slices'] = nothing,
): Views {
  return new Views({
    store: bench.store,
    clock: new VirtualClock(),
    random: new SeededRandom(1),
    log: silentLogger,
    mailboxes: bench.mailboxes,
    upstream: bench.mailboxes.get(child)!.reported,
    statusOf: () => undefined,
    objectStatusOf: () => undefined,
    summaries: nothing,
    slices,
    path,
    replicas,
  });
}

function watched(views: Views, prefix: string): string[] {
  const events: string[] = [];
  views.resolve(prefix)!.storage.subscribe((some: readonly StorageEvent[]) => {
    events.push(...some.map(({ type, object }) => `${type} ${formatKey(object.key)}`));
  });
  return events;
}

describe('the view /reported/PATH', () => {
  it('reports to watchers that the objects are gone when the child is removed', () => {
    const bench = new ReportedBench('eu');
    bench.child('shop', 'agent');
    const views = viewsOf(bench, 'eu', 'shop', withoutReplicas);
    views.reportedChanged('shop', bench.report('shop', upsynced('eu:shop', report)));
    const events = watched(views, '/reported/eu:shop');
    bench.leave('shop');
    views.reportersChanged('shop');
    expect(events).toEqual([`DELETED ${formatKey(report)}`]);
  });

  it('shows the objects that any replica reports, as long as the node counts the replica', () => {
    const bench = new ReportedBench('');
    bench.child('eu', 'relay');
    bench.child('eu~1', 'relay');
    let isCounted = true;
    const views = viewsOf(bench, '', 'eu', {
      members: () => ['eu', 'eu~1'],
      standing: (child) => ({ ...ordinaryStanding, counts: child !== 'eu~1' || isCounted }),
    });
    const events = watched(views, '/reported/eu:shop');
    const { key, attributes, body } = upsynced('eu:shop', report);
    const changes = bench.store.write((t) => {
      bench.ask(t, 'eu~1', { key, ...(attributes ? { attributes } : {}) });
      const content = { key, attributes: text(JSON.stringify(attributes)), body: body! };
      const entries = [{ keyHash: hash128(key), revision: 1, originRevision: 0, content }];
      const applied = bench.mailboxes.get('eu~1')!.consumer.applyEntries(t, entries);
      const reportedOf = (name: string) => bench.mailboxes.get(name)?.reported;
      passUpsynced(t, { outbox: bench.outbox, reportedOf, isOwn: () => true }, 'eu~1', applied);
      return applied;
    });
    views.reportedChanged('eu~1', changes);
    expect(views.resolve('/reported/eu:shop')!.storage.get(report)).toBeDefined();
    isCounted = false;
    views.reportersChanged('eu~1');
    expect(views.resolve('/reported/eu:shop')!.storage.get(report)).toBeUndefined();
    expect(events).toEqual([`ADDED ${formatKey(report)}`, `DELETED ${formatKey(report)}`]);
  });
});

describe('the view /spaces/SOURCE', () => {
  it('reports to a client that lists before a change is announced what has changed since its list', () => {
    const bench = new ReportedBench('eu');
    bench.child('paris', 'relay');
    const key = parseKey('edge.banyan.io/singleplacementslices//shop-0');
    const body = text(
      '{"apiVersion":"edge.banyan.io/v1alpha1","kind":"SinglePlacementSlice","metadata":{"name":"shop-0"}}',
    );
    let isThere = true;
    const slices = { shown: () => (isThere ? [{ key, body }] : []), shownOne: () => (isThere ? body : undefined) };
    const views = viewsOf(bench, 'eu', 'paris', withoutReplicas, slices);
    const { storage } = views.resolve(`/spaces/${source}`)!;
    isThere = false;
    const listed = storage.scan({ group: key.group, resource: key.resource });
    const revision = storage.revision();
    isThere = true;
    views.changed(source, key);
    const events = storage.eventsSince(revision);
    expect(listed).toEqual([]);
    expect(events === 'expired' ? events : events.map(({ type }) => type)).toEqual(['ADDED']);
  });
});
