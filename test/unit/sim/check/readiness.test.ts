import { describe, expect, it } from 'vitest';
import type { Frame } from '../../../../core/wire/generated/mesh.ts';
import { readiness } from '../../../sim/check/readiness.ts';
import type { PlannedNode } from '../../../sim/plan/tree.ts';
import { Connection } from '../../../sim/sim-network.ts';
import type { Check } from '../../../sim/world.ts';
import { WrittenWorld } from '../written.ts';

const nodes: PlannedNode[] = [
  { path: '', role: 'center', labels: {}, spaces: ['retail'] },
  { path: 'r', role: 'relay', labels: {}, spaces: [] },
  { path: 'r:a', role: 'agent', labels: {}, spaces: [] },
];
const key = 'o/center.retail//configmaps/w/o1';

function beat(ready: boolean): Frame {
  const none = { sequence: 1, head: 0, purgeRevision: 0, rootAgeMs: 0 };
  return { frame: { $case: 'beat', value: { ...none, ready, watermarks: [], digest: undefined } } };
}

const reply: Frame = { frame: { $case: 'goodbye', value: { reason: '', returnAfterMs: 0 } } };

function tree(): { written: WrittenWorld; check: Check; above: Connection; below: Connection } {
  const written = new WrittenWorld(nodes, readiness);
  const { world } = written;
  const [center, relay, agent] = ['', 'r', 'r:a'].map((path) => written.host(path));
  const above = new Connection(world.network, world, 1, relay!, center!);
  const below = new Connection(world.network, world, 2, agent!, relay!);
  return { written, check: world.checks[0]!, above, below };
}

describe('the check of readiness', () => {
  it('accepts the removal of rows that a reconciliation does not find if the producer has stated that it is ready', () => {
    const { written, check, below } = tree();
    written.put('r:a', 'upstream', { key, body: {} });
    check.receiving?.(below, 'child', beat(true));
    written.world.delivery = { connection: below, to: 'child', frame: reply };
    written.remove('r:a', 'upstream', key);
    expect(written.messages).toEqual([]);
  });

  it('finds a removal before that statement, or after the producer has withdrawn it', () => {
    for (const statements of [[], [true, false]]) {
      const { written, check, below } = tree();
      written.put('r:a', 'upstream', { key, body: {} });
      for (const ready of statements) check.receiving?.(below, 'child', beat(ready));
      written.world.delivery = { connection: below, to: 'child', frame: reply };
      written.remove('r:a', 'upstream', key);
      expect(written.messages).toEqual([`r:a takes ${key} for gone, and its parent has not stated that it is ready`]);
    }
  });

  it('accepts a relay that trusts a liar above it, which nobody can recognise, and not one that trusts a liar below', () => {
    for (const [to, count] of [
      ['child', 0],
      ['parent', 1],
    ] as const) {
      const { written, check, above, below } = tree();
      written.world.replaced(written.host('r'));
      check.receivedFromLiar?.(to === 'child' ? above : below, to, beat(true));
      check.sent?.(below, 'parent', beat(true));
      expect(written.messages).toHaveLength(count);
    }
  });

  it('finds a relay that has lost its store and is ready before its parent is', () => {
    const { written, check, below } = tree();
    written.world.replaced(written.host('r'));
    check.sent?.(below, 'parent', beat(true));
    expect(written.messages).toEqual([expect.stringContaining('r has lost its store, and states that it is ready')]);
    const other = tree();
    other.written.world.replaced(other.written.host('r'));
    other.check.receiving?.(other.above, 'child', beat(true));
    other.check.sent?.(other.below, 'parent', beat(true));
    expect(other.written.messages).toEqual([]);
  });
});
