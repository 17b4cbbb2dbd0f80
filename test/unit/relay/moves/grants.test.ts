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
  it('from above belongs to a lost store incarnation if its number is above the reported one', () => {
    expect(look(8, 7)).toBe('ofLostIncarnation');
    expect(look(6, 7)).toBe('none');
  });

  it('from above with a number from before the numbers wrapped around is an older one', () => {
    expect(look(sequences - 1, 0)).toBe('none');
    expect(look(3, sequences - 1)).toBe('ofLostIncarnation');
  });

  it('is for no later placement of the name, whatever its numbers, when its placement is gone', () => {
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
