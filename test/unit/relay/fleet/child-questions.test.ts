import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import type { SessionStreams } from '../../../../core/stream/streams.ts';
import { ChildQuestions } from '../../../../relay/fleet/child-questions.ts';
import type { Asker, FleetQuestion } from '../../../../relay/fleet/fleet-question.ts';

describe('a question to a child', () => {
  const vouchers: string[] = [];
  const questions = new ChildQuestions({
    path: 'eu',
    clock: new VirtualClock(0),
    isChild: (name) => ['paris', 'berlin'].includes(name),
    streams: () =>
      ({
        open({ voucher }: { voucher: string }) {
          vouchers.push(voucher);
          throw new Error('asked');
        },
      }) as unknown as SessionStreams,
  });
  const ask = async (asker: Asker) => {
    const question = { type: 'list', patienceMs: 1_000 } as unknown as FleetQuestion;
    for await (const _ of questions.ask('berlin', asker, question, new AbortController().signal));
  };

  it.each([
    ['user', { name: 'paris:jo', groups: [] }],
    ['group', { name: 'jo', groups: ['system:authenticated', 'paris:tills'] }],
  ])('is not asked for a %s whom the child would take for one of another child', async (what, asker) => {
    await expect(ask(asker)).rejects.toMatchObject({
      code: 'Forbidden',
      message: expect.stringContaining(`for a ${what} of node eu:paris: give such names another prefix`),
    });
    expect(vouchers).toEqual([]);
  });

  it('is asked for other users, and for those for whom another node vouches', async () => {
    await expect(ask({ name: 'corp:jo', groups: ['system:masters'] })).rejects.toThrow('asked');
    await expect(ask({ name: 'paris:jo', groups: [], voucher: '' })).rejects.toThrow('asked');
    expect(vouchers).toEqual(['eu', '']);
  });
});
