import { describe, expect, it } from 'vitest';
import { Rows } from '../../../sim/check/rows.ts';
import { WholeTree } from '../../../support/whole-tree.ts';
import { till, tillAt, tillOf } from '../support/moving-till.ts';

const move = { strategy: 'MakeBeforeBreak', deadlineSeconds: 3_600 };
const lastOf = (path: string) => path.slice(path.lastIndexOf(':') + 1);

/**
 * A copy at `old`, below one of the replicas `eu`, is to move to `us:new`, whose process is away: the copy has to stay. `prepare`: runs before the copy is at
 * `old`.
 */
async function waiting(old: string, others: readonly string[] = [], prepare: (tree: WholeTree) => void = () => {}) {
  const relays = ['', 'eu', 'eu~1', 'us', ...(old === 'eu:r:old' ? ['eu:r'] : [])];
  const agents = [old, ...others, 'us:new'];
  const tree = new WholeTree({ relays, agents, labels: (agent) => ({ site: lastOf(agent) }) });
  await tree.start();
  await tree.run(100);
  prepare(tree);
  tree.apply('', 'retail', ...till, tillAt(['old'], move));
  await tree.until('the old one has it', () => tillOf(tree, old) !== undefined);
  await tree.run(3_000);
  tree.kill('us:new');
  tree.apply('', 'retail', tillAt(['new'], move));
  await tree.run(3_000);
  return tree;
}

/** The new place is there, and the copy moves to it. */
async function isMade(tree: WholeTree, old: string): Promise<void> {
  await tree.start('us:new');
  await tree.until('it is made', () => tillOf(tree, 'us:new') !== undefined && tillOf(tree, old) === undefined);
}

function hasPlacement(tree: WholeTree, relay: string): boolean {
  return Rows.of(tree.backup(relay), (rows) => rows.entry('upstream', 'p/center.retail/shop')) !== undefined;
}

/** No node reports anything more about the copy. The node checks again by itself what the replicas were not allowed to lose meanwhile. */
function untilNoneHasIt(tree: WholeTree): Promise<void> {
  const none = () => !hasPlacement(tree, 'eu') && !hasPlacement(tree, 'eu~1');
  return tree.until('none of the replicas has the placement any more', none);
}

describe('an old copy', () => {
  it.each(['eu:old', 'eu:r:old'].flatMap((old) => [0, 50, 100, 500, 1_000].map((ms) => ({ old, ms }))))(
    'stays when its holder goes from one replica to another and back while both are there: $old, after 3 s and $ms ms',
    async ({ old, ms }) => {
      const movingNode = old === 'eu:old' ? old : 'eu:r';
      const tree = await waiting(old);
      const uid = tillOf(tree, old);
      for (const [from, to] of [
        ['eu', 'eu~1'],
        ['eu~1', 'eu'],
        ['eu', 'eu~1'],
      ] as const) {
        tree.cut(movingNode, from);
        await tree.run(3_000 + ms);
        expect([to, tillOf(tree, old)]).toEqual([to, uid]);
        tree.mend(movingNode, from);
        await tree.run(1_000);
      }
      await isMade(tree, old);
      await untilNoneHasIt(tree);
    },
  );

  it.each([0, 5, 10, 15, 20, 25, 30, 35].flatMap((ms) => [0, 1_500].map((awayMs) => ({ ms, awayMs }))))(
    'stays when the parent is killed $ms ms after its holder came to the other replica, for $awayMs ms',
    async ({ ms, awayMs }) => {
      const old = 'eu:old';
      const tree = await waiting(old);
      const uid = tillOf(tree, old);
      const calls = tree.calls(old);
      tree.cut(old, 'eu');
      await tree.until('it goes over', () => tree.calls(old) > calls);
      await tree.run(ms);
      tree.kill('');
      await tree.run(awayMs);
      await tree.start('');
      await tree.run(15_000);
      expect(tillOf(tree, old)).toBe(uid);
      await isMade(tree, old);
      await untilNoneHasIt(tree);
    },
  );

  it('leaves its placement at a replica no longer than a silent replica may delay a change of owners', async () => {
    const [old, other] = ['eu:old', 'eu:other'];
    const tree = await waiting(old, [other], (before) => before.cut(other, 'eu'));
    // The other replica has to take over, and the former replica reports nothing about that.
    tree.stop('eu~1');
    tree.mend(other, 'eu');
    tree.cut(other, 'eu~1');
    const calls = tree.calls(other);
    await tree.until('it goes over', () => tree.calls(other) > calls);
    await isMade(tree, old);
    await tree.run(2_000);
    expect(hasPlacement(tree, 'eu')).toBe(true);
    await tree.run(10_000);
    expect(hasPlacement(tree, 'eu')).toBe(false);
    tree.goOn('eu~1');
    await untilNoneHasIt(tree);
  });
});
