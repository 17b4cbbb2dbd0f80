import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { WholeTree } from '../../../support/whole-tree.ts';

const agents = ['eu:fr:paris:store-1', 'eu:fr:paris:store-2', 'eu:fr:paris:store-3'];
const relays = ['', 'eu', 'eu~1', 'eu:fr', 'eu:fr:paris', 'eu:fr:paris~1'];
const placement = (name: string): KubeObject => ({
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'EdgePlacement',
  metadata: { name },
  spec: { locationSelectors: [{}], downsync: [{ apiGroup: '', resources: ['configmaps'], namespaces: ['shop'] }] },
});

function expectedOf(tree: WholeTree, name: string): number {
  const key = { group: 'edge.banyan.io', resource: 'edgeplacements', namespace: '', name };
  const status = tree.space('', 'retail').get(key)?.status as { summary?: { expected: number } } | undefined;
  return status?.summary?.expected ?? 0;
}

/** Waits until all are counted. Returns the highest count on the way and in the time after that. */
async function mostCounted(tree: WholeTree, name: string): Promise<number> {
  let most = 0;
  await tree.until('all are counted', () => {
    most = Math.max(most, expectedOf(tree, name));
    return expectedOf(tree, name) === agents.length;
  });
  for (let i = 0; i < 300; i++) {
    await tree.run(5);
    most = Math.max(most, expectedOf(tree, name));
  }
  return most;
}

describe('the Locations below replicas', () => {
  it('are counted once while their nodes start one after the other', async () => {
    const order = ['eu:fr:paris~1', 'eu:fr:paris', 'eu', 'eu:fr', ...agents, 'eu~1'];
    const tree = await new WholeTree({ relays, agents }).start('');
    tree.apply('', 'retail', placement('early'));
    for (const id of order) {
      await tree.start(id);
      await tree.run(100);
      tree.apply('', 'retail', placement(`with-${id.replaceAll(/[:~]/g, '-')}`));
      await tree.run(100);
      expect(expectedOf(tree, 'early')).toBeLessThanOrEqual(agents.length);
    }
    tree.apply('', 'retail', placement('late'));
    expect(await mostCounted(tree, 'late')).toBe(agents.length);
  });

  it('are counted once by a node that starts while the last reports of one replica are left out', async () => {
    const tree = await new WholeTree({ relays, agents }).start();
    await tree.run(1_500);
    tree.kill('eu:fr:paris');
    await tree.run(5_000);
    tree.kill('eu:fr');
    await tree.start('eu:fr');
    await tree.run(1_500);
    tree.apply('', 'retail', placement('late'));
    expect(await mostCounted(tree, 'late')).toBe(agents.length);
  });
});

describe('Node objects of replicas, and of relays below them', () => {
  it('stay the same when their node starts again, and when the replica comes back that was away', async () => {
    const tree = await new WholeTree({ relays: ['', 'eu', 'eu~1', 'eu:lyon'], agents: [] }).start();
    const nodeOf = (name: string) =>
      tree.space('').get({ group: 'mesh.banyan.io', resource: 'nodes', namespace: '', name });
    const stateOf = (name: string) => (nodeOf(name)?.status as { session?: { state?: string } })?.session?.state;
    await tree.until('all are shown', () => stateOf('eu.lyon') === 'Connected' && stateOf('eu--1') === 'Connected');
    tree.kill('eu');
    await tree.until('the session is shown as ended', () => stateOf('eu') === 'Disconnected');
    await tree.run(5_000);
    expect(stateOf('eu.lyon')).toBe('Connected');
    const uids = () => ['eu', 'eu--1', 'eu.lyon'].map((name) => nodeOf(name)?.metadata.uid);
    const before = uids();
    tree.kill('');
    await tree.start('');
    await tree.run(5_000);
    expect(uids()).toEqual(before);
    await tree.start('eu');
    await tree.run(5_000);
    expect(uids()).toEqual(before);
    expect(stateOf('eu.lyon')).toBe('Connected');
  });
});
