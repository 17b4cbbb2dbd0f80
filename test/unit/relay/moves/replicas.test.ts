import { describe, expect, it } from 'vitest';
import { WholeTree } from '../../../support/whole-tree.ts';
import { till, tillAt, tillOf } from '../support/moving-till.ts';

const agents = ['eu:old', 'eu:new'];
/** Two destinations at a place with two replicas; both are attached to the first one. */
async function shop(strategy: string) {
  const tree = new WholeTree({ relays: ['', 'eu', 'eu~1'], agents, labels: (agent) => ({ site: agent.slice(3) }) });
  await tree.start();
  await tree.run(100);
  const place = (...sites: string[]) => tree.apply('', 'retail', tillAt(sites, { strategy, deadlineSeconds: 3_600 }));
  tree.apply('', 'retail', ...till);
  place('old');
  const uid = (agent: string) => tillOf(tree, agent);
  await tree.until('the old one has it', () => uid('eu:old') !== undefined);
  await tree.run(1_500);
  return { tree, uid, place, move: () => place('new') };
}

describe('a move at a place with replicas', () => {
  it.each(['MakeBeforeBreak', 'BreakBeforeMake'])(
    'that is complete is not undone when the replica dies that made it: %s',
    async (strategy) => {
      const { tree, uid, move } = await shop(strategy);
      move();
      await tree.until('it is made', () => uid('eu:new') !== undefined && uid('eu:old') === undefined);
      await tree.run(1_500);
      const made = uid('eu:new');
      tree.cut('eu~1', '');
      tree.kill('eu');
      for (let i = 0; i < 50; i++) {
        await tree.run(50);
        expect([uid('eu:new'), uid('eu:old')]).toEqual([made, undefined]);
      }
      tree.mend('eu~1', '');
      await tree.run(3_000);
      expect([uid('eu:new'), uid('eu:old')]).toEqual([made, undefined]);
    },
  );

  it.each(['MakeBeforeBreak', 'BreakBeforeMake'])(
    'ends at the other replica too when the old destination has the copy again: %s',
    async (strategy) => {
      const { tree, uid, place, move } = await shop(strategy);
      move();
      await tree.until('it is made', () => uid('eu:new') !== undefined && uid('eu:old') === undefined);
      await tree.run(1_500);
      place();
      await tree.until('both have it', () => uid('eu:new') !== undefined && uid('eu:old') !== undefined);
      await tree.run(1_500);
      const uidsBefore = [uid('eu:new'), uid('eu:old')];
      tree.kill('eu');
      for (let i = 0; i < 60; i++) {
        await tree.run(50);
        expect([uid('eu:new'), uid('eu:old')]).toEqual(uidsBefore);
      }
    },
  );

  it('that waits continues at the other replica', async () => {
    const { tree, uid, move } = await shop('MakeBeforeBreak');
    tree.kill('eu:new');
    const before = uid('eu:old');
    move();
    await tree.run(1_000);
    tree.kill('eu');
    await tree.run(2_500);
    expect(uid('eu:old')).toBe(before);
    await tree.start('eu:new');
    await tree.until('it is made', () => uid('eu:new') !== undefined && uid('eu:old') === undefined);
  });

  it('keeps an old copy without a new one when the replica dies that keeps it', async () => {
    const { tree, uid, move } = await shop('MakeBeforeBreak');
    const uidBefore = uid('eu:old');
    // The other replica has never received that the old destination was to have the copy.
    tree.kill('eu~1');
    tree.empty('eu~1');
    tree.kill('eu:new');
    move();
    await tree.run(3_000);
    await tree.start('eu~1');
    await tree.run(3_000);
    tree.kill('eu');
    for (let i = 0; i < 60; i++) {
      await tree.run(50);
      expect(uid('eu:old')).toBe(uidBefore);
    }
    await tree.start('eu:new');
    await tree.until('it is made', () => uid('eu:new') !== undefined && uid('eu:old') === undefined);
  });
});
