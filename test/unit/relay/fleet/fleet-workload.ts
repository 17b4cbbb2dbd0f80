/** The workload of the tests of fleets: a Deployment in a space, placed at every cluster. */
import type { KubeObject } from '../../../../core/object/meta.ts';
import { WholeTree } from '../../../support/whole-tree.ts';
import { FleetClient } from './fleet-client.ts';

export const agents = ['eu:paris:s1', 'eu:paris:s2', 'eu:s3', 'hq', 'us:s4'];
/** The agents as the label of a copy names them. */
export const dotted = agents.map((path) => path.replaceAll(':', '.'));
export const deployments = '/fleet/retail/apis/apps/v1/deployments';

/** A tree of three levels. Each of its clusters has an available copy of each Deployment of the space. */
export async function fleetTree(...more: KubeObject[]): Promise<{ tree: WholeTree; client: FleetClient }> {
  const tree = await new WholeTree({ relays: ['', 'eu', 'eu:paris', 'us'], agents }).start();
  const client = new FleetClient(tree);
  tree.apply('', 'retail', ...placed(), ...more);
  const expected = agents.length * (1 + more.filter(({ kind }) => kind === 'Deployment').length);
  const available = async () => (await client.get('', deployments)).body.items.filter(isAvailable).length;
  for (let i = 0; i < 100 && (await available()) < expected; i++) await tree.run(100);
  return { tree, client };
}

function isAvailable({ status }: KubeObject): boolean {
  return (status as { availableReplicas?: number } | undefined)?.availableReplicas === 1;
}

export function placed(name = 'till', replicas = 1): KubeObject[] {
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
    deployment(name, replicas),
    {
      apiVersion: 'edge.banyan.io/v1alpha1',
      kind: 'EdgePlacement',
      metadata: { name: 'shop' },
      spec: {
        locationSelectors: [{ matchLabels: { env: 'prod' } }],
        downsync: [{ apiGroup: '*', resources: ['*'], namespaces: ['shop'] }],
      },
    },
  ];
}

export function deployment(name: string, replicas: number, labels: Record<string, string> = {}): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'shop', labels: { app: name, ...labels } },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: 'c', image: 'shop/till:1' }] },
      },
    },
  };
}
