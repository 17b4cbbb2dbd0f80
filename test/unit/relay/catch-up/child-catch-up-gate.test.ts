import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { ChildCatchUpGate } from '../../../../relay/catch-up/child-catch-up-gate.ts';

function gateOf(hasReplicas = true) {
  const missing = new Map<string, string>();
  const announced: string[] = [];
  const raised: string[] = [];
  const gate = new ChildCatchUpGate({
    hasReplicas,
    clock: new VirtualClock(5_000),
    missing: (child) => missing.get(child),
    raiseRevisions: (children) => {
      raised.push(...children, `before ${announced.length}`);
      return Math.min(children.length, 2);
    },
    store: { announce: (_topic, children) => void announced.push(...(children as unknown as string[])) },
  });
  return { gate, missing, announced, raised };
}

describe('a child that attaches to one of several replicas', () => {
  it('follows its mailbox when all its reports are worked off', () => {
    const { gate, announced } = gateOf();
    gate.begin('a');
    gate.idle();
    expect(gate.mayFollow('a')).toBe(false);
    gate.reportsStored('a');
    expect(gate.mayFollow('a')).toBe(false);
    gate.idle();
    expect(gate.mayFollow('a')).toBe(true);
    expect(announced).toEqual(['a']);
  });

  it('waits while its parent has less than the child, and the gate can say why', () => {
    const { gate, missing } = gateOf();
    missing.set('a', 'an older release');
    gate.begin('a');
    expect(gate.waits('a')).toBeUndefined();
    gate.reportsStored('a');
    gate.idle();
    const waits = { since: '1970-01-01T00:00:05Z', for: 'an older release' };
    expect([gate.mayFollow('a'), gate.waits('a')]).toEqual([false, waits]);
    missing.clear();
    gate.idle();
    expect([gate.mayFollow('a'), gate.waits('a')]).toEqual([true, undefined]);
  });

  it('gets newer revisions in its mailbox just before, if it has rows of another history', () => {
    const { gate, announced, raised } = gateOf();
    gate.begin('a');
    gate.begin('b');
    gate.beginWithOtherHistory('b');
    gate.reportsStored('a');
    gate.reportsStored('b');
    gate.idle();
    expect([raised, announced]).toEqual([
      ['b', 'before 0'],
      ['a', 'b'],
    ]);
    gate.begin('b');
    gate.reportsStored('b');
    gate.idle();
    expect([raised.length, announced.length]).toEqual([2, 3]);
  });

  it('waits for the next idle moment, if many mailboxes get newer revisions', () => {
    const { gate, announced, raised } = gateOf(false);
    for (const child of ['a', 'b', 'c']) {
      gate.beginWithOtherHistory(child);
      gate.reportsStored(child);
    }
    gate.idle();
    expect([gate.mayFollow('b'), gate.mayFollow('c'), announced]).toEqual([true, false, ['a', 'b']]);
    gate.idle();
    expect([raised, announced]).toEqual([
      ['a', 'b', 'c', 'before 0', 'c', 'before 2'],
      ['a', 'b', 'c'],
    ]);
  });

  it('waits anew in each session', () => {
    const { gate } = gateOf();
    gate.begin('a');
    gate.reportsStored('a');
    gate.begin('a');
    gate.idle();
    expect(gate.mayFollow('a')).toBe(false);
  });

  it('waits for nothing where there are no replicas', () => {
    const alone = gateOf(false).gate;
    alone.begin('a');
    expect(alone.mayFollow('a')).toBe(true);
  });
});
