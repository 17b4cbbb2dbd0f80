import { expect, it } from 'vitest';
import { revived } from '../../../sim/check/revived.ts';
import type { PlannedNode } from '../../../sim/plan/tree.ts';
import { WrittenWorld } from '../written.ts';

const nodes: PlannedNode[] = [
  { path: '', role: 'center', labels: {}, spaces: ['retail'] },
  { path: 'a1', role: 'agent', labels: {}, spaces: [] },
];
const table = 'mailbox/a1';
const object = { key: 'o/center.retail//configmaps/w/o1', body: { data: {} } };

function deletedAsOf(revision: number): WrittenWorld {
  const written = new WrittenWorld(nodes, revived);
  written.put('', table, object);
  written.bury('', table, object.key, revision);
  return written;
}

it('lets an object come again that was written anew', () => {
  const written = deletedAsOf(1);
  written.put('', table, object);
  expect(written.messages).toEqual([]);
});

it('bites when a mailbox has it again as of an older write, and at an origin that was put back it does not', () => {
  const written = deletedAsOf(1_000);
  const old = deletedAsOf(1_000);
  old.world.originWasPutBack = true;
  for (const one of [written, old]) one.put('', table, object);
  expect(written.messages).toEqual([expect.stringMatching(/again as of \d+, deleted as of 1000$/)]);
  expect(old.messages).toEqual([]);
});

it('lets a node that was put back have it as of an older write when its origin has written the same again since, and no other content', () => {
  const source = 'source/center.retail';
  const written = deletedAsOf(1_000);
  written.put('', source, { ...object, originRevision: 2_000 });
  written.put('', table, object);
  expect(written.messages).toEqual([]);
  const other = deletedAsOf(1_000);
  other.put('', source, { ...object, body: { data: { a: '1' } }, originRevision: 2_000 });
  other.put('', table, object);
  expect(other.messages).toHaveLength(1);
});
