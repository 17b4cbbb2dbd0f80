import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { Evictions } from '../../../../relay/children/evictions.ts';

const hour = 3_600_000;

describe('the evictions of a node', () => {
  let clock: VirtualClock;
  let due: string[];
  let evictions: Evictions;

  beforeEach(() => {
    clock = new VirtualClock();
    due = [];
    evictions = new Evictions(clock, (names) => due.push(...names));
  });

  it('are due at once at a time that is past, and never without a time', () => {
    expect(evictions.areDue('a', [clock.wallMs() - 1])).toEqual([true]);
    expect(evictions.areDue('b', [undefined])).toEqual([false]);
    clock.advance(hour);
    expect(due).toEqual([]);
  });

  it('are announced when their time comes, in order, each once', () => {
    evictions.areDue('late', [clock.wallMs() + 2 * hour]);
    evictions.areDue('early', [clock.wallMs() + hour]);
    clock.advance(hour - 1);
    expect(due).toEqual([]);
    clock.advance(1);
    expect(due).toEqual(['early']);
    clock.advance(3 * hour);
    expect(due).toEqual(['early', 'late']);
  });

  it('may come months from now', () => {
    evictions.areDue('a', [clock.wallMs() + 2_000 * hour]);
    clock.advance(1_999 * hour);
    expect(due).toEqual([]);
    clock.advance(hour);
    expect(due).toEqual(['a']);
  });

  it('are cancelled when the time is moved or removed, or the agent goes', () => {
    for (const name of ['moved', 'back', 'gone']) evictions.areDue(name, [clock.wallMs() + hour]);
    evictions.areDue('moved', [clock.wallMs() + 3 * hour]);
    evictions.areDue('back', [undefined]);
    evictions.forget('gone');
    clock.advance(2 * hour);
    expect(due).toEqual([]);
    clock.advance(hour);
    expect(due).toEqual(['moved']);
  });

  it('are not announced once the node ends', () => {
    evictions.areDue('a', [clock.wallMs() + hour]);
    evictions.stop();
    clock.advance(2 * hour);
    expect(due).toEqual([]);
  });
});
