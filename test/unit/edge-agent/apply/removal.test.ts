import { beforeEach, describe, expect, it } from 'vitest';
import type { KubeObject, ObjectMeta } from '../../../../core/object/meta.ts';
import type { OwnerRecord } from '../../../../edge-agent/apply/owner-records.ts';
import { type RemovalWithReason, removalOf } from '../../../../edge-agent/apply/removal.ts';
import { isMarked, marked, signed, withoutOwnership } from '../../../../edge-agent/cluster/mark.ts';
import { FakeCluster } from '../support/fake-cluster.ts';

const key = 'apiextensions.k8s.io/customresourcedefinitions//tills.shop.example.com';
const definition: KubeObject = signed(
  marked(
    {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'tills.shop.example.com', uid: 'u1' },
      spec: { group: 'shop.example.com', names: { kind: 'Till', plural: 'tills' } },
    },
    'center.retail',
  ),
  'eu:shop',
  true,
);
const record: OwnerRecord = { source: 'center.retail', bodyHash: 'h', uid: 'u1', fingerprint: '', created: true };

describe('the decision about a definition that is no longer wanted', () => {
  let cluster: FakeCluster;
  const ours = new Set<string>();
  beforeEach(() => {
    cluster = new FakeCluster();
    ours.clear();
  });
  const removal = (live = definition): Promise<RemovalWithReason> =>
    removalOf(key, record, live, { path: 'eu:shop', cluster, applied: () => ours });
  const put = (at: string, metadata: ObjectMeta) =>
    cluster.write(at, (object) => void Object.assign(object.metadata, metadata));
  const till = (name: string, metadata: ObjectMeta = {}) =>
    put(`shop.example.com/tills/shop/${name}`, { name, namespace: 'shop', ...metadata });
  const ownedBy = (name: string, uid: string) => ({
    ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid }],
  });

  it('is to remove it if nobody has objects of its kind, or only the agent', async () => {
    expect(await removal()).toEqual({ do: 'remove', uid: 'u1' });
    till('a');
    ours.add('shop.example.com/tills/shop/a');
    expect(await removal()).toEqual({ do: 'remove', uid: 'u1' });
  });

  it('counts as the agent’s own the objects that it had when it asked, though it has removed them meanwhile', async () => {
    till('a');
    ours.add('shop.example.com/tills/shop/a');
    const { metadataOf } = cluster;
    cluster.metadataOf = async function* (resource) {
      ours.clear();
      yield* metadataOf.call(cluster, resource);
    };
    expect((await removal()).do).toBe('remove');
  });

  it('is to release it if the owner of an object is of an unknown group', async () => {
    till('theirs', { ownerReferences: [{ apiVersion: 'tills.example/v1', kind: 'Shop', name: 'one', uid: 'u9' }] });
    expect((await removal()).do).toBe('remove');
    cluster.unknown.set('tills.example', 'its server does not answer');
    expect(await removal()).toMatchObject({ do: 'release', why: expect.stringContaining('shop/theirs') });
  });

  it('is to release it if the object of somebody else, which is named, would be deleted with it', async () => {
    till('theirs');
    expect(await removal()).toEqual({
      do: 'release',
      why: "tills shop/theirs is not this agent's, and would be deleted with it",
    });
  });

  it('does not count objects in deletion: their own, or that of their owner', async () => {
    till('going', { deletionTimestamp: 'now' });
    till('orphan', ownedBy('app', 'gone'));
    put('/configmaps/shop/app', { name: 'app', namespace: 'shop', uid: 'another' });
    expect((await removal()).do).toBe('remove');
  });

  it('counts objects of an existing owner', async () => {
    put('/configmaps/shop/app', { name: 'app', namespace: 'shop', uid: 'there' });
    till('owned', ownedBy('app', 'there'));
    expect((await removal()).do).toBe('release');
  });

  it('asks for few owners, and attributes objects of others to their owners', async () => {
    for (let i = 0; i < 20; i++) till(`t${i}`, ownedBy(`app${i}`, `gone${i}`));
    expect((await removal()).do).toBe('remove');
    till('one-more', ownedBy('app20', 'gone20'));
    expect((await removal()).do).toBe('release');
  });

  it.each(['Forbidden', 'Internal'] as const)(
    'is to release it if the owners of objects are not listed (%s)',
    async (code) => {
      cluster.unlisted.set('shop.example.com/tills', code);
      expect(await removal()).toEqual({
        do: 'release',
        why: "the agent can't see whose objects would be deleted with it: cannot list it",
      });
    },
  );

  it('is made again when the cluster does not answer', async () => {
    cluster.unlisted.set('shop.example.com/tills', 'Unavailable');
    await expect(removal()).rejects.toMatchObject({ code: 'Unavailable' });
  });

  it('is made without a read if the definition has another owner', async () => {
    till('theirs');
    const unmarked = { ...definition, metadata: { ...definition.metadata, labels: {} } };
    expect(await removal(unmarked)).toEqual({ do: 'forget' });
  });
});

describe('a released object', () => {
  it('has no mark any more, and a definition has its spec', () => {
    expect(isMarked(withoutOwnership(definition, false))).toBe(false);
    expect(withoutOwnership(definition, false).metadata).toEqual({ name: 'tills.shop.example.com' });
    expect(withoutOwnership(definition, false).spec).toBe(definition.spec);
    const namespace = marked({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' }, spec: {} }, 'a.b');
    expect(withoutOwnership(namespace, false)).toEqual({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'shop' },
    });
  });

  it('keeps the applied metadata if it is orphaned, and nothing that others have set', () => {
    const namespace = signed(
      marked({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop', labels: { a: '1' } } }, 'a.b'),
      'eu:shop',
      true,
    );
    const { labels = {}, annotations = {} } = namespace.metadata;
    const fields = (of: object) => Object.fromEntries(Object.keys(of).map((key) => [`f:${key}`, {}]));
    namespace.metadata.managedFields = [
      {
        manager: 'banyan',
        operation: 'Apply',
        fieldsV1: { 'f:metadata': { 'f:labels': fields(labels), 'f:annotations': fields(annotations) } },
      },
    ];
    namespace.metadata.labels = { ...labels, 'kubernetes.io/metadata.name': 'shop' };
    expect(withoutOwnership(namespace, true).metadata).toEqual({ name: 'shop', labels: { a: '1' }, annotations: {} });
  });
});
