import { describe, expect, it } from 'vitest';
import { FeedConsumer } from '../../../../core/feed/consumer.ts';
import { sequences } from '../../../../core/move/move-part.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { Grants } from '../../../../relay/moves/grants.ts';

function look(above: number, sequence: number) {
  const upstream = new MemoryStore().write((t) => FeedConsumer.open(t, { name: 'upstream' }));
  return new Grants({ upstream, hasReceivedFromParent: () => true }).fromAbove('center.retail/shop', above, sequence);
}

describe('a grant', () => {
  it('from above is of a lost life when its number is above the one that is told', () => {
    expect(look(8, 7)).toBe('ofLostIncarnation');
    expect(look(6, 7)).toBe('none');
  });

  it('from above of a number from before the numbers went around is an older one, and nothing to go above', () => {
    expect(look(sequences - 1, 0)).toBe('none');
    expect(look(3, sequences - 1)).toBe('ofLostIncarnation');
  });

  it('is for no later placement of the name, whatever its numbers, when that for which it was decided is gone', () => {
    const upstream = new MemoryStore().write((t) => FeedConsumer.open(t, { name: 'upstream' }));
    const grants = new Grants({ upstream, hasReceivedFromParent: () => true });
    const id = 'center.retail/shop';
    grants.decide(id, 7);
    grants.granted(id, 7);
    grants.forget(id);
    expect(grants.isGranted(id, 7)).toBe(false);
    expect(grants.takeDecided(id)).toBeUndefined();
  });
});
