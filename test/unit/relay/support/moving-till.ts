/** One object that moves from place to place, by labels `site` of agents. */
import type { JsonObject, KubeObject } from '../../../../core/object/meta.ts';
import type { WholeTree } from '../../../support/whole-tree.ts';

const key = { group: '', resource: 'configmaps', namespace: 'shop', name: 'till' };

/** The object of the placement. */
export const till: readonly KubeObject[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: key.namespace } },
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: key.name, namespace: key.namespace }, data: {} },
];

/** `sites`: any of them; none: everywhere. */
export function tillAt(sites: readonly string[], move: JsonObject): KubeObject {
  return {
    apiVersion: 'edge.banyan.io/v1alpha1',
    kind: 'EdgePlacement',
    metadata: { name: 'shop' },
    spec: {
      locationSelectors: sites.length === 0 ? [{}] : sites.map((site) => ({ matchLabels: { site } })),
      downsync: [{ apiGroup: '', resources: ['configmaps'], namespaces: [key.namespace] }],
      move,
    },
  };
}

/** The copy on an agent's cluster; undefined if there is none. */
export function tillOf(tree: WholeTree, agent: string): string | undefined {
  return tree.cluster(agent).get(key)?.metadata.uid;
}
