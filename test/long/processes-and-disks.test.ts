/** Faults of processes and disks: a relay stands still for two minutes; the center is killed again and again during its writes; and disks are full. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NodeApiClient } from '../../center/cli/api-client.ts';
import { Counter } from '../e2e/counter.ts';
import { LocalTree, until, untilAnswered } from '../e2e/local-tree.ts';
import { shopAndHq, Till, tillAtFirst } from '../e2e/till.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { SmallDisk, withoutSmallDisk } from '../support/small-disk.ts';

const lacking = [withoutSmallDisk, withoutKubectl].filter((reason) => reason !== undefined).join('; ');
const why = lacking === '' ? '' : ` [not run: ${lacking}]`;
const space = 'space/center/retail';
const clusters = ['eu:shop', 'hq'];
const kills = 10;
const writers = 8;
const standsStillMs = 120_000;
/** Less than the free space that the store requires before a write. */
const leftBytes = 4 * 2 ** 20;
const diskMegabytes = 64;

describe.skipIf(lacking !== '')(`processes that are stopped and killed, and disks that are full${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-processes-'));
  const disks = new Map<string, SmallDisk>();
  let tree: LocalTree;
  let api: NodeApiClient;
  let till: Till;
  let stoppedAtMs = 0;
  let before: (string | undefined)[] = [];

  beforeAll(async () => {
    const file = join(directory, 'topology.yaml');
    writeFileSync(file, shopAndHq('processes'));
    tree = new LocalTree(file);
    for (const node of ['center', 'eu', 'hq']) {
      disks.set(node, new SmallDisk(join(tree.data, 'nodes', node), diskMegabytes));
    }
    await tree.up();
    api = new NodeApiClient(join(tree.data, 'kubeconfig'));
    till = new Till(api, space);
    expect(tree.apply(space, tillAtFirst()).code).toBe(0);
    await untilAnswered('it is everywhere', () => everywhere('word', 'first'));
    before = await uids();
    process.kill(tree.pid('eu'), 'SIGSTOP');
    stoppedAtMs = performance.now();
  });
  afterAll(async () => {
    api?.close();
    if (tree) process.kill(tree.pid('eu'), 'SIGCONT');
    await tree?.down();
    for (const disk of disks.values()) disk[Symbol.dispose]();
    await tree?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  const text = (context: string, name: string) => till.text(context, name);
  const everywhere = async (name: string, expected: string) => {
    const texts = await Promise.all(clusters.map((cluster) => text(`cluster/${cluster}`, name)));
    return texts.every((one) => one === expected);
  };
  const log = (node: string) => readFileSync(join(tree.data, 'logs', `${node}.log`), 'utf8');
  const uids = () => Promise.all(clusters.map((cluster) => till.uid(`cluster/${cluster}`, 'word')));

  it('a center that is killed during its writes has everything that it acknowledged', async () => {
    const counters = Array.from(
      { length: writers },
      (_, i) => new Counter((value) => till.write(`c${i}`, String(value))),
    );
    for (let round = 0; round < kills; round++) {
      for (const counter of counters) counter.start();
      const enough = counters[0]!.acknowledged + 3;
      await untilAnswered('writes go on', async () => counters[0]!.acknowledged >= enough);
      // At any moment of a write: the point at which the signal comes is random.
      await new Promise((done) => setTimeout(done, Math.random() * 50));
      const pid = tree.pid('center');
      tree.kill('center');
      await Promise.all(counters.map((counter) => counter.end()));
      await until('the center is started again', () => tree.pid('center') !== pid);
      await untilAnswered('it answers', async () => (await text(space, 'c0')) !== undefined);
      for (const [i, { acknowledged, tried }] of counters.entries()) {
        const stored = Number((await text(space, `c${i}`)) ?? 0);
        expect(stored, `c${i} after kill ${round}`).toBeGreaterThanOrEqual(acknowledged);
        expect(stored, `c${i} after kill ${round}`).toBeLessThanOrEqual(tried);
      }
    }
    expect(counters.reduce((sum, { acknowledged }) => sum + acknowledged, 0)).toBeGreaterThan(kills * writers);
    const last = await Promise.all(counters.map((_, i) => text(space, `c${i}`)));
    await untilAnswered('the agent beside it has the same', async () => {
      const there = await Promise.all(last.map((_, i) => text('cluster/hq', `c${i}`)));
      return there.every((one, i) => one === last[i]);
    });
  });

  it('a center on a full disk refuses writes, says why, still serves reads, and continues when there is room', async () => {
    disks.get('center')!.fill(leftBytes);
    await untilAnswered('a write is refused', () =>
      till.write('word', 'too much').then(
        () => false,
        (error: Error) => /free|full|space/i.test(error.message),
      ),
    );
    expect(await text(space, 'word')).toBe('first');
    disks.get('center')!.free();
    await untilAnswered('a write is taken', () => till.write('word', 'second').then(() => true));
    await untilAnswered('it has come', async () => (await text('cluster/hq', 'word')) === 'second');
  });

  it('an agent on a full disk keeps its objects, and applies the later changes when there is room', async () => {
    disks.get('hq')!.fill(leftBytes);
    await till.write('word', 'third');
    await till.write('more', 'x'.repeat(100_000));
    expect(await text('cluster/hq', 'word')).toBe('second');
    disks.get('hq')!.free();
    await untilAnswered('it has come', async () => (await text('cluster/hq', 'word')) === 'third');
    expect((await uids())[1]).toBe(before[1]);
  });

  it('a relay that was stopped for two minutes comes back with its children, and nothing was deleted', async () => {
    const shop = async () => tree.ok('cluster/eu:shop', 'get', '--raw', '/metrics');
    await untilAnswered(
      'its agent has given it up',
      async () => (await shop()).includes('banyan_agent_attached 0'),
      120,
    );
    expect(await text('cluster/eu:shop', 'word')).toBe('first');
    await new Promise((done) => setTimeout(done, Math.max(0, stoppedAtMs + standsStillMs - performance.now())));
    process.kill(tree.pid('eu'), 'SIGCONT');
    await untilAnswered('all is everywhere', () => everywhere('word', 'third'), 90);
    expect(await uids()).toEqual(before);
  }, 300_000);

  it('a relay on a full disk passes on the delayed changes when there is room', async () => {
    const pid = tree.pid('eu');
    disks.get('eu')!.fill(leftBytes);
    await till.write('word', 'fourth');
    // A removed child makes several rooms of the relay write.
    tree.kill('eu:shop');
    await untilAnswered('the other branch has it', async () => (await text('cluster/hq', 'word')) === 'fourth');
    await untilAnswered('its agent is back', async () => (await text('cluster/eu:shop', 'word')) === 'third');
    await until('it says so', () => /"eu".*cannot write to the store/.test(log('eu')));
    // Each of them tries again after a second.
    await new Promise((done) => setTimeout(done, 3_000));
    disks.get('eu')!.free();
    await untilAnswered('it is everywhere', () => everywhere('word', 'fourth'), 90);
    expect(tree.pid('eu')).toBe(pid);
    expect(log('eu')).toContain('the store has room again');
    expect(await uids()).toEqual(before);
  });

  it('a relay on a full disk ends in order when it gets a signal, and is back when there is room', async () => {
    disks.get('eu')!.fill(leftBytes);
    process.kill(tree.pid('eu'), 'SIGTERM');
    await until('it has ended', () => /\beu ended: /.test(tree.output));
    expect(tree.output).toMatch(/\beu ended: exit code 0;/);
    disks.get('eu')!.free();
    await till.write('word', 'fifth');
    await untilAnswered('it is everywhere', () => everywhere('word', 'fifth'), 90);
    expect(await uids()).toEqual(before);
  });
});
