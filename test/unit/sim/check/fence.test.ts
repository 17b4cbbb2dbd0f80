import { describe, expect, it } from 'vitest';
import { fence } from '../../../sim/check/fence.ts';
import { ack, beat, HandMade, type WrittenRows } from './hand-made.ts';

const reported = 1;
const mailbox = 2;

/** The center with its rows of `r`, and this session of `r`. */
function withSession(sequence: number): HandMade {
  const made = new HandMade(fence);
  made.commit('', (rows) => {
    rows.table('reported/r', reported);
    rows.table('mailbox/r', mailbox);
    rows.json('session', 'r', { sessionSequence: sequence });
  });
  return made;
}

const report = (rows: WrittenRows) => rows.row(reported, 'labels', {});

describe('the check of the fence', () => {
  it('lets the present session commit', () => {
    const made = withSession(2);
    const present = made.connection('r', '', 2);
    made.delivered(present, 'parent', beat({}), () => made.commit('', report));
    made.delivered(present, 'parent', ack(5));
    made.commit('', (rows) => rows.acknowledged(mailbox, 5));
    expect(made.violations).toEqual([]);
  });

  it('finds rows of a session that another one has replaced', () => {
    const made = withSession(2);
    made.delivered(made.connection('r', '', 1), 'parent', beat({}), () => made.commit('', report));
    expect(made.violations).toEqual(['center commits for session 1 of r, 2 has taken its place']);
  });

  it('finds rows that no frame of the child has brought', () => {
    const made = withSession(2);
    made.delivered(made.connection('r~1', '', 2), 'parent', beat({}), () => made.commit('', report));
    expect(made.violations).toEqual(['center commits to what r reports, and no frame of it came']);
  });

  it('lets the node take a row out of quarantine without a frame, and no other row with it', () => {
    const released = (rows: WrittenRows) => {
      report(rows);
      rows.released(reported, 'labels');
    };
    const made = withSession(2);
    made.commit('', released);
    expect(made.violations).toEqual([]);
    made.commit('', (rows) => {
      released(rows);
      rows.row(reported, 'other', {});
    });
    expect(made.violations).toEqual(['center commits to what r reports, and no frame of it came']);
  });

  it('finds an acknowledgement of an older session that is stored later', () => {
    const made = withSession(1);
    made.delivered(made.connection('r', '', 1), 'parent', ack(5));
    made.commit('', (rows) => rows.json('session', 'r', { sessionSequence: 2 }));
    made.commit('', (rows) => rows.acknowledged(mailbox, 5));
    expect(made.violations).toEqual(['center records 5 of r; session 2 has reported 0']);
  });
});
