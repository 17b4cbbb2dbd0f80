import { describe, expect, it } from 'vitest';
import { noteHeldRows } from '../../../../core/feed/deletions.ts';
import { LocalTable } from '../../../../core/feed/table.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { gap } from '../../../sim/check/ends.ts';
import type { PlannedNode } from '../../../sim/plan/tree.ts';
import { WrittenWorld } from '../written.ts';

const nodes: PlannedNode[] = [
  { path: '', role: 'center', labels: {}, spaces: ['retail'] },
  { path: 'a', role: 'agent', labels: {}, spaces: [] },
];
const key = 'o/center.retail//configmaps/w/o1';
const keeper = 'k/center.retail//configmaps/w/o1';

/** The agent has an object; `sent` are the rows of its mailbox. */
function room(...sent: string[]) {
  const written = new WrittenWorld(nodes);
  written.write('', (t) => void LocalTable.open(t, 'mailbox/a'));
  written.put('', 'mailbox/a', ...sent.map((one) => ({ key: one })));
  written.put('a', 'upstream', { key }, ...sent.map((one) => ({ key: one })));
  const [center, agent] = [written.host(''), written.host('a')];
  const found = () => gap({ host: center, table: 'mailbox/a' }, { host: agent, table: 'upstream' }, agent.rows, 100);
  const removed = () => written.bury('', 'mailbox/a', key, 50);
  const held = () =>
    written.write('a', (t) => {
      noteHeldRows(t, LocalTable.open(t, 'upstream').id, [{ keyHash: hash128(key), key }], 0);
    });
  return { found, removed, held };
}

describe('the gap between two ends of a feed', () => {
  it('contains the rows that the consumer has and its producer does not have', () => {
    expect(room().found()).toBe(`${key} is there, and its producer has none`);
  });

  it('contains the rows that the producer has removed and the consumer still has, unless it holds them', () => {
    const { found, removed, held } = room();
    removed();
    expect(found()).toMatch(/was removed at revision 50 and is still there/);
    held();
    expect(found()).toBeUndefined();
  });

  it('does not contain the rows that the producer has told the consumer to keep', () => {
    expect(room(keeper).found()).toBeUndefined();
  });
});
