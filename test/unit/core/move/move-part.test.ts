import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MoveRow } from '../../../../core/move/move.ts';
import { movingCondition } from '../../../../core/move/move-messages.ts';
import {
  agentPart,
  aheadBy,
  decidesToGrant,
  emptyMovePart,
  isOver,
  type MovePart,
  mergeMoveParts,
  type RelayView,
  relayPart,
  sequences,
  waitsForMax,
} from '../../../../core/move/move-part.ts';
import { decodePartial, emptyPartial, encodePartial, mergePartials } from '../../../../core/summary/partial.ts';

const make = (more: Partial<MovePart>): MovePart => ({ ...emptyMovePart('MakeBeforeBreak'), ...more });
const breaks = (more: Partial<MovePart>): MovePart => ({ ...emptyMovePart('BreakBeforeMake'), ...more });
const view = (more: Partial<RelayView>): RelayView => ({
  part: undefined,
  reported: true,
  isOfSelection: true,
  connected: true,
  mayRun: true,
  path: 'eu',
  ...more,
});

const part: fc.Arbitrary<MovePart> = fc
  .record({
    sequence: fc.nat(1e6),
    leaving: fc.nat(9),
    joining: fc.nat(9),
    done: fc.nat(9),
    serving: fc.nat(9),
    breaking: fc.nat(9),
    unknown: fc.nat(9),
    overdue: fc.nat(9),
    untilMs: fc.option(fc.nat(), { nil: undefined }),
    waitsFor: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { maxLength: waitsForMax }),
  })
  .map(({ untilMs, waitsFor, ...counts }) =>
    make({ ...counts, waitsFor: waitsFor.sort(), ...(untilMs === undefined ? {} : { untilMs }) }),
  );

describe('a part of a move', () => {
  it('merges in any order, and is unchanged by an empty part', () => {
    fc.assert(
      fc.property(part, part, part, (a, b, c) => {
        expect(mergeMoveParts(mergeMoveParts(a, b), c)).toEqual(mergeMoveParts(a, mergeMoveParts(b, c)));
        expect(mergeMoveParts(a, b)).toEqual(mergeMoveParts(b, a));
        expect(mergeMoveParts(a, emptyMovePart(a.order))).toEqual(a);
      }),
    );
  });

  it('is unchanged by its way through a partial', () => {
    fc.assert(
      fc.property(part, (move) => {
        const partial = { ...emptyPartial(1, 2), move };
        expect(decodePartial(encodePartial(partial))).toEqual(partial);
        expect(mergePartials(partial, emptyPartial(1, 2)).move).toEqual(move);
      }),
    );
  });

  it('of an agent says which side the agent is on, and what the agent waits for', () => {
    const row = (state: MoveRow['state']): MoveRow => ({ state, sinceMs: 1_000, generation: 1 });
    const order = (which: 'MakeBeforeBreak' | 'BreakBeforeMake') => ({ order: which, deadlineSeconds: 10 });
    const [m, b] = [order('MakeBeforeBreak'), order('BreakBeforeMake')];
    expect(agentPart(m, row('leaving'), false, 'eu:a')).toEqual(make({ leaving: 1, untilMs: 11_000 }));
    expect(agentPart(m, row('joined'), false, 'eu:a')).toEqual(make({ joining: 1, waitsFor: ['eu:a'] }));
    expect(agentPart(m, row('joined'), true, 'eu:a')).toEqual(make({ done: 1, serving: 1 }));
    expect(agentPart(m, undefined, true, 'eu:a')).toEqual(make({ serving: 1 }));
    expect(agentPart(m, row('breaking'), false, 'eu:a')).toEqual(make({ breaking: 1 }));
    expect(agentPart(b, row('joining'), false, 'eu:a')).toEqual(breaks({ joining: 1, untilMs: 11_000 }));
    expect(agentPart(b, row('breaking'), false, 'eu:a')).toEqual(
      breaks({ breaking: 1, leaving: 1, waitsFor: ['eu:a'] }),
    );
    expect(agentPart(b, row('gone'), false, 'eu:a')).toEqual(breaks({ done: 1 }));
  });

  it('of a silent relay keeps its held copies, and drops its available ones', () => {
    const reportedPart = make({ sequence: 5, leaving: 2, done: 1, serving: 3 });
    expect(relayPart('MakeBeforeBreak', view({ part: reportedPart }))).toEqual(reportedPart);
    expect(relayPart('MakeBeforeBreak', view({ part: reportedPart, connected: false }))).toEqual(
      make({ sequence: 5, leaving: 2, joining: 1, waitsFor: ['eu'] }),
    );
    const gone = breaks({ sequence: 5, done: 1 });
    expect(relayPart('BreakBeforeMake', view({ part: gone, connected: false }))).toEqual(gone);
  });

  it('of a relay that has not reported the present target says so, if something may continue there', () => {
    const outdated = { part: make({ sequence: 5, leaving: 1, done: 2 }), isOfSelection: false };
    expect(relayPart('MakeBeforeBreak', view(outdated))).toMatchObject({
      sequence: 5,
      leaving: 1,
      done: 0,
      unknown: 1,
    });
    const silent = relayPart('MakeBeforeBreak', view({ ...outdated, connected: false }));
    expect(silent).toMatchObject({ unknown: 0, breaking: 1 });
    expect(isOver({ ...silent, leaving: 0 })).toBe(false);
    const old = { part: breaks({ sequence: 5 }), isOfSelection: false };
    expect(relayPart('BreakBeforeMake', view({ ...old, connected: false })).unknown).toBe(1);
    expect(relayPart('BreakBeforeMake', view({ ...old, mayRun: false })).unknown).toBe(0);
    expect(relayPart('BreakBeforeMake', view({ reported: false, isOfSelection: false, mayRun: false })).unknown).toBe(
      0,
    );
    expect(relayPart('BreakBeforeMake', view({ part: make({ leaving: 1 }) }))).toMatchObject({
      leaving: 0,
      unknown: 1,
    });
  });
});

describe('a grant', () => {
  it('is given by any node that sees as many available copies as held ones, with none to come', () => {
    expect(decidesToGrant(make({ leaving: 2, done: 2 }), false)).toBe(true);
    expect(decidesToGrant(make({ leaving: 2, done: 1, serving: 5 }), false)).toBe(false);
    expect(decidesToGrant(make({ leaving: 1, done: 1, joining: 1 }), false)).toBe(false);
    expect(decidesToGrant(breaks({ joining: 1, done: 1 }), false)).toBe(true);
    expect(decidesToGrant(breaks({ joining: 1, done: 1, leaving: 1 }), false)).toBe(false);
    expect(decidesToGrant(make({ done: 3 }), false)).toBe(false);
  });

  it('is given by the origin for a move with one side, when all have reported and a copy is available', () => {
    expect(decidesToGrant(make({ leaving: 2, serving: 1 }), true)).toBe(true);
    expect(decidesToGrant(make({ leaving: 2 }), true)).toBe(false);
    expect(decidesToGrant(make({ leaving: 2, serving: 1, unknown: 1 }), true)).toBe(false);
    expect(decidesToGrant(make({ leaving: 2, serving: 1 }), false)).toBe(false);
    expect(decidesToGrant(breaks({ joining: 1 }), true)).toBe(true);
    expect(decidesToGrant(breaks({ joining: 1, unknown: 1 }), true)).toBe(false);
  });
});

describe('the sequence of a move', () => {
  it('wraps around, however large the children’s sequences are, and keeps its order', () => {
    const greatest = make({ sequence: sequences - 1 });
    const sum = Array.from({ length: 1000 }, () => greatest).reduce(mergeMoveParts, make({ sequence: 1005 }));
    expect(sum.sequence).toBe(5);
    expect(aheadBy(7, 5)).toBe(2);
    expect(aheadBy(5, 7)).toBe(-2);
    expect(aheadBy(5, 5)).toBe(0);
    expect(aheadBy(5, sequences - 1)).toBe(6);
    expect(aheadBy(sequences - 1, 5)).toBe(-6);
  });
});

describe('the message of a move', () => {
  it('says who waits for whom, and until when', () => {
    const untilMs = Date.UTC(2026, 0, 1, 12, 3, 10);
    expect(movingCondition(make({ leaving: 1, joining: 1, waitsFor: ['us:nyc:store-3'], untilMs }))).toMatchObject({
      status: 'True',
      reason: 'MakeBeforeBreak',
      message: '1 old copy waits for us:nyc:store-3 to be available, until 12:03:10Z',
    });
    expect(movingCondition(breaks({ joining: 2, leaving: 4, waitsFor: ['a', 'b', 'c'], untilMs })).message).toBe(
      '2 new copies wait for a, b, c and 1 more to remove the old copy, until 12:03:10Z',
    );
    expect(movingCondition(make({ leaving: 1, untilMs })).message).toContain('for a new one to be available');
    expect(movingCondition(make({ overdue: 1 }))).toMatchObject({ status: 'False', reason: 'DeadlinePassed' });
    expect(movingCondition(make({}))).toMatchObject({ status: 'False', reason: 'NothingHeld' });
    expect(movingCondition(undefined)).toMatchObject({ status: 'False', reason: 'None' });
  });
});
