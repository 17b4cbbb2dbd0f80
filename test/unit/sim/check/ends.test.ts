import { describe, expect, it } from 'vitest';
import { LocalTable } from '../../../../core/feed/table.ts';
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
  return { found };
}

describe('the gap between two ends of a feed', () => {
  it('is what the consumer has and its producer has not', () => {
    expect(room().found()).toBe(`${key} is there, and its producer has none`);
  });

  it('is not what the producer has told the consumer to keep', () => {
    expect(room(keeper).found()).toBeUndefined();
  });
});
