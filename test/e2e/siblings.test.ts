import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture, LocalTree, until, withoutKubectl } from './local-tree.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const clusters = ['eu:fr:paris:store-1', 'eu:fr:paris:store-2', 'eu:fr:paris:store-3', 'eu:de:store-4'];
const space = 'space/center/retail';

interface Shown {
  metadata: { uid: string; annotations?: Record<string, string> };
  status?: { summary?: Record<string, number> };
}

describe.skipIf(withoutKubectl)(`siblings in the middle and at the last hop${why}`, () => {
  const tree = new LocalTree('deploy/topologies/siblings.yaml');
  const greeting = (cluster: string) =>
    tree.json<Shown>(`cluster/${cluster}`, 'configmap', 'greeting', '-n', 'guestbook');
  const summary = () => tree.json<Shown>(space, 'epl', 'guestbook')?.status?.summary ?? {};
  const uids = () => clusters.map((cluster) => greeting(cluster)?.metadata.uid);
  const everywhere = (note: string) =>
    clusters.every((cluster) => greeting(cluster)?.metadata.annotations?.note === note);
  const change = (note: string) =>
    tree.ok(space, 'annotate', '--overwrite', 'cm', 'greeting', '-n', 'guestbook', `note=${note}`);
  /** Counts that were seen until all are available again: more than there are would be a place that two siblings count. */
  const untilWhole = async (seen: Record<string, number>[] = []) => {
    await until('all are available, each counted once', () => {
      seen.push(summary());
      expect(seen.at(-1)!.expected ?? 0).toBeLessThanOrEqual(clusters.length);
      return seen.at(-1)!.available === clusters.length && seen.at(-1)!.expected === clusters.length;
    });
  };
  let before: (string | undefined)[] = [];

  beforeAll(() => tree.up('--no-restart'), 120_000);
  afterAll(() => tree[Symbol.asyncDispose](), 60_000);

  it('counts every cluster once, wherever it is attached', async () => {
    tree.ok(space, 'apply', '-f', fixture('docs/examples/guestbook.yaml'));
    await untilWhole();
    before = uids();
  }, 120_000);

  it('goes on with the other ones when one sibling of each level is killed', async () => {
    tree.kill('eu:fr:paris');
    tree.kill('eu');
    change('one-left');
    await until('the change is everywhere', () => everywhere('one-left'));
    await untilWhole();
    expect(uids()).toEqual(before);
  }, 120_000);
});
