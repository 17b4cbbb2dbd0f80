import { expect, it } from 'vitest';
import { LocalTable } from '../../../../core/feed/table.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { revived } from '../../../sim/check/revived.ts';
import { prefix } from '../../../sim/check/rows.ts';
import type { PlannedNode } from '../../../sim/plan/tree.ts';
import { WrittenWorld } from '../written.ts';

const nodes: PlannedNode[] = [
  { path: '', role: 'center', labels: {}, spaces: ['retail'] },
  { path: 'a1', role: 'agent', labels: {}, spaces: [] },
];
const table = 'mailbox/a1';
const object = { key: 'o/center.retail//configmaps/w/o1', body: { data: {} } };

/** As an origin deletes for its scheduler: rows are the third class of work. */
function deleteAtOrigin(written: WrittenWorld, originRevision: number): void {
  const mark = JSON.stringify({ refs: [], originRevision });
  written.write('', (t) => {
    LocalTable.open(t, 'source/center.retail').remove(t, hash128(object.key));
    t.put(Buffer.concat([prefix('dirty'), Buffer.from(`\0\0\0\x03${object.key}`)]), Buffer.from(mark));
  });
}

function deletedAsOf(revision: number, writtenAsOf = revision): WrittenWorld {
  const written = new WrittenWorld(nodes, revived);
  written.put('', 'source/center.retail', object);
  written.put('', table, object);
  deleteAtOrigin(written, writtenAsOf);
  written.bury('', table, object.key, revision);
  return written;
}

it('accepts an object that comes again if it was written again', () => {
  const written = deletedAsOf(1);
  written.put('', table, object);
  expect(written.messages).toEqual([]);
});

it('finds a mailbox that has the object again as of an older write, except at a restored origin', () => {
  const written = deletedAsOf(1_000);
  const old = deletedAsOf(1_000);
  old.world.originWasPutBack = true;
  for (const one of [written, old]) one.put('', table, object);
  expect(written.messages).toEqual([expect.stringMatching(/again as of \d+, deleted as of 1000$/)]);
  expect(old.messages).toEqual([]);
});

it("accepts the return of an object after a deletion by labels whose revision is above the object's write", () => {
  const since = deletedAsOf(1_000, 2);
  const before = deletedAsOf(1_000, 1);
  for (const one of [since, before]) one.put('', table, { ...object, originRevision: 1 });
  expect(since.messages).toHaveLength(1);
  expect(before.messages).toEqual([]);
});

it('accepts an older write at a restored node if its origin has written the same content again since, and no other content', () => {
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
