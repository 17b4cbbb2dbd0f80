import { describe, expect, it } from 'vitest';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { OtherHistories } from '../../../../relay/rollout/other-histories.ts';

function started(store = new MemoryStore()) {
  const histories = new OtherHistories();
  store.read((reader) => histories.load(reader));
  const begun: string[] = [];
  const idle = () => store.write((t) => histories.idle(t, (agent) => begun.push(agent)));
  const note = (agent: string) => store.write((t) => histories.note(t, agent));
  return { store, histories, begun, idle, note };
}

describe('an agent that may have rows which the store does not know', () => {
  it('gets everything once more, and stays recorded until that is done', () => {
    const { histories, begun, idle, note } = started();
    note('a');
    expect([histories.has('a'), histories.has('b')]).toEqual([true, false]);
    idle();
    expect([begun, histories.has('a')]).toEqual([['a'], true]);
    idle();
    expect([begun, histories.has('a'), histories.isEmpty]).toEqual([['a'], false, true]);
  });

  it('stays recorded over a restart, whether its work had begun or not', () => {
    const before = started();
    before.note('a');
    before.idle();
    before.note('b');
    const after = started(before.store);
    after.idle();
    expect(after.begun).toEqual(['a', 'b']);
    after.idle();
    expect(started(before.store).histories.isEmpty).toBe(true);
  });

  it('that attaches in this way again meanwhile gets everything again', () => {
    const { histories, begun, idle, note } = started();
    note('a');
    idle();
    note('a');
    idle();
    expect([begun, histories.has('a')]).toEqual([['a', 'a'], true]);
    idle();
    expect(histories.isEmpty).toBe(true);
  });
});
