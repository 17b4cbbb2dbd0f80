import { describe, expect, it } from 'vitest';
import { carriesOnce } from '../../../../core/move/carries-once.ts';
import { granted, type Move, type MoveRow, mayJoin, mayLeave, moveOf, review } from '../../../../core/move/move.ts';

const make: Move = { order: 'MakeBeforeBreak', deadlineSeconds: 10 };
const breaks: Move = { order: 'BreakBeforeMake', deadlineSeconds: 10 };
const now = { nowMs: 1_000, generation: 2 };
const row = (state: MoveRow['state'], more: Partial<MoveRow> = {}): MoveRow => ({
  state,
  sinceMs: 1_000,
  generation: 2,
  ...more,
});
const facts = { ...now, matches: false, available: false, letGo: false };
const late = { ...facts, nowMs: 11_000 };

describe('the strategy of a move', () => {
  it('is Auto without spec.move, and if spec.move does not name one', () => {
    expect(moveOf(undefined, false)).toEqual({ order: 'MakeBeforeBreak', deadlineSeconds: 600 });
    expect(moveOf(undefined, true)?.order).toBe('BreakBeforeMake');
    expect(moveOf({ strategy: 'None' }, true)).toBeUndefined();
    expect(moveOf({}, false)).toEqual({ order: 'MakeBeforeBreak', deadlineSeconds: 600 });
  });

  it('of Auto is BreakBeforeMake if the placement carries a volume that one node at a time may write', () => {
    expect(moveOf({ strategy: 'Auto', deadlineSeconds: 5 }, true)).toEqual({
      order: 'BreakBeforeMake',
      deadlineSeconds: 5,
    });
    expect(moveOf({ strategy: 'MakeBeforeBreak' }, true)?.order).toBe('MakeBeforeBreak');
  });

  it('considers claims, and the templates of StatefulSets', () => {
    const claim = (...accessModes: string[]) => ({ spec: { accessModes } });
    const of = (apiVersion: string, kind: string, spec: object) =>
      carriesOnce({ apiVersion, kind, metadata: { name: 'x' }, spec });
    expect(of('v1', 'PersistentVolumeClaim', claim('ReadWriteOnce').spec)).toBe(true);
    expect(of('v1', 'PersistentVolumeClaim', claim('ReadWriteOncePod').spec)).toBe(true);
    expect(of('v1', 'PersistentVolumeClaim', claim('ReadWriteMany').spec)).toBe(false);
    expect(of('example.com/v1', 'PersistentVolumeClaim', claim('ReadWriteOnce').spec)).toBe(false);
    const templates = [claim('ReadOnlyMany'), claim('ReadWriteOnce')];
    expect(of('apps/v1', 'StatefulSet', { volumeClaimTemplates: templates })).toBe(true);
    expect(of('apps/v1', 'StatefulSet', {})).toBe(false);
    expect(of('apps/v1', 'Deployment', { volumeClaimTemplates: templates })).toBe(false);
  });
});

describe('a destination under MakeBeforeBreak', () => {
  it('joins at once', () => {
    expect(mayJoin(make, undefined, now)).toEqual({ may: true, row: row('joined') });
  });

  it('leaves when it is granted or when its deadline has passed, and reports the latter', () => {
    expect(mayLeave(make, undefined, now)).toEqual({ may: false, row: row('leaving') });
    expect(mayLeave(make, row('leaving'), now).may).toBe(false);
    const next = granted(make, row('leaving'));
    expect(next.ask).toBe(true);
    expect(mayLeave(make, next.row, now)).toEqual({ may: true, row: row('breaking') });
    expect(mayLeave(make, row('leaving'), late)).toMatchObject({ may: true, overdue: true });
    expect(review(make, row('leaving'), late).ask).toBe(true);
  });

  it('that started in the future of a clock that was set back starts now', () => {
    const ahead = row('leaving', { sinceMs: 5_000 });
    expect(review(make, ahead, facts)).toEqual({ row: row('leaving'), ask: false });
    expect(review(make, row('leaving'), facts)).toEqual({ row: row('leaving'), ask: false });
  });

  it('that matches again while it leaves has joined', () => {
    expect(review(make, row('leaving'), { ...facts, matches: true }).row).toEqual(row('joined'));
  });

  it('that matches again while it breaks gets its objects when its cluster has removed them', () => {
    expect(mayJoin(make, row('breaking', { asked: 7 }), now)).toEqual({
      may: false,
      row: row('returning', { asked: 7 }),
    });
    expect(review(make, row('returning', { asked: 7 }), { ...facts, matches: true })).toMatchObject({ ask: false });
    const over = review(make, row('returning', { asked: 7 }), { ...facts, matches: true, letGo: true });
    expect(over).toEqual({ row: undefined, ask: true });
    expect(review(make, row('returning', { asked: 7 }), facts).row?.state).toBe('breaking');
  });

  it('has joined until a grant, its deadline, or the next generation that finds it available', () => {
    expect(granted(make, row('joined')).row).toBeUndefined();
    expect(review(make, row('joined'), { ...facts, available: true }).row).toEqual(row('joined'));
    expect(review(make, row('joined'), { ...facts, generation: 3 }).row).toEqual(row('joined'));
    expect(review(make, row('joined'), { ...facts, generation: 3, available: true }).row).toBeUndefined();
    expect(review(make, row('joined'), late).row).toBeUndefined();
  });
});

describe('a destination under BreakBeforeMake', () => {
  it('gets nothing until it is granted, or until its deadline, and reports the latter', () => {
    expect(mayJoin(breaks, undefined, now)).toEqual({ may: false, row: row('joining') });
    const next = granted(breaks, row('joining'));
    expect(mayJoin(breaks, next.row, now)).toEqual({ may: true, row: undefined });
    const overdue = review(breaks, row('joining'), { ...late, matches: true });
    expect(overdue).toMatchObject({ ask: true, overdue: true, row: { granted: true } });
    expect(review(breaks, row('joining'), facts).row).toBeUndefined();
  });

  it('loses its objects at once, and has gone when its cluster has removed them or the wait is over', () => {
    expect(mayLeave(breaks, undefined, now)).toEqual({ may: true, row: row('breaking') });
    expect(review(breaks, row('breaking', { asked: 7 }), facts).row?.state).toBe('breaking');
    const gone = review(breaks, row('breaking', { asked: 7 }), { ...facts, letGo: true });
    expect(gone).toEqual({ row: row('gone'), ask: false });
    expect(review(breaks, row('breaking', { asked: 7 }), late)).toMatchObject({
      row: { state: 'gone' },
      overdue: true,
    });
  });

  it('pays for itself if it has gone and matches again in the same generation, and for nobody in the next one', () => {
    expect(mayJoin(breaks, row('gone'), now)).toEqual({ may: true, row: undefined });
    expect(mayJoin(breaks, row('gone'), { ...now, generation: 3 })).toMatchObject({ may: false });
    expect(review(breaks, row('gone'), { ...facts, generation: 3 }).row).toBeUndefined();
    expect(granted(breaks, row('gone')).row).toBeUndefined();
  });
});

describe('a strategy that changes during a move', () => {
  it('to None lets everything continue', () => {
    expect(review(undefined, row('leaving'), facts)).toEqual({ row: undefined, ask: true });
    expect(mayLeave(undefined, row('leaving'), now)).toEqual({ may: true, row: undefined });
    expect(mayJoin(undefined, row('joining'), now)).toEqual({ may: true, row: undefined });
  });

  it('from one order to the other asks again for held copies', () => {
    expect(review(breaks, row('leaving'), facts).ask).toBe(true);
    expect(mayLeave(breaks, row('leaving'), now)).toEqual({ may: true, row: row('breaking') });
    expect(review(make, row('joining'), { ...facts, matches: true })).toEqual({ row: undefined, ask: true });
    expect(review(breaks, row('joined'), { ...facts, matches: true }).row).toBeUndefined();
  });
});
