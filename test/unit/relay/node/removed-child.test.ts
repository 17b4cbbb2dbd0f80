/** A child that a person removes: every node above forgets it, with everything below it. On virtual time. */
import { describe, expect, it } from 'vitest';
import { type ObjectKey, parseKey } from '../../../../core/object/key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { WholeTree } from '../../../support/whole-tree.ts';

const shop: KubeObject[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'menu', namespace: 'shop' } },
  {
    apiVersion: 'edge.banyan.io/v1alpha1',
    kind: 'EdgePlacement',
    metadata: { name: 'shop' },
    spec: {
      locationSelectors: [{ matchLabels: { env: 'prod' } }],
      downsync: [{ apiGroup: '', resources: ['configmaps'], namespaces: ['shop'] }],
    },
  },
];

/** Below the center: the relay eu with the agent a, and with the relay eu:paris, which has the agents b and c. */
async function runningTree(): Promise<WholeTree> {
  const tree = new WholeTree({ relays: ['', 'eu', 'eu:paris'], agents: ['eu:a', 'eu:paris:b', 'eu:paris:c'] });
  await tree.start();
  tree.apply('', 'retail', ...shop);
  await tree.until('three are available', () => counts(tree)?.available === 3);
  await tree.until(
    'the nodes are shown',
    () => [...named(tree, '', 'eu.paris'), ...named(tree, 'eu', 'eu.')].length === 3,
  );
  return tree;
}

function counts(tree: WholeTree): Record<string, number> | undefined {
  const placement = tree.space('', 'retail').get(parseKey('edge.banyan.io/edgeplacements//shop'));
  return (placement?.status as { summary?: Record<string, number> } | undefined)?.summary;
}

const nodeKey = (name: string): ObjectKey => parseKey(`mesh.banyan.io/nodes//${name}`);

/** The names of all objects at the node that have the word in their names. */
function named(tree: WholeTree, at: string, word: string): string[] {
  const space = tree.space(at);
  return ['mesh.banyan.io/nodes', 'mesh.banyan.io/mailboxes', 'inventory.banyan.io/synctargets'].flatMap((kind) => {
    const [group = '', resource = ''] = kind.split('/');
    return space.storage
      .scan({ group, resource })
      .map(({ key }) => key.name)
      .filter((name) => name.includes(word));
  });
}

const agents = (tree: WholeTree) => (tree.space('').get(nodeKey('center'))?.status as { agents?: number })?.agents;

describe('a relay whose Node object is deleted', () => {
  it('is forgotten at every level while it is away, and its destinations no longer count', async () => {
    const tree = await runningTree();
    for (const id of ['eu:paris', 'eu:paris:b', 'eu:paris:c']) tree.kill(id);
    tree.space('eu').delete(nodeKey('eu.paris'));
    await tree.until(
      'one destination is left',
      () => counts(tree)?.expected === 1 && counts(tree)?.stale === 0,
      10_000,
    );
    await tree.until(
      'nobody shows it',
      () => [...named(tree, '', 'paris'), ...named(tree, 'eu', 'paris')].length === 0,
      10_000,
    );
    await tree.until('the center counts one agent', () => agents(tree) === 1, 10_000);
  });

  it('stays forgotten when every node has started again', async () => {
    const tree = await runningTree();
    for (const id of ['eu:paris', 'eu:paris:b', 'eu:paris:c']) tree.kill(id);
    tree.space('eu').delete(nodeKey('eu.paris'));
    // The deletion is durable, and the nodes end before the removal has gone through the tree.
    await tree.run(20);
    for (const id of ['', 'eu', 'eu:a']) tree.kill(id);
    await tree.start('', 'eu', 'eu:a');
    await tree.until('one destination is left', () => counts(tree)?.available === 1 && counts(tree)?.expected === 1);
    await tree.until(
      'nobody shows it',
      () => [...named(tree, '', 'paris'), ...named(tree, 'eu', 'paris')].length === 0,
    );
    await tree.until('the center counts one agent', () => agents(tree) === 1, 10_000);
  });
});

it('an agent whose Node object is deleted leaves with its SyncTarget, and its objects stay', async () => {
  const tree = await runningTree();
  tree.space('eu').delete(nodeKey('eu.a'));
  await tree.until('two destinations are left', () => counts(tree)?.expected === 2, 10_000);
  await tree.until(
    'eu does not show it',
    () => !named(tree, 'eu', 'a').some((name) => name === 'a' || name === 'eu.a'),
    10_000,
  );
  expect(tree.cluster('eu:a').get(parseKey('/configmaps/shop/menu'))).toBeDefined();
});
