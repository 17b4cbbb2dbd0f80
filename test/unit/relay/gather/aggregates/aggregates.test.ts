import { describe, expect, it } from 'vitest';
import { parseKey } from '../../../../../core/object/key.ts';
import type { Condition, KubeObject } from '../../../../../core/object/meta.ts';
import { WholeTree } from '../../../../support/whole-tree.ts';

const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
const web = (replicas: number, image = 'web:1'): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop' },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image }] } },
  },
});
const placement = (more: object = {}): KubeObject => ({
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'EdgePlacement',
  metadata: { name: 'shop' },
  spec: {
    locationSelectors: [{ matchLabels: { env: 'prod' } }],
    downsync: [{ apiGroup: '*', resources: ['*'], namespaces: ['shop'] }],
    ...more,
  },
});
const webKey = parseKey('apps/deployments/shop/web');

interface DeploymentStatus {
  readonly observedGeneration?: number;
  readonly replicas?: number;
  readonly availableReplicas?: number;
  readonly conditions?: readonly Condition[];
}

async function shop(...objects: KubeObject[]): Promise<WholeTree> {
  const tree = new WholeTree({ relays: ['', 'eu', 'us'], agents: ['eu:a', 'eu:b', 'us:c'] });
  await tree.start();
  await tree.run(3_000);
  tree.apply('', 'retail', namespace, ...objects);
  return tree;
}

function statusOf(tree: WholeTree, key = webKey): DeploymentStatus | undefined {
  return tree.space('', 'retail').get(key)?.status as DeploymentStatus | undefined;
}

function conditionOf(tree: WholeTree, type: string, key = webKey): Condition | undefined {
  return statusOf(tree, key)?.conditions?.find((condition) => condition.type === type);
}

describe('the status of a Deployment at three destinations', () => {
  it('says that it is available when it is available at all, with the generation of the space', async () => {
    const tree = await shop(web(2), placement());
    await tree.until('the Deployment is available', () => conditionOf(tree, 'Available')?.status === 'True');
    expect(statusOf(tree)).toMatchObject({ observedGeneration: 1, replicas: 2, availableReplicas: 2 });
    expect(conditionOf(tree, 'Available')?.message).toBe('6 of 6 replicas are available at 3 destinations');
  });
});
