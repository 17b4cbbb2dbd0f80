import { describe, expect, it } from 'vitest';
import { hash128 } from '../../../../core/object/hash.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { FeedAlarm } from '../../../../core/session/feed-alarm.ts';
import { content, SessionPair } from '../../../support/session-pair.ts';

const hourMs = 3_600_000;

describe('the alarm of a feed', () => {
  it('lasts for a day after the last difference, and its end is announced', () => {
    const clock = new VirtualClock(1_000);
    let over = 0;
    const alarm = new FeedAlarm(clock, () => over++);
    expect(alarm.present).toBeUndefined();
    alarm.raise('one row less');
    clock.advance(20 * hourMs);
    alarm.raise('two rows less');
    clock.advance(20 * hourMs);
    expect(alarm.present).toEqual({ atMs: 1_000 + 20 * hourMs, what: 'two rows less' });
    expect(over).toBe(0);
    clock.advance(4 * hourMs);
    expect(alarm.present).toBeUndefined();
    expect(over).toBe(1);
  });
});

describe('a difference between the ends of a feed', () => {
  const beatMs = 16_000;

  it('is an alarm at the parent, for the child’s feed, over its next session', async () => {
    const pair = new SessionPair();
    const { store, producer, session } = pair.child;
    store.write((t) => {
      for (const key of ['a', 'b']) producer.put(t, content(key, '1'), 0);
    });
    session.start();
    await pair.run(100);
    expect(pair.parent.sessions.status('kid').diverged).toBeUndefined();
    pair.parent.store.write((t) => pair.parent.consumer.removeAbsent(t, [hash128('b')]));
    await pair.run(beatMs + 2_000);
    const { connected, diverged } = pair.parent.sessions.status('kid');
    expect(connected).toBe(true);
    expect(diverged?.what).toBe('reported/kid: the rows differ at revision 2: 1 here, 2 at the other end');
    expect(session.alarm.present).toBeUndefined();
    expect([...pair.parent.sessions.ends.by]).toEqual([['DigestMismatch', 1]]);
  });

  it('is an alarm at the child for the feed from its parent', async () => {
    const pair = new SessionPair();
    pair.put('a', '1');
    pair.child.session.start();
    await pair.run(100);
    pair.child.store.write((t) => pair.child.consumer.removeAbsent(t, [hash128('a')]));
    await pair.run(beatMs + 2_000);
    expect(pair.child.session.alarm.present?.what).toContain('upstream: the rows differ at revision 1');
    expect(pair.parent.sessions.status('kid').diverged).toBeUndefined();
    expect([...pair.child.session.ends.by]).toEqual([['DigestMismatch', 1]]);
    expect(pair.held()).toEqual({ a: '1' });
  });
});
