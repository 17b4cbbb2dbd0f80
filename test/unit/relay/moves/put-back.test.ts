import { expect, it } from 'vitest';
import type { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { WholeTree } from '../../../support/whole-tree.ts';
import { till, tillAt, tillOf } from '../support/moving-till.ts';

const agents = ['eu:a', 'eu:stays', 'us:b', 'us:stays'];

async function shop(strategy = 'BreakBeforeMake') {
  const tree = new WholeTree({ relays: ['', 'eu', 'us'], agents, labels: (agent) => ({ site: agent.slice(3) }) });
  await tree.start();
  await tree.run(100);
  const has = (agent: string) => tillOf(tree, agent) !== undefined;
  // One destination stays at each relay, so that the relays always have the placement.
  const place = (site: string) =>
    tree.apply('', 'retail', tillAt([site, 'stays'], { strategy, deadlineSeconds: 36_000 }));
  const isAt = (to: string, from: string) =>
    tree.until(`${to} has it and ${from} has not`, () => has(to) && !has(from));
  const move = async (site: 'a' | 'b') => {
    place(site);
    await (site === 'a' ? isAt('eu:a', 'us:b') : isAt('us:b', 'eu:a'));
    await tree.run(1_500);
  };
  const thereAndBack = async (times: number) => {
    for (let i = 0; i < times; i++) {
      await move('b');
      await move('a');
    }
  };
  const putBack = (relay: string, backup: MemoryStore) => {
    tree.kill(relay);
    tree.restore(relay, backup);
  };
  const staysAt = async (site: 'a' | 'b') => {
    for (let i = 0; i < 100; i++) {
      await tree.run(50);
      expect([has('eu:a'), has('us:b')]).toEqual([site === 'a', site === 'b']);
    }
  };
  tree.apply('', 'retail', ...till);
  await move('a');
  return { tree, place, isAt, move, thereAndBack, putBack, staysAt };
}

it.each([1, 2, 3])(
  'a relay that was restored to before %s moves waits for the old copy, and not for an older grant',
  async (times) => {
    const { tree, place, isAt, move, thereAndBack, putBack, staysAt } = await shop();
    await move('b');
    await move('a');
    const backup = tree.backup('us');
    await thereAndBack(times);
    putBack('us', backup);
    tree.cut('eu', '');
    await tree.start('us');
    await tree.run(3_000);
    // The old copy is out of reach and keeps running.
    place('b');
    await staysAt('a');
    tree.mend('eu', '');
    await isAt('us:b', 'eu:a');
  },
);

it.each([0, 1, 2])(
  'a relay that was restored to when it had the copy, and %s more moves, gives the copy to nobody again',
  async (times) => {
    const { tree, place, isAt, move, thereAndBack, putBack, staysAt } = await shop();
    await move('b');
    const backup = tree.backup('us');
    await move('a');
    await thereAndBack(times);
    putBack('us', backup);
    tree.cut('us', '');
    await tree.start('us');
    await staysAt('a');
    tree.mend('us', '');
    await staysAt('a');
    tree.cut('eu', '');
    place('b');
    await staysAt('a');
    tree.mend('eu', '');
    await isAt('us:b', 'eu:a');
    await move('a');
  },
);

it.each([0, 1, 2])(
  'a relay that was restored to before %s moves and one keeps the copy until the new one is available',
  async (times) => {
    const { tree, place, isAt, move, thereAndBack, putBack, staysAt } = await shop('MakeBeforeBreak');
    const backup = tree.backup('eu');
    await thereAndBack(times + 1);
    putBack('eu', backup);
    await tree.start('eu');
    await tree.run(3_000);
    tree.cut('us:b', 'us');
    place('b');
    await staysAt('a');
    tree.mend('us:b', 'us');
    await isAt('us:b', 'eu:a');
    await move('a');
  },
);

it.each([0, 1, 2])(
  'a relay that was restored to when it had no copy, and %s more moves, keeps the copy of its agent',
  async (times) => {
    const { tree, place, isAt, move, thereAndBack, putBack, staysAt } = await shop('MakeBeforeBreak');
    await move('b');
    const backup = tree.backup('eu');
    await move('a');
    await thereAndBack(times);
    putBack('eu', backup);
    tree.cut('eu', '');
    await tree.start('eu');
    await staysAt('a');
    tree.cut('us:b', 'us');
    // The relay has received nothing about a: as far as it knows, the placement always named b.
    place('b');
    await tree.run(2_000);
    tree.mend('eu', '');
    for (let i = 0; i < 5; i++) await staysAt('a');
    tree.mend('us:b', 'us');
    await isAt('us:b', 'eu:a');
    await move('a');
  },
);

it.each([0, 5, 10, 15, 20, 25, 30, 40, 60])(
  'its agent’s report also counts in a second session, if the first one broke after %s ms',
  async (ms) => {
    const { tree, place, isAt, move, putBack, staysAt } = await shop();
    await move('b');
    const backup = tree.backup('us');
    await move('a');
    putBack('us', backup);
    tree.cut('us', '');
    const before = tree.calls('us:b');
    await tree.start('us');
    while (tree.calls('us:b') === before) await tree.run(5);
    await tree.run(ms);
    tree.cut('us:b', 'us');
    await tree.run(100);
    tree.mend('us:b', 'us');
    await staysAt('a');
    tree.mend('us', '');
    await staysAt('a');
    tree.cut('eu', '');
    place('b');
    for (let i = 0; i < 3; i++) await staysAt('a');
    tree.mend('eu', '');
    await isAt('us:b', 'eu:a');
  },
);
