import { expect, it } from 'vitest';
import { WholeTree } from '../../../support/whole-tree.ts';
import { till, tillAt, tillOf } from '../support/moving-till.ts';

it.each(['eu', 'eu:a'])(
  'a copy with BreakBeforeMake keeps running when its last hop loses its store, and %s reports first',
  async (first) => {
    const tree = new WholeTree({ relays: ['', 'eu'], agents: ['eu:a'] });
    await tree.start();
    await tree.run(100);
    tree.apply('', 'retail', ...till, tillAt([], { strategy: 'BreakBeforeMake', deadlineSeconds: 3_600 }));
    const uid = () => tillOf(tree, 'eu:a');
    await tree.until('it has it', () => uid() !== undefined);
    await tree.run(1_500);
    const uidBefore = uid();
    tree.kill('eu');
    tree.empty('eu');
    if (first === 'eu:a') tree.cut('eu', '');
    else tree.cut('eu:a', 'eu');
    await tree.start('eu');
    await tree.run(2_000);
    if (first === 'eu:a') tree.mend('eu', '');
    else tree.mend('eu:a', 'eu');
    for (let i = 0; i < 100; i++) {
      await tree.run(50);
      expect(uid()).toBe(uidBefore);
    }
  },
);
