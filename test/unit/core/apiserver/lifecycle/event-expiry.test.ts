import { describe, expect, it } from 'vitest';
import { EventExpiry, eventsMax, eventTtlMs } from '../../../../../core/apiserver/lifecycle/event-expiry.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { HandlerBench } from '../http/handler-bench.ts';

const minuteMs = 60_000;

function setup() {
  const { space, clock } = new HandlerBench();
  const start = () => new EventExpiry({ space, clock });
  const event = (name: string, more: object = {}): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace: 'shop' },
    involvedObject: { kind: 'Pod', name: 'p', namespace: 'shop' },
    reason: 'Pulled',
    lastTimestamp: new Date(clock.wallMs()).toISOString(),
    reportingComponent: '',
    reportingInstance: '',
    ...more,
  });
  const names = () => space.storage.scan({ group: '', resource: 'events' }).map(({ key }) => key.name);
  return { space, clock, start, event, names };
}

describe('an Event', () => {
  it('is deleted one hour after its last write', () => {
    const { space, clock, start, event, names } = setup();
    start();
    space.create(event('a'));
    const b = space.create(event('b'));
    clock.advance(eventTtlMs - minuteMs);
    space.update({ ...b, count: 2 });
    expect(names()).toEqual(['a', 'b']);
    clock.advance(2 * minuteMs);
    expect(names()).toEqual(['b']);
    clock.advance(eventTtlMs);
    expect(names()).toEqual([]);
  });

  it('is deleted at the same time if the process starts again meanwhile', () => {
    const { space, clock, start, event, names } = setup();
    const first = start();
    space.create(event('a'));
    clock.advance(30 * minuteMs);
    space.create(event('b'));
    first.close();
    clock.advance(20 * minuteMs);
    start();
    clock.advance(11 * minuteMs);
    expect(names()).toEqual(['b']);
    clock.advance(30 * minuteMs);
    expect(names()).toEqual([]);
  });

  it('is deleted soon after a start that comes much later', () => {
    const { space, clock, start, event, names } = setup();
    for (let i = 0; i < 450; i++) space.create(event(`e${i}`));
    clock.advance(5 * eventTtlMs);
    start();
    clock.advance(minuteMs);
    expect(names()).toEqual([]);
  });

  it('of another clock, which is ahead, is not kept for longer', () => {
    const { space, clock, start, event, names } = setup();
    space.create(event('a', { lastTimestamp: new Date(clock.wallMs() + 100 * eventTtlMs).toISOString() }));
    start();
    clock.advance(eventTtlMs + minuteMs);
    expect(names()).toEqual([]);
  });

  it('is deleted before its time if the space has too many, the oldest first', () => {
    const { space, clock, start, event, names } = setup();
    start();
    for (let i = 0; i < eventsMax + 300; i++) space.create(event(`e${i}`));
    clock.advance(minuteMs);
    expect(names()).toHaveLength(eventsMax);
    expect(names()).not.toContain('e299');
    expect(names()).toContain('e300');
  });

  it('is the only object that is deleted, and nothing happens in a space without Events', () => {
    const { space, clock, start, names } = setup();
    start();
    space.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', namespace: 'shop' } });
    const revision = space.storage.revision();
    expect(clock.fireNext(clock.wallMs() + 10 * eventTtlMs)).toBe(false);
    expect([space.storage.revision(), names()]).toEqual([revision, []]);
  });
});
