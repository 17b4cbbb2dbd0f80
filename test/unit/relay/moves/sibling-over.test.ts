import { describe, expect, it } from 'vitest';
import { Rows } from '../../../sim/check/rows.ts';
import { WholeTree } from '../../../support/whole-tree.ts';
import { till, tillAt, tillOf } from '../support/moving-till.ts';

const move = { strategy: 'MakeBeforeBreak', deadlineSeconds: 3_600 };
const lastOf = (path: string) => path.slice(path.lastIndexOf(':') + 1);

describe('an old copy', () => {
  it.each(['eu:old', 'eu:r:old'].flatMap((old) => [0, 50, 100, 500, 1_000].map((ms) => ({ old, ms }))))(
    'stays when who has it goes from one sibling to another and back while both are there: $old, after 3 s and $ms ms',
    async ({ old, ms }) => {
      const goes = old === 'eu:old' ? old : 'eu:r';
      const relays = ['', 'eu', 'eu~1', 'us', ...(old === 'eu:old' ? [] : ['eu:r'])];
      const tree = new WholeTree({ relays, agents: [old, 'us:new'], labels: (agent) => ({ site: lastOf(agent) }) });
      await tree.start();
      await tree.run(100);
      const place = (site: string) => tree.apply('', 'retail', tillAt([site], move));
      tree.apply('', 'retail', ...till);
      place('old');
      const uid = (agent: string) => tillOf(tree, agent);
      await tree.until('the old one has it', () => uid(old) !== undefined);
      await tree.run(1_500);
      const had = uid(old);
      tree.kill('us:new');
      place('new');
      await tree.run(2_000);
      for (const [from, to] of [
        ['eu', 'eu~1'],
        ['eu~1', 'eu'],
        ['eu', 'eu~1'],
      ] as const) {
        tree.cut(goes, from);
        await tree.run(3_000 + ms);
        expect([to, uid(old)]).toEqual([to, had]);
        tree.mend(goes, from);
        await tree.run(1_000);
      }
      await tree.start('us:new');
      await tree.until('it is made', () => uid('us:new') !== undefined && uid(old) === undefined);
      // Nobody tells anything more of it: what the siblings might not lose meanwhile is looked at again by itself.
      const has = (relay: string) =>
        Rows.of(tree.backup(relay), (rows) => rows.entry('upstream', 'p/center.retail/shop')) !== undefined;
      await tree.until('none of the siblings has the placement any more', () => !has('eu') && !has('eu~1'));
    },
  );
});
