import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LocalTree, until } from '../e2e/local-tree.ts';
import { buildMsMax } from '../e2e/one-site.ts';
import { RealCluster } from '../e2e/real-cluster.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const missing = withoutKubectl ?? withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
const retail = 'space/center/retail';
const crd = 'tills.shop.example.com';

interface Shown {
  readonly metadata: { readonly uid: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec: { readonly versions: readonly object[] };
  readonly status?: { readonly display?: string };
}

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: crd },
  spec: {
    group: 'shop.example.com',
    scope: 'Namespaced',
    names: { plural: 'tills', singular: 'till', kind: 'Till', listKind: 'TillList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};
const till = (name: string, namespace: string) => ({
  apiVersion: 'shop.example.com/v1',
  kind: 'Till',
  metadata: { name, namespace },
  spec: { floor: 1 },
});
/** Pods need it. */
const labels = { 'pod-security.kubernetes.io/enforce': 'privileged' };
const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop', labels } };
const place = (rules: object = {}) => ({
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'EdgePlacement',
  metadata: { name: 'shop' },
  spec: {
    locationSelectors: [{ matchLabels: { env: 'prod' } }],
    downsync: [{ apiGroup: 'shop.example.com', resources: ['tills'], namespaces: ['shop'] }],
    ...rules,
  },
});

/** A definition travels with the objects that need it, without being asked for; all objects of its kind in the cluster depend on it. */
describe.skipIf(missing)(`definitions on a real cluster when a placement goes${why}`, () => {
  let cluster: RealCluster;
  let tree: LocalTree;
  const site = (args: readonly string[], ...items: object[]) => cluster.kubectl(args, ...items);
  const there = (...names: string[]) => cluster.there<Shown>(...names);
  const isMarked = (object: Shown | undefined) => object?.metadata.labels?.['banyan.io/managed'] === 'true';
  const deliver = async (rules: object = {}) => {
    tree.apply(retail, place(rules));
    await until('it is there', () => tree.json<Shown>(retail, 'epl', 'shop')?.status?.display === 'available 1/1');
    expect(isMarked(there('till', 'ours', '-n', 'shop'))).toBe(true);
  };
  const unplace = async () => {
    tree.ok(retail, 'delete', 'epl', 'shop');
    await until('what was placed has gone', () => there('till', 'ours', '-n', 'shop') === undefined);
  };

  beforeAll(async () => {
    cluster = await RealCluster.start('definitions', { relay: 'eu' });
    tree = cluster.tree;
    for (const object of [namespace, definition]) tree.apply(retail, object);
    await until('the kind is served', () => tree.kubectl(retail, ['get', 'tills', '-n', 'shop']).code === 0);
    tree.apply(retail, till('ours', 'shop'));
  }, buildMsMax);
  afterAll(() => cluster?.[Symbol.asyncDispose]());

  it('are removed if nobody else has objects of the kind', async () => {
    await deliver();
    await unplace();
    await until('the definition has gone', () => there('crd', crd) === undefined);
    await until('the namespace has gone', () => there('namespace', 'shop') === undefined);
  });

  it('stay while the site has an object of the kind, in any namespace, and belong to the site from then on', async () => {
    await deliver();
    site(['create', '-f', '-'], till('theirs', 'default'));
    const { uid } = there('till', 'theirs', '-n', 'default')!.metadata;
    await unplace();
    await until('the definition is nobody’s', () => !isMarked(there('crd', crd)));
    await until('the namespace has gone', () => there('namespace', 'shop') === undefined);
    expect(there('crd', crd)?.spec.versions).toHaveLength(1);
    expect(there('till', 'theirs', '-n', 'default')?.metadata.uid).toBe(uid);
  });

  it('stay unchanged if the site had them before', async () => {
    const before = there('crd', crd)!;
    expect(isMarked(before)).toBe(false);
    await deliver();
    expect(isMarked(there('crd', crd))).toBe(true);
    await unplace();
    await until('the definition is nobody’s again', () => !isMarked(there('crd', crd)));
    expect(there('crd', crd)?.metadata.uid).toBe(before.metadata.uid);
    expect(there('crd', crd)?.spec).toEqual(before.spec);
    site(['delete', 'crd', crd]);
  });

  it('stay with their namespace and without a mark if the placement says Orphan', async () => {
    await deliver({ deletion: { propagationPolicy: 'Orphan' } });
    await unplace();
    await until('the definition is nobody’s', () => there('crd', crd) !== undefined && !isMarked(there('crd', crd)));
    await until('the namespace is nobody’s', () => !isMarked(there('namespace', 'shop')));
    expect(there('namespace', 'shop')?.metadata.labels).toMatchObject(labels);
  });
});
