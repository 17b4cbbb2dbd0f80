/** Which copies a fleet has: placed objects, objects that these own, and objects that were created at clusters, also of kinds that only clusters have. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { WholeTree } from '../../../support/whole-tree.ts';
import { asTable, FleetClient, pathOf, placesOf } from './fleet-client.ts';
import { deployment } from './fleet-workload.ts';

const agents = ['eu:paris:s1', 'eu:paris:s2', 'hq'];

const placement: KubeObject = {
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'EdgePlacement',
  metadata: { name: 'shop' },
  spec: {
    locationSelectors: [{ matchLabels: { env: 'prod' } }],
    downsync: [{ apiGroup: '*', resources: ['*'], namespaces: ['shop'] }],
    associated: [{ apiGroup: '', resources: ['pods'] }],
    upsync: [{ apiGroup: 'wgpolicyk8s.io', resources: ['policyreports'], namespaces: ['shop'] }],
  },
};

const definition: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'policyreports.wgpolicyk8s.io' },
  spec: {
    group: 'wgpolicyk8s.io',
    scope: 'Namespaced',
    names: { plural: 'policyreports', singular: 'policyreport', kind: 'PolicyReport', listKind: 'PolicyReportList' },
    versions: [
      {
        name: 'v1alpha2',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};

function report(fail: number): KubeObject {
  return {
    apiVersion: 'wgpolicyk8s.io/v1alpha2',
    kind: 'PolicyReport',
    metadata: { name: 'till', namespace: 'shop', labels: { engine: 'kyverno' } },
    summary: { fail },
  };
}

let tree: WholeTree;
let client: FleetClient;

beforeAll(async () => {
  tree = await new WholeTree({ relays: ['', 'eu', 'eu:paris'], agents }).start();
  client = new FleetClient(tree);
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
  tree.apply('', 'retail', namespace, deployment('till', 2), placement);
  await tree.run(2_000);
  for (const [i, agent] of ['eu:paris:s1', 'hq'].entries()) {
    tree.cluster(agent).create(definition);
    tree.cluster(agent).create(report(i));
  }
  await tree.run(5_000);
});

describe('a fleet', () => {
  it('has the objects that placed objects own, with the uids of their clusters', async () => {
    const { body } = await client.get('', '/fleet/retail/api/v1/pods?labelSelector=app%3Dtill', asTable);
    expect(body.rows.map(({ cells }) => cells[1])).toEqual(agents.flatMap((path) => [path, path]));
    expect(new Set(body.rows.map(({ object }) => object.metadata.uid)).size).toBe(2 * agents.length);
    const { body: running } = await client.get('', '/fleet/retail/api/v1/pods?fieldSelector=status.phase%3DRunning');
    expect(running.items).toHaveLength(2 * agents.length);
    const { body: none } = await client.get('', '/fleet/retail/api/v1/pods?fieldSelector=status.phase%3DFailed');
    expect(none.items).toEqual([]);
  });

  it('has objects that were created at clusters, of kinds that only clusters have, and discovers these kinds', async () => {
    const reports = '/fleet/retail/apis/wgpolicyk8s.io/v1alpha2/policyreports';
    const { body } = await client.get('', reports);
    expect(placesOf(body)).toEqual(['eu.paris.s1 shop/till', 'hq shop/till']);
    expect(body.items.map(({ summary }) => summary)).toEqual([{ fail: 0 }, { fail: 1 }]);
    const { body: groups } = await client.get('', '/fleet/retail/apis');
    expect(JSON.stringify(groups)).toContain('wgpolicyk8s.io');
    const { body: table } = await client.get(
      'eu',
      '/fleet/center.retail/apis/wgpolicyk8s.io/v1alpha2/policyreports',
      asTable,
    );
    expect(table.columnDefinitions.map(({ name }) => name)).toEqual(['Name', 'Cluster', 'Age', 'Stale']);
    expect(table.rows.map(({ cells }) => cells.slice(0, 2))).toEqual([['till', 'eu:paris:s1']]);
  });

  it('reports changes of these objects, and their ends', async () => {
    const watched = client.watch(
      '',
      '/fleet/retail/apis/wgpolicyk8s.io/v1alpha2/policyreports?labelSelector=engine%3Dkyverno',
    );
    await tree.run(1_000);
    expect(watched.lines.sort()).toEqual(['ADDED eu.paris.s1 till', 'ADDED hq till']);
    const key = { group: 'wgpolicyk8s.io', resource: 'policyreports', namespace: 'shop', name: 'till' };
    tree.cluster('eu:paris:s1').patch(key, { type: 'merge', patch: { summary: { fail: 9 } } });
    await tree.run(2_000);
    const changed = watched.events.at(-1)!;
    expect(changed).toMatchObject({ type: 'MODIFIED', object: { summary: { fail: 9 } } });
    tree.cluster('eu:paris:s1').delete(key);
    await tree.run(2_000);
    expect(watched.lines.at(-1)).toBe('DELETED eu.paris.s1 till');
    watched.end();
  });

  it('has metadata alone for clients that want no more', async () => {
    const accept = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
    const { body } = await client.get('', '/fleet/retail/apis/apps/v1/deployments', accept);
    expect(body.kind).toBe('PartialObjectMetadataList');
    expect(body.items.map(pathOf)).toEqual(agents.map((path) => path.replaceAll(':', '.')));
    for (const item of body.items) {
      expect(Object.keys(item).sort()).toEqual(['apiVersion', 'kind', 'metadata']);
      expect(item.metadata.resourceVersion).toMatch(/^\d+$/);
    }
  });

  it('ends a copy whose object was made anew, and begins the new one', async () => {
    const watched = client.watch('', '/fleet/retail/apis/apps/v1/deployments?at=hq');
    await tree.run(1_000);
    const uid = watched.events[0]!.object.metadata.uid;
    watched.events.length = 0;
    const key = { group: 'apps', resource: 'deployments', namespace: 'shop', name: 'till' };
    tree.space('', 'retail').delete(key);
    tree.apply('', 'retail', deployment('till', 1));
    await tree.run(3_000);
    const ended = watched.events.findIndex(({ type, object }) => type === 'DELETED' && object.metadata.uid === uid);
    const begun = watched.events.findIndex(({ type, object }) => type === 'ADDED' && object.metadata.uid !== uid);
    expect(ended).toBeGreaterThanOrEqual(0);
    expect(begun).toBeGreaterThan(ended);
    watched.end();
  });

  it('shows the objects of a cluster that joins while somebody watches, and ends those of one that leaves', async () => {
    const watched = client.watch('', '/fleet/retail/apis/apps/v1/deployments');
    await tree.run(1_000);
    watched.events.length = 0;
    const location = { group: 'inventory.banyan.io', resource: 'locations', namespace: '', name: 's2' };
    tree.space('eu:paris').patch(location, { type: 'merge', patch: { metadata: { labels: { env: 'lab' } } } });
    await tree.until('the end', () => watched.lines.includes('DELETED eu.paris.s2 till'));
    tree.space('eu:paris').patch(location, { type: 'merge', patch: { metadata: { labels: { env: 'prod' } } } });
    await tree.until('the beginning', () => watched.lines.includes('ADDED eu.paris.s2 till'));
    watched.end();
  });

  it('ends the copies of a cluster that is removed from the tree, and shows them when the cluster is admitted again', async () => {
    const watched = client.watch('', '/fleet/retail/apis/apps/v1/deployments');
    await tree.run(1_000);
    watched.events.length = 0;
    const key = { group: 'inventory.banyan.io', resource: 'synctargets', namespace: '', name: 's2' };
    const syncTarget = tree.space('eu:paris').get(key)!;
    tree.space('eu:paris').delete(key);
    await tree.until('the end', () => watched.lines.includes('DELETED eu.paris.s2 till'));
    const { name, labels } = syncTarget.metadata;
    tree.space('eu:paris').create({ ...syncTarget, metadata: { name: name!, ...(labels ? { labels } : {}) } });
    await tree.until('the beginning', () => watched.lines.includes('ADDED eu.paris.s2 till'));
    const { body } = await client.get('', '/fleet/retail/apis/apps/v1/deployments');
    expect(body.items.map(pathOf)).toEqual(agents.map((path) => path.replaceAll(':', '.')));
    watched.end();
  });
});
