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
      const none = () => !knowsOf(tree, 'eu') && !knowsOf(tree, 'eu~1');
      await tree.until('none of the siblings has the placement any more', none);
    },
  );

  it.each([0, 5, 10, 15, 20, 25, 30, 35].flatMap((ms) => [0, 1_500].map((awayMs) => ({ ms, awayMs }))))(
    'stays when the parent is killed $ms ms after who has it came to the other sibling, for $awayMs ms',
    async ({ ms, awayMs }) => {
      const old = 'eu:old';
      const relays = ['', 'eu', 'eu~1', 'us'];
      const tree = new WholeTree({ relays, agents: [old, 'us:new'], labels: (agent) => ({ site: lastOf(agent) }) });
      await tree.start();
      tree.apply('', 'retail', ...till, tillAt(['old'], move));
      const had = () => tillOf(tree, old);
      await tree.until('the old one has it', () => had() !== undefined);
      await tree.run(3_000);
      const uid = had();
      tree.kill('us:new');
      tree.apply('', 'retail', tillAt(['new'], move));
      await tree.run(3_000);
      const calls = tree.calls(old);
      tree.cut(old, 'eu');
      while (tree.calls(old) === calls) await tree.run(1);
      await tree.run(ms);
      tree.kill('');
      await tree.run(awayMs);
      await tree.start('');
      await tree.run(15_000);
      expect(had()).toBe(uid);
      await tree.start('us:new');
      await tree.until('it is made', () => tillOf(tree, 'us:new') !== undefined && had() === undefined);
      const none = () => !knowsOf(tree, 'eu') && !knowsOf(tree, 'eu~1');
      await tree.until('none of the siblings has the placement any more', none);
    },
  );

  it('holds a placement at a sibling no longer than one that does not answer may hold a change of theirs', async () => {
    const relays = ['', 'eu', 'eu~1', 'us'];
    const agents = ['eu:old', 'eu:other', 'us:new'];
    const tree = new WholeTree({ relays, agents, labels: (agent) => ({ site: lastOf(agent) }) });
    await tree.start();
    tree.cut('eu:other', 'eu');
    tree.apply('', 'retail', ...till, tillAt(['old'], move));
    await tree.until('the old one has it', () => tillOf(tree, 'eu:old') !== undefined);
    await tree.run(3_000);
    tree.kill('us:new');
    tree.apply('', 'retail', tillAt(['new'], move));
    await tree.run(3_000);
    // The other one has to go over, and the sibling that had it says nothing of that.
    tree.stop('eu~1');
    tree.mend('eu:other', 'eu');
    tree.cut('eu:other', 'eu~1');
    const calls = tree.calls('eu:other');
    await tree.until('it goes over', () => tree.calls('eu:other') > calls);
    await tree.start('us:new');
    await tree.until('it is made', () => tillOf(tree, 'us:new') !== undefined && tillOf(tree, 'eu:old') === undefined);
    await tree.run(2_000);
    expect(knowsOf(tree, 'eu')).toBe(true);
    await tree.run(10_000);
    expect(knowsOf(tree, 'eu')).toBe(false);
  });
});

/** A relay of the placement. */
function knowsOf(tree: WholeTree, relay: string): boolean {
  return Rows.of(tree.backup(relay), (rows) => rows.entry('upstream', 'p/center.retail/shop')) !== undefined;
}
