import { describe, expect, it } from 'vitest';
import type { MoveRow } from '../../../../core/move/move.ts';
import { decidesToGrant, emptyMovePart } from '../../../../core/move/move-part.ts';
import { emptyPartial, type Partial } from '../../../../core/summary/partial.ts';
import { type MovingChild, withMove, withOwnCounter } from '../../../../relay/moves/move-contribution.ts';
import type { Placement } from '../../../../relay/placements/placement.ts';

const now = { generation: 2, target: 20 };
const placement: Placement = {
  id: 'center.retail/till',
  source: 'center.retail',
  name: 'till',
  locationSelectors: [{}],
  move: { order: 'MakeBeforeBreak', deadlineSeconds: 10, generation: 2 },
  target: { ...now, priority: 0, created: '', uid: '' },
  children: new Set(),
};
const partial = (counts: object, of = now): Partial => {
  const empty = emptyPartial(of.generation, of.target);
  return { ...empty, counts: { ...empty.counts, ...counts } };
};
const available = partial({ expected: 1, fresh: 1, available: 1 });
const agent = (more: object = {}): MovingChild => ({
  role: 'agent',
  path: 'eu:a',
  row: undefined,
  reported: available,
  refused: false,
  connected: true,
  handed: now,
  ...more,
});
const row = (state: MoveRow['state']): MoveRow => ({ state, sinceMs: 0, generation: 2 });

describe('the contribution of a child to a move', () => {
  it('counts an old copy only as leaving, and a waiting one as never reported', () => {
    const leaving = withMove(placement, agent({ row: row('leaving') }), available);
    expect(leaving.counts).toEqual(emptyPartial(2, 20).counts);
    expect(leaving.move).toMatchObject({ leaving: 1, serving: 0 });
    expect(withMove(placement, agent({ row: row('returning') }), available).counts).toMatchObject({
      expected: 1,
      never: 1,
      available: 0,
    });
  });

  it('counts an agent as serving if it is available with objects of the selection, also with older contents', () => {
    const older = { generation: 2, target: 15 };
    const formerSelection = { generation: 1, target: 15 };
    const report = (of: typeof older) => partial({ available: 1 }, of);
    for (const [here, yes] of [
      [row('joined'), { done: 1, serving: 1, joining: 0 }],
      [undefined, { done: 0, serving: 1, joining: 0 }],
    ] as const) {
      const part = (more: object) => withMove(placement, agent({ row: here, ...more }), available).move;
      const no = { done: 0, serving: 0, joining: here ? 1 : 0 };
      expect(part({})).toMatchObject(yes);
      expect(part({ reported: report(older), handed: older })).toMatchObject(yes);
      expect(part({ reported: report(older) })).toMatchObject(yes);
      expect(part({ reported: partial({ available: 0 }) })).toMatchObject(no);
      expect(part({ reported: report(formerSelection) })).toMatchObject(no);
      expect(part({ handed: undefined })).toMatchObject(no);
      expect(part({ connected: false })).toMatchObject(no);
      expect(part({ refused: true })).toMatchObject(no);
    }
  });

  it('takes the newest report of a relay that is for the selection, also with older contents', () => {
    const relay = (generation: number) => {
      const move = { ...emptyMovePart('MakeBeforeBreak'), sequence: 3, leaving: 1, serving: 2 };
      const reported = { ...partial({ available: 1 }, { generation, target: 15 }), move };
      return withMove(placement, agent({ role: 'relay', path: 'eu', handed: undefined, reported }), available).move!;
    };
    expect(relay(2)).toMatchObject({ leaving: 1, serving: 2, unknown: 0, sequence: 3 });
    expect(decidesToGrant(relay(2), true)).toBe(true);
    expect(relay(1)).toMatchObject({ unknown: 1, waitsFor: ['eu'] });
    expect(decidesToGrant(relay(1), true)).toBe(false);
  });

  it('treats a relay that reports nothing about moves as a relay that has not reported', () => {
    const relay = agent({ role: 'relay', path: 'eu', handed: undefined });
    expect(withMove(placement, relay, available).move).toMatchObject({ unknown: 1, waitsFor: ['eu'] });
  });

  it('waits for a relay with an unreadable report: it may run copies, unlike a relay that never had any', () => {
    const breaksFirst: Placement = { ...placement, move: { ...placement.move!, order: 'BreakBeforeMake' } };
    const part = (more: object) => {
      const relay = agent({ role: 'relay', path: 'eu', handed: undefined, reported: undefined, ...more });
      return withMove(breaksFirst, relay, partial({ expected: 1, quarantined: 1 })).move!;
    };
    expect(part({}).unknown).toBe(0);
    expect(part({ refused: true })).toMatchObject({ unknown: 1, waitsFor: ['eu'] });
    // About the present target, with no copy left below the relay; then an unreadable report arrived.
    const over = {
      ...emptyPartial(now.generation, now.target),
      move: { ...emptyMovePart('BreakBeforeMake'), sequence: 9 },
    };
    expect(part({ reported: over }).unknown).toBe(0);
    expect(part({ reported: over, refused: true })).toMatchObject({ unknown: 1, sequence: 9, waitsFor: ['eu'] });
    expect(decidesToGrant({ ...part({ refused: true }), joining: 1 }, true)).toBe(false);
  });

  it('ignores a placement without an order, or without a target yet', () => {
    const { move: _move, ...none } = placement;
    const { target: _target, ...early } = placement;
    expect(withMove(none, agent(), available)).toBe(available);
    expect(withMove(early, agent(), available)).toBe(available);
    const counter = { base: 7, overdue: 2, generation: 2 };
    expect(withOwnCounter(none, counter, available)).toBe(available);
    expect(withOwnCounter(placement, counter, available).move).toMatchObject({ sequence: 7, overdue: 2 });
    expect(withOwnCounter(placement, { ...counter, generation: 1 }, available).move?.overdue).toBe(0);
  });
});
