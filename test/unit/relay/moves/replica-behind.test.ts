import { describe, expect, it } from 'vitest';
import { WholeTree } from '../../../support/whole-tree.ts';
import { till, tillAt, tillOf } from '../support/moving-till.ts';

const lastOf = (path: string) => path.slice(path.lastIndexOf(':') + 1);

interface Case {
  readonly strategy: 'MakeBeforeBreak' | 'BreakBeforeMake';
  readonly old: string;
  readonly fresh: string;
  readonly other: 'has lost its store' | 'was cut off when it was placed';
  readonly moved: 'before' | 'behind';
}

const cases: Case[] = (['MakeBeforeBreak', 'BreakBeforeMake'] as const).flatMap((strategy) =>
  ['eu:old', 'eu:r:old'].flatMap((old) =>
    ['eu:new', 'us:new'].flatMap((fresh) =>
      (['has lost its store', 'was cut off when it was placed'] as const).flatMap((other) =>
        (['before', 'behind'] as const).map((moved) => ({ strategy, old, fresh, other, moved })),
      ),
    ),
  ),
);

/** One replica dies. The other receives the report about the copy from its holder before it receives the placement, which then names another place. */
describe('a move at a replica that receives it late', () => {
  it.each(cases)(
    '$strategy from $old to $fresh, where the other one $other, moved $moved the death of the first',
    async ({ strategy, old, fresh, other, moved }) => {
      const makesFirst = strategy === 'MakeBeforeBreak';
      const relays = ['', 'eu', 'eu~1', 'us', ...(old === 'eu:old' ? [] : ['eu:r'])];
      const tree = new WholeTree({ relays, agents: [old, fresh], labels: (agent) => ({ site: lastOf(agent) }) });
      await tree.start();
      await tree.run(100);
      if (other === 'was cut off when it was placed') tree.cut('eu~1', '');
      const place = (site: string) => tree.apply('', 'retail', tillAt([site], { strategy, deadlineSeconds: 3_600 }));
      tree.apply('', 'retail', ...till);
      place('old');
      const uid = (agent: string) => tillOf(tree, agent);
      await tree.until('the old one has it', () => uid(old) !== undefined);
      await tree.run(1_500);
      const uidBefore = uid(old);
      /** With MakeBeforeBreak the new copy can't be available yet, so the old one has to stay. Otherwise two copies never exist at once. */
      const watch = async (ms: number) => {
        for (let i = 0; i < ms; i += 20) {
          await tree.run(20);
          if (makesFirst) expect(uid(old)).toBe(uidBefore);
          else expect(uid(old) === undefined || uid(fresh) === undefined).toBe(true);
        }
      };
      if (makesFirst) tree.kill(fresh);
      if (other === 'has lost its store') {
        tree.kill('eu~1');
        tree.empty('eu~1');
        tree.cut('eu~1', '');
        await tree.start('eu~1');
      }
      if (moved === 'before') place('new');
      await watch(makesFirst ? 3_000 : 20);
      tree.kill('eu');
      await watch(5_000);
      if (moved === 'behind') place('new');
      await watch(3_000);
      tree.mend('eu~1', '');
      await watch(8_000);
      if (makesFirst) await tree.start(fresh);
      await tree.until('it is made', () => uid(fresh) !== undefined && uid(old) === undefined);
    },
  );
});
