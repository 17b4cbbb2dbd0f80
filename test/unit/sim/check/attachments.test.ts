import { describe, expect, it } from 'vitest';
import { attachments } from '../../../sim/check/attachments.ts';
import { beat, HandMade, type WrittenRows } from './hand-made.ts';

const upstream = 1;
const [first, second] = [11, 12];

const owner = (replica: number) => (rows: WrittenRows) => {
  rows.table('upstream', upstream);
  rows.row(upstream, 'owner/a', { owner: replica, granted: true, sequence: 5 });
  rows.row(upstream, 'replicas', { term: 1, lead: 0 });
};

const partial = (fresh: number) => JSON.stringify({ counts: { expected: 1, fresh } });

describe('the check of attachments', () => {
  it('finds a parent that continues an older session', () => {
    const made = new HandMade(attachments);
    const [old, present] = [made.connection('r', '', 1), made.connection('r', '', 2)];
    for (const connection of [old, present]) {
      const sessionSequence = connection.sessionSequence!;
      made.sent(connection, 'parent', { frame: { $case: 'welcome', value: welcome(sessionSequence) } });
    }
    made.sent(present, 'parent', beat({}));
    expect(made.violations).toEqual([]);
    made.sent(old, 'parent', beat({}));
    expect(made.violations).toEqual(['center continues session 1 of r beside 2']);
  });

  it('finds a child that two replicas count', () => {
    const made = new HandMade(attachments);
    made.commit('r', owner(0));
    made.commit('r~1', owner(1));
    expect(made.violations).toContain('r and r~1 both count a, and center counts both');
  });

  it('accepts a child that is not counted before it has reported more', () => {
    const made = new HandMade(attachments);
    made.commit('', (rows) => rows.json('replicaGroup', 'r', { term: 3, lead: 1, requiredTerms: [3, 0] }));
    made.commit('r', owner(0));
    made.commit('r~1', owner(1));
    expect(made.violations).toEqual([]);
  });

  it('finds a child that is counted where it attached before, and not where it attached last', () => {
    const made = new HandMade(attachments);
    const reported = (sequence: number, at: number) => (rows: WrittenRows) => {
      rows.table('reported/r', first);
      rows.table('reported/r~1', second);
      rows.row(first, 'attach/a', { sequence: 7, role: 'agent' });
      rows.row(second, 'attach/a', { sequence: 8, role: 'agent' });
      rows.json('replicaChild', 'r\0a', { sequence, role: 'agent', at, owner: at, granted: true });
    };
    made.commit('', reported(8, 1));
    expect(made.violations).toEqual([]);
    made.commit('', reported(2, 0));
    expect(made.violations).toEqual(['center takes a to be at r, which reported sequence 7; r~1 reported 8']);
  });

  it('accepts the state of a copy that has replaced a replica', () => {
    const made = new HandMade(attachments);
    made.sent(made.connectionOfClone('r', ''), 'parent', { frame: { $case: 'welcome', value: welcome(2) } });
    made.commit('r', owner(0));
    made.commit('r~1', owner(1));
    expect(made.violations).toEqual([]);
  });

  it('finds more fresh places than the replicas have reported', () => {
    const made = new HandMade(attachments);
    made.commit('', (rows) => {
      rows.table('reported/r', first);
      rows.table('reported/r~1', second);
      rows.row(first, 'partial/center.retail/x', {}, partial(1));
    });
    expect(made.violations).toEqual([]);
    made.commit('', (rows) => rows.row(second, 'partial/center.retail/x', {}, partial(1)));
    expect(made.violations).toEqual(['of partial/center.retail/x center has 2 fresh places from r, there are 1']);
  });

  it('ignores a replica whose rows are of two histories, from the first of them to the last', () => {
    const made = new HandMade(attachments);
    made.commit('', (rows) => {
      rows.table('reported/r', first);
      rows.table('reported/r~1', second);
      rows.row(first, 'partial/center.retail/x', {}, partial(1));
      rows.consumer(second, 'reconciling');
      rows.row(second, 'partial/center.retail/x', {}, partial(1));
    });
    expect(made.violations).toEqual([]);
    made.commit('', (rows) => rows.consumer(second, 'head'));
    expect(made.violations).toEqual(['of partial/center.retail/x center has 2 fresh places from r, there are 1']);
  });
});

function welcome(sessionSequence: number) {
  const none = Buffer.alloc(0);
  return {
    version: 2,
    sessionSequence,
    up: undefined,
    upCreditBytes: 0,
    downResumes: true,
    ready: true,
    maxFrameBytes: 0,
    software: '',
    downEpoch: none,
    downIncarnation: none,
    hasReplicas: false,
    held: [],
  };
}
