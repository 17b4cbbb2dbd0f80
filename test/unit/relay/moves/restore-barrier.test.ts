/** Relays between other relays and their children are restored from an older copy of their store: no node decides a move by the old data. */
import { expect, it } from 'vitest';
import { WholeTree } from '../../../support/whole-tree.ts';
import { till, tillAt, tillOf } from '../support/moving-till.ts';

const sites = { a: 'eu:x:a', b: 'us:b' };

async function shop(strategy: string) {
  const agents = Object.values(sites);
  const labels = (agent: string) => ({ site: agent.slice(-1) });
  const tree = new WholeTree({ relays: ['', 'eu', 'us', 'eu:x'], agents, labels });
  await tree.start();
  await tree.run(100);
  const has = (agent: string) => tillOf(tree, agent) !== undefined;
  const copies = () => agents.filter(has);
  const place = (site: 'a' | 'b') => tree.apply('', 'retail', tillAt([site], { strategy, deadlineSeconds: 36_000 }));
  const is = (site: 'a' | 'b') => copies().join() === sites[site];
  const move = async (site: 'a' | 'b') => {
    place(site);
    await tree.until(`only ${site} has it`, () => is(site));
    await tree.run(1_500);
  };
  const putBack = async (relay: string, backup: ReturnType<WholeTree['backup']>) => {
    tree.kill(relay);
    tree.restore(relay, backup.copy());
    await tree.start(relay);
  };
  /** Runs as long as necessary, with a check at each moment. */
  const until = async (site: 'a' | 'b', holds: () => void) => {
    for (let i = 0; i < 30_000 && !is(site); i++) {
      await tree.run(20);
      holds();
    }
    expect(copies()).toEqual([sites[site]]);
  };
  tree.apply('', 'retail', ...till);
  await move('b');
  return { tree, copies, place, move, putBack, until };
}

it.each([0, 20, 200, 2_000])(
  'a second copy is not made %s ms after the only one has become unknown',
  async (afterMs) => {
    const { tree, copies, place, move, putBack, until } = await shop('BreakBeforeMake');
    const backup = tree.backup('eu');
    await move('a');
    await putBack('eu', backup);
    await tree.run(afterMs);
    place('b');
    await until('b', () => expect(copies().length).toBeLessThan(2));
  },
);

it.each([0, 20, 200, 2_000])('nor after two restores in %s ms', async (afterMs) => {
  const { tree, copies, place, move, putBack, until } = await shop('BreakBeforeMake');
  const backup = tree.backup('eu');
  await move('a');
  await putBack('eu', backup);
  place('b');
  await tree.run(afterMs);
  await putBack('eu', backup);
  await until('b', () => expect(copies().length).toBeLessThan(2));
});

it.each(['BreakBeforeMake', 'MakeBeforeBreak'])(
  'a copy below a relay that does not know it is removed by a grant, and in no other way (%s)',
  async (strategy) => {
    const { tree, copies, place, move, putBack, until } = await shop(strategy);
    const backup = tree.backup('eu');
    await move('a');
    tree.cut('us:b', 'us');
    tree.cut('eu:x:a', 'eu:x');
    await tree.run(9_000);
    place('b');
    await tree.run(4_000);
    await putBack('eu', backup);
    await tree.run(4_000);
    tree.mend('us:b', 'us');
    tree.mend('eu:x:a', 'eu:x');
    const [fewest, most] = strategy === 'BreakBeforeMake' ? [0, 1] : [1, 2];
    await until('b', () => {
      expect(copies().length).toBeGreaterThanOrEqual(fewest);
      expect(copies().length).toBeLessThanOrEqual(most);
    });
  },
);

it('a copy out of reach while the relay above it is restored holds the move until its report arrives', async () => {
  const { tree, copies, place, move, putBack, until } = await shop('BreakBeforeMake');
  const backup = tree.backup('eu:x');
  await move('a');
  tree.cut('eu:x:a', 'eu:x');
  await putBack('eu:x', backup);
  place('b');
  for (let i = 0; i < 3_000; i++) {
    await tree.run(20);
    expect(copies()).toEqual([sites.a]);
  }
  // A start later, only the node's own record shows that its store was restored.
  tree.kill('eu:x');
  await tree.start('eu:x');
  await tree.run(60_000);
  expect(copies()).toEqual([sites.a]);
  tree.mend('eu:x:a', 'eu:x');
  await until('b', () => expect(copies().length).toBeLessThan(2));
});
