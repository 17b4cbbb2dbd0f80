/** The two ends of a feed are compared, even if entries are always in flight. */
import { describe, expect, it } from 'vitest';
import { hash128 } from '../../../../core/object/hash.ts';
import { beatEveryMs } from '../../../../core/session/session.ts';
import { content, SessionPair } from '../../../support/session-pair.ts';

/** A write that is announced only after the beat, so that no beat finds the feed at rest. */
async function beatsOfABusyFeed(pair: SessionPair, beats: number): Promise<void> {
  for (let i = 0; i < beats; i++) {
    const { parent } = pair;
    parent.store.write((t) => parent.producer.put(t, content('busy', `${pair.clock.monotonicMs()}`), 0));
    pair.clock.advance(beatEveryMs);
    await pair.run(5);
    await pair.run(5);
  }
}

const digests = (pair: SessionPair) =>
  pair.frames.filter(
    ({ from, frame: { frame } }) => from === 'parent' && frame?.$case === 'beat' && frame.value.digest,
  );

const has = (pair: SessionPair, key: string) =>
  pair.child.store.read((reader) => pair.child.consumer.get(reader, hash128(key))?.content !== undefined);

describe('a feed that changes whenever a beat is sent', () => {
  it('is compared behind a batch, about every five minutes', async () => {
    const pair = new SessionPair();
    pair.put('a', '1');
    pair.child.session.start();
    await pair.run(100);
    const before = digests(pair).length;
    await beatsOfABusyFeed(pair, 12 * 10);
    const compared = digests(pair).length - before;
    expect(compared).toBeGreaterThanOrEqual(4);
    expect(compared).toBeLessThanOrEqual(10);
    expect(pair.events.filter((event) => event.includes('disconnected'))).toEqual([]);
  });

  it('is reconciled when its ends differ', async () => {
    const pair = new SessionPair();
    pair.put('a', '1');
    pair.put('b', '1');
    pair.child.session.start();
    await pair.run(100);
    pair.child.store.write((t) => pair.child.consumer.removeAbsent(t, [hash128('b')]));
    expect(has(pair, 'b')).toBe(false);
    await beatsOfABusyFeed(pair, 30);
    expect(has(pair, 'b')).toBe(true);
    expect(pair.events).toContainEqual(expect.stringContaining('at revision'));
  });
});
