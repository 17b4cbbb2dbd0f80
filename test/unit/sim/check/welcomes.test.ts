import { expect, it } from 'vitest';
import type { Frame, Welcome } from '../../../../core/wire/generated/mesh.ts';
import { welcomes } from '../../../sim/check/welcomes.ts';
import { HandMade } from './hand-made.ts';

const [epoch, other] = [Buffer.alloc(16, 1), Buffer.alloc(16, 2)];

function welcomeTo(downEpoch: Buffer): Frame {
  const up = { epoch: Buffer.alloc(0), incarnation: Buffer.alloc(0), cursor: 0, seenHead: 0 };
  const value: Welcome = {
    version: 3,
    sessionSequence: 1,
    up,
    upCreditBytes: 0,
    downResumes: false,
    ready: true,
    maxFrameBytes: 0,
    software: '',
    downEpoch,
    downIncarnation: Buffer.alloc(16, 3),
    hasReplicas: false,
    held: [],
  };
  return { frame: { $case: 'welcome', value } };
}

it('accepts a welcome to the parent’s present mailbox', () => {
  const made = new HandMade(welcomes);
  made.commit('r', (rows) => rows.mailbox('mailbox/a', 7, epoch));
  made.sent(made.connection('r:a', 'r'), 'parent', welcomeTo(epoch));
  expect(made.violations).toEqual([]);
});

it('finds a welcome without a mailbox, or to another mailbox', () => {
  const made = new HandMade(welcomes);
  made.sent(made.connection('r:a', 'r'), 'parent', welcomeTo(epoch));
  made.commit('r', (rows) => rows.mailbox('mailbox/a', 7, other));
  made.sent(made.connection('r:a', 'r'), 'parent', welcomeTo(epoch));
  expect(made.violations).toEqual(Array(2).fill(expect.stringMatching(/whose mailbox is gone$/)));
});
