import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { ChildCatchUpGate } from '../../../../relay/catch-up/child-catch-up-gate.ts';

function arrivals(hasReplicas = true) {
  const behind = new Map<string, string>();
  const changed: string[] = [];
  const decided: string[] = [];
  const room = new ChildCatchUpGate({
    hasReplicas,
    clock: new VirtualClock(5_000),
    behind: (child) => behind.get(child),
    decided: (children) => {
      decided.push(...children, `before ${changed.length}`);
      return Math.min(children.length, 2);
    },
    store: { announce: (_topic, ...children) => void changed.push(...(children as unknown as string[])) },
  });
  return { room, behind, changed, decided };
}

describe('a child that attaches to one of several replicas', () => {
  it('follows its mailbox once all its reports are processed', () => {
    const { room, changed } = arrivals();
    room.begin('a');
    room.idle();
    expect(room.mayFollow('a')).toBe(false);
    room.heard('a');
    expect(room.mayFollow('a')).toBe(false);
    room.idle();
    expect(room.mayFollow('a')).toBe(true);
    expect(changed).toEqual(['a']);
  });

  it('waits as long as its parent has received less than the child, and the reason can be shown', () => {
    const { room, behind } = arrivals();
    behind.set('a', 'an older release');
    room.begin('a');
    expect(room.waits('a')).toBeUndefined();
    room.heard('a');
    room.idle();
    const waits = { since: '1970-01-01T00:00:05Z', for: 'an older release' };
    expect([room.mayFollow('a'), room.waits('a')]).toEqual([false, waits]);
    behind.clear();
    room.idle();
    expect([room.mayFollow('a'), room.waits('a')]).toEqual([true, undefined]);
  });

  it('has its mailbox decided immediately before, if it came with rows of another history', () => {
    const { room, changed, decided } = arrivals();
    room.begin('a');
    room.begin('b');
    room.beginWithOther('b');
    room.heard('a');
    room.heard('b');
    room.idle();
    expect([decided, changed]).toEqual([
      ['b', 'before 0'],
      ['a', 'b'],
    ]);
    room.begin('b');
    room.heard('b');
    room.idle();
    expect([decided.length, changed.length]).toEqual([2, 3]);
  });

  it('waits for another moment, if the mailboxes of many are to be decided', () => {
    const { room, changed, decided } = arrivals(false);
    for (const child of ['a', 'b', 'c']) {
      room.beginWithOther(child);
      room.heard(child);
    }
    room.idle();
    expect([room.mayFollow('b'), room.mayFollow('c'), changed]).toEqual([true, false, ['a', 'b']]);
    room.idle();
    expect([decided, changed]).toEqual([
      ['a', 'b', 'c', 'before 0', 'c', 'before 2'],
      ['a', 'b', 'c'],
    ]);
  });

  it('is held back again in each session', () => {
    const { room } = arrivals();
    room.begin('a');
    room.heard('a');
    room.begin('a');
    room.idle();
    expect(room.mayFollow('a')).toBe(false);
  });

  it('waits for nothing without replicas', () => {
    const alone = arrivals(false).room;
    alone.begin('a');
    expect(alone.mayFollow('a')).toBe(true);
  });
});
