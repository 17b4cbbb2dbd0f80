import { describe, expect, it } from 'vitest';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { SessionPair } from '../../../support/session-pair.ts';

const objects = 1_000;
const bodyBytes = 4_000;

/** Virtual ms until the child has all entries. */
async function until(pair: SessionPair, keys: string, limitMs: number): Promise<number> {
  const begunMs = pair.clock.monotonicMs();
  while (pair.clock.monotonicMs() - begunMs < limitMs) {
    await pair.run(100);
    if (Object.keys(pair.held()).filter((key) => key.startsWith(keys)).length === objects) break;
  }
  return pair.clock.monotonicMs() - begunMs;
}

const putAll = (pair: SessionPair, keys: string) => {
  for (let i = 0; i < objects; i++) pair.put(`${keys}${i}`, `${i}${'x'.repeat(bodyBytes)}`);
};

describe('a line with a round trip of 200 ms', () => {
  it('is filled by a session that has begun with a reconciliation', async () => {
    const elsewhere = new SessionPair();
    elsewhere.parent = elsewhere.startParent(new MemoryStore());
    elsewhere.put('left', '1');
    elsewhere.child.session.start();
    await elsewhere.run(100);
    const pair = new SessionPair(new MemoryStore(), elsewhere.child.store, 100);
    putAll(pair, 'before-');
    pair.child.session.start();
    // 4 MB would take some 50 s with only 16 KiB in flight.
    expect(await until(pair, 'before-', 60_000)).toBeLessThan(8_000);
    await pair.run(10_000);
    expect(pair.frames.filter(({ frame }) => frame.frame?.$case === 'reconcileReply').length).toBeGreaterThan(1);
    putAll(pair, 'after-');
    expect(await until(pair, 'after-', 60_000)).toBeLessThan(3_000);
    expect(pair.events.filter((line) => line.includes('disconnected'))).toEqual([]);
  });
});
