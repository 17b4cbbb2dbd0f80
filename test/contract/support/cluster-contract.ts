/** The promises of `Cluster`, on any implementation. Each suite has a namespace of its own. */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { ObjectKey } from '../../../core/object/key.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import type { Cluster, ClusterEvent, ClusterQuery } from '../../../edge-agent/cluster/cluster.ts';
import { isMarked, marked, withoutOwnership } from '../../../edge-agent/cluster/mark.ts';

const configMaps = { group: '', resource: 'configmaps' };
const waitMsMax = 20_000;

export function clusterContract(start: () => Cluster): void {
  const namespace = `contract-${randomBytes(4).toString('hex')}`;
  const keyOf = (name: string): ObjectKey => ({ ...configMaps, namespace, name });
  const configMap = (name: string, data: Record<string, string>): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace },
    data,
  });

  test('an applied object exists with the applied fields, and has a uid', async () => {
    const cluster = start();
    await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    const applied = await cluster.apply(configMap('applied', { a: '1' }));
    expect(applied).toMatchObject({ kind: 'ConfigMap', data: { a: '1' } });
    expect(applied.metadata.uid).toBeTruthy();
    expect(await cluster.get(keyOf('applied'))).toMatchObject({ data: { a: '1' } });
  });

  test('applying the same object again changes nothing, and applying fewer fields removes the others', async () => {
    const cluster = start();
    const first = await cluster.apply(configMap('less', { a: '1', b: '2' }));
    const again = await cluster.apply(configMap('less', { a: '1', b: '2' }));
    expect(again.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    expect(await cluster.apply(configMap('less', { b: '2' }))).toMatchObject({ data: { b: '2' } });
    expect((await cluster.get(keyOf('less')))?.data).toEqual({ b: '2' });
  });

  test('a missing object is undefined, and removing it is no error', async () => {
    const cluster = start();
    expect(await cluster.get(keyOf('nobody'))).toBeUndefined();
    expect(await cluster.remove(keyOf('nobody'), 'Background')).toBe(false);
    expect(await cluster.get({ group: 'none.example', resource: 'things', namespace, name: 'x' })).toBeUndefined();
    expect(await cluster.resourceOf('none.example/v1', 'Thing')).toBeUndefined();
  });

  test('an object is removed by its uid, and not another one of the same name', async () => {
    const cluster = start();
    const { metadata } = await cluster.apply(configMap('removed', {}));
    await expect(cluster.remove(keyOf('removed'), 'Background', 'another')).rejects.toMatchObject({ code: 'Conflict' });
    expect(await cluster.get(keyOf('removed'))).toBeDefined();
    expect(await cluster.remove(keyOf('removed'), 'Background', metadata.uid)).toBe(true);
    expect(await cluster.get(keyOf('removed'))).toBeUndefined();
  });

  test('a released definition stays, with all objects of its kind, and without the mark', async () => {
    const cluster = start();
    const group = `${namespace}.example.com`;
    const names = { kind: 'Gong', plural: 'gongs', singular: 'gong', listKind: 'GongList' };
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    const definition: KubeObject = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `gongs.${group}` },
      spec: { group, names, scope: 'Namespaced', versions: [{ name: 'v1', served: true, storage: true, schema }] },
    };
    const labels = { of: 'retail' };
    const placed = { ...definition, metadata: { ...definition.metadata, labels } };
    await cluster.apply(marked(placed, 'center.retail'));
    await until(async () => (await cluster.resourceOf(`${group}/v1`, 'Gong')) !== undefined);
    const gong = { apiVersion: `${group}/v1`, kind: 'Gong', metadata: { name: 'a', namespace } };
    await until(() => cluster.apply(gong).then(Boolean, () => false));
    const key = { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions', namespace: '' };
    const live = (await cluster.get({ ...key, name: `gongs.${group}` }))!;
    expect(isMarked(live)).toBe(true);
    const orphan = await cluster.apply(withoutOwnership(live, true));
    expect(orphan.metadata.labels).toEqual(labels);
    expect(orphan.metadata.annotations).toBeUndefined();
    const left = await cluster.apply(withoutOwnership(orphan, false));
    expect(left.metadata.labels).toBeUndefined();
    expect(left.metadata.uid).toBe(live.metadata.uid);
    expect(left.spec).toEqual(live.spec);
    const found: string[] = [];
    for await (const { metadata } of cluster.metadataOf!({ group, resource: 'gongs' })) {
      found.push(`${metadata.namespace}/${metadata.name}`);
    }
    expect(found).toEqual([`${namespace}/a`]);
  });

  test('objects of a namespace are found by labels and by fields, up to a limit', async () => {
    const cluster = start();
    for (const [name, tier] of Object.entries({ 'found-a': 'front', 'found-b': 'front', 'found-c': 'back' })) {
      const object = configMap(name, {});
      await cluster.apply({ ...object, metadata: { ...object.metadata, labels: { tier, suite: 'found' } } });
    }
    const names = async (query: Omit<ClusterQuery, 'namespace' | 'limit'>, limit = 10) => {
      const found = await cluster.find!(configMaps, { namespace, limit, ...query });
      for (const object of found) expect(object).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' });
      return found.map(({ metadata }) => metadata.name).sort();
    };
    const front = {
      matchLabels: { suite: 'found' },
      matchExpressions: [{ key: 'tier', operator: 'In' as const, values: ['front', 'x'] }],
    };
    expect(await names({ selector: front })).toEqual(['found-a', 'found-b']);
    const others = {
      matchLabels: { suite: 'found' },
      matchExpressions: [{ key: 'tier', operator: 'NotIn' as const, values: ['front'] }],
    };
    expect(await names({ selector: others })).toEqual(['found-c']);
    expect(await names({ fields: { 'metadata.name': 'found-b' } })).toEqual(['found-b']);
    expect(await names({ selector: { matchLabels: { suite: 'found' } } }, 2)).toHaveLength(2);
  });

  test('a watch reports the present objects, the end of them, and every later change', async () => {
    const cluster = start();
    await cluster.apply(configMap('watched-before', { a: '1' }));
    const seen: string[] = [];
    const stop = cluster.watch(configMaps, {
      on: ({ type, key, object }: ClusterEvent) => {
        if (key.namespace === namespace && key.name.startsWith('watched')) {
          seen.push(`${type} ${key.name} ${JSON.stringify(object.data ?? {})}`);
        }
      },
      synced: () => seen.push('synced'),
    });
    await until(() => seen.includes('synced'));
    await cluster.apply(configMap('watched-after', { b: '1' }));
    await until(() => seen.length === 3);
    await cluster.apply(configMap('watched-after', { b: '2' }));
    await until(() => seen.length === 4);
    await cluster.remove(keyOf('watched-before'), 'Background');
    await until(() => seen.length === 5);
    stop();
    expect(seen).toEqual([
      'ADDED watched-before {"a":"1"}',
      'synced',
      'ADDED watched-after {"b":"1"}',
      'MODIFIED watched-after {"b":"2"}',
      'DELETED watched-before {"a":"1"}',
    ]);
  });

  test('a watch of marked objects reports them, and when one loses the mark', async () => {
    const cluster = start();
    const named = (name: string) => ({ ...configMap(name, {}), metadata: { name, namespace } });
    const known = new Map<string, boolean>();
    const stop = cluster.watch(
      configMaps,
      {
        on: ({ type, key, object }: ClusterEvent) => known.set(key.name, type !== 'DELETED' && isMarked(object)),
        synced: () => {},
      },
      { marked: true },
    );
    await cluster.apply(marked(named('with-mark'), 'center.retail'));
    await until(() => known.get('with-mark') === true);
    await cluster.apply(named('with-mark'));
    await until(() => known.get('with-mark') === false);
    await cluster.apply(marked(named('with-mark'), 'center.retail'));
    await until(() => known.get('with-mark') === true);
    stop();
  });

  test('a refusal by the cluster is an error with its reason and message', async () => {
    const cluster = start();
    const invalid = { ...configMap('Not_A_Name', {}) };
    await expect(cluster.apply(invalid)).rejects.toMatchObject({
      code: 'Invalid',
      message: expect.stringContaining('metadata.name'),
    });
  });

  test('kinds appear with their definition and can be applied then', async () => {
    const cluster = start();
    const group = `${namespace}.example`;
    await cluster.apply(definitionOf(group));
    await until(async () => (await cluster.resourceOf(`${group}/v1`, 'Till')) !== undefined);
    expect(await cluster.resourceOf(`${group}/v1`, 'Till')).toMatchObject({ resource: 'tills', namespaced: true });
    const till = {
      apiVersion: `${group}/v1`,
      kind: 'Till',
      metadata: { name: 'one', namespace },
      spec: { drawers: 2 },
    };
    expect(await cluster.apply(till)).toMatchObject({ spec: { drawers: 2 } });
    expect((await cluster.served()).map(({ kind }) => kind)).toEqual(expect.arrayContaining(['Till', 'Deployment']));
  });

  test('the cluster reports its version, its nodes and their capacity', async () => {
    const { kubernetesVersion, platform, nodes, nodesReady, capacity } = await start().describe();
    expect(kubernetesVersion).toMatch(/^v1\.\d+/);
    expect(platform).toMatch(/^\w+\/\w+$/);
    expect(nodes).toBeGreaterThan(0);
    expect(nodesReady).toBeLessThanOrEqual(nodes ?? 0);
    expect(Object.keys(capacity ?? {})).toEqual(expect.arrayContaining(['cpu', 'memory', 'pods']));
  });
}

function definitionOf(group: string): KubeObject {
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    schema: {
      openAPIV3Schema: {
        type: 'object',
        properties: { spec: { type: 'object', properties: { drawers: { type: 'integer' } } } },
      },
    },
  };
  const names = { plural: 'tills', singular: 'till', kind: 'Till', listKind: 'TillList' };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `tills.${group}` },
    spec: { group, scope: 'Namespaced', names, versions: [version] },
  };
}

export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + waitMsMax;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`it did not come to hold within ${waitMsMax} ms`);
    await delay(50);
  }
}
