/** The place of a client in the log of a node: a client that continues there must get everything that it has not received. */
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { Fleet } from '../../../../relay/fleet/fleet.ts';
import type { WatchQuestion } from '../../../../relay/fleet/fleet-question.ts';
import { LocalChanges } from '../../../../relay/fleet/local-changes.ts';
import type { Position } from '../../../../relay/fleet/positions.ts';
import { pod, ReportedBench, source } from '../support/reported-bench.ts';

const question: WatchQuestion = {
  type: 'watch',
  source,
  kind: { group: '', resource: 'pods', version: 'v1', columns: [], selectable: [] },
  namespace: '',
  labelSelector: '',
  fieldSelector: '',
  form: { as: 'object', version: 'v1', includeObject: 'Metadata' },
  patienceMs: 1_000,
};

class Site {
  readonly bench = new ReportedBench('eu');
  readonly fleet: Fleet;

  constructor() {
    const { store, mailboxes } = this.bench;
    this.fleet = new Fleet(source, {
      store,
      clock: new VirtualClock(),
      path: 'eu',
      mailboxes,
      children: new Map(),
      counts: () => true,
      connection: () => ({ connected: true, silentMs: 0 }),
      selectable: () => [],
    });
  }

  send(agent: string, name: string): void {
    if (!this.bench.mailboxes.get(agent)) {
      this.bench.child(agent, 'agent');
      this.fleet.childrenChanged();
    }
    this.bench.send(agent, source, { ...pod, name }, { spec: { nodeName: `${this.fleet.log.revision}` } });
    this.fleet.mailboxChanged(agent);
  }

  async watch(position: Position = { read: new Map(), relays: new Map() }): Promise<LocalChanges> {
    const changes = new LocalChanges(this.fleet, question, {
      path: 'eu',
      ask: () => {
        throw new Error('there is no relay');
      },
      wallMs: () => 0,
      monotonicMs: () => 0,
      turn: () => Promise.resolve(),
      kindOf: () => undefined,
    });
    this.fleet.subscribe({ changed: (entry) => changes.changed(entry), childrenChanged() {}, expired() {} });
    await changes.start(position);
    return changes;
  }
}

const placeOf = (changes: LocalChanges): Position => ({ ...changes.position, relays: new Map() });
const take = (changes: LocalChanges) => {
  const event = changes.next();
  return event && `${event.event} ${event.item.path} ${event.item.name}`;
};
const takeAll = (changes: LocalChanges): string[] => {
  const events: string[] = [];
  while (!changes.isEmpty) events.push(take(changes) ?? 'nothing');
  return events;
};

describe('the place of a client', () => {
  it('is none until the client has all present copies', async () => {
    const site = new Site();
    for (const name of ['a', 'b', 'c']) site.send('s1', name);
    const first = await site.watch();
    take(first);
    expect(first.position.local).toBeUndefined();
    expect(takeAll(await site.watch(placeOf(first)))).toHaveLength(3);
    takeAll(first);
    expect(takeAll(await site.watch(placeOf(first)))).toEqual([]);
  });

  it('is before the first change that the client has not received', async () => {
    const site = new Site();
    site.send('s1', 'a');
    const first = await site.watch();
    takeAll(first);
    for (const name of ['b', 'c', 'a']) site.send('s1', name);
    expect(take(first)).toBe('ADDED eu:s1 b');
    expect(takeAll(await site.watch(placeOf(first)))).toEqual(['ADDED eu:s1 c', 'MODIFIED eu:s1 a']);
  });

  it('is before an agent that was added, until the client has all its copies', async () => {
    const site = new Site();
    site.send('s1', 'a');
    const first = await site.watch();
    takeAll(first);
    for (const name of ['a', 'b']) site.send('s2', name);
    await first.childrenChanged();
    expect(take(first)).toBe('ADDED eu:s2 a');
    expect(takeAll(await site.watch(placeOf(first)))).toEqual(['ADDED eu:s2 a', 'ADDED eu:s2 b']);
    takeAll(first);
    expect(takeAll(await site.watch(placeOf(first)))).toEqual([]);
  });

  it('is before the first change of a copy that has changed many times', async () => {
    const site = new Site();
    site.send('s1', 'a');
    const first = await site.watch();
    takeAll(first);
    for (const name of ['a', 'b', 'a']) site.send('s1', name);
    const place = placeOf(first);
    expect(takeAll(first)).toEqual(['MODIFIED eu:s1 a', 'ADDED eu:s1 b']);
    expect(takeAll(await site.watch(place))).toEqual(['MODIFIED eu:s1 a', 'ADDED eu:s1 b']);
  });

  it('is not needed for copies that a list has read after it began', async () => {
    const site = new Site();
    site.send('s1', 'a');
    const local = site.fleet.log.revision;
    const index = await site.fleet.open('s1', () => Promise.resolve());
    const read = new Map([['s1', index!.openedAt!]]);
    expect(takeAll(await site.watch({ local, read, relays: new Map() }))).toEqual([]);
    expect(takeAll(await site.watch({ local, read: new Map(), relays: new Map() }))).toEqual(['ADDED eu:s1 a']);
  });
});

it('a copy of an agent that has left is reported as deleted, also if the agent is added again', async () => {
  const site = new Site();
  site.send('s1', 'a');
  const watched = await site.watch();
  takeAll(watched);
  site.bench.leave('s1');
  site.fleet.childRemoved('s1');
  expect(takeAll(watched)).toEqual(['DELETED eu:s1 a']);
  site.send('s1', 'b');
  await watched.childrenChanged();
  expect(takeAll(watched)).toEqual(['ADDED eu:s1 b']);
});
