/** Disks that fail to store writes: a process that no longer knows the state of its disk ends, and its next start continues from the stored state. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NodeApiClient } from '../../center/cli/api-client.ts';
import { fixture, LocalTree, until, untilAnswered } from '../e2e/local-tree.ts';
import { shopAndHq, Till, tillAtFirst } from '../e2e/till.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const space = 'space/center/retail';
const clusters = ['cluster/eu:shop', 'cluster/hq'];

describe.skipIf(withoutKubectl)(`a disk that fails once${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-failing-'));
  const before = process.env.NODE_OPTIONS;
  let tree: LocalTree;
  let api: NodeApiClient;
  let till: Till;

  beforeAll(async () => {
    const file = join(directory, 'topology.yaml');
    writeFileSync(file, shopAndHq('failing'));
    process.env.NODE_OPTIONS = `--import ${pathToFileURL(fixture('test/e2e/failing-flush-preload.mjs'))}`;
    tree = new LocalTree(file);
    await tree.up();
    api = new NodeApiClient(join(tree.data, 'kubeconfig'));
    till = new Till(api, space);
    expect(tree.apply(space, tillAtFirst()).code).toBe(0);
    await untilAnswered('it is everywhere', () => everywhere('first'));
  });
  afterAll(async () => {
    if (before === undefined) delete process.env.NODE_OPTIONS;
    else process.env.NODE_OPTIONS = before;
    api?.close();
    await tree?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  const everywhere = async (text: string) => {
    const texts = await Promise.all(clusters.map((cluster) => till.text(cluster, 'word')));
    return texts.every((one) => one === text);
  };
  const nextFlushFails = (node: string) => writeFileSync(join(tree.data, 'config', `${node}.yaml.flush-fails`), '');
  const log = (node: string) => readFileSync(join(tree.data, 'logs', `${node}.log`), 'utf8');

  it.each([
    ['an agent', 'eu.shop', 'eu:shop'],
    ['a relay', 'eu', 'eu'],
  ])(
    'ends %s, and the next start recovers the data that the failed flush lost',
    async (_, node, path) => {
      const pid = tree.pid(path);
      nextFlushFails(node);
      await till.write('word', `past ${node}`);
      await until('it has ended and is started again', () => tree.pid(path) !== pid);
      expect(log(node)).toContain('cannot flush the store');
      // The data that are known to be on the disk, and not the contents of the page cache.
      await until('it is taken up', () => log(node).includes('the store is back at its last flush'));
      await untilAnswered('it is everywhere', () => everywhere(`past ${node}`));
      await until('it is told', () => summary().available === clusters.length);
    },
    90_000,
  );

  const summary = () =>
    tree.json<{ status?: { summary?: Record<string, number> } }>(space, 'edgeplacement', 'till')?.status?.summary ?? {};
});
