import { describe, expect, it } from 'vitest';
import { EmbeddedStorage } from '../../../../../core/apiserver/storage/embedded.ts';
import { EmbeddedSpace } from '../../../../../core/apiserver/verbs/embedded-space.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../../core/runtime/random.ts';
import { configMap, errorOf, fakeFields, fakeKinds, fakeSpace, namespace } from './fake-space.ts';

const key = { group: '', resource: 'configmaps', namespace: 'shop', name: 'a' };

function withFinalizers(finalizers: string[]) {
  const object = configMap('a');
  object.metadata.finalizers = finalizers;
  return object;
}

describe('delete', () => {
  it('removes an object without finalizers, and returns it', () => {
    const { space } = fakeSpace();
    const made = space.create(configMap('a', { x: '1' }));
    const gone = space.delete(key);
    expect(gone).toMatchObject({ data: { x: '1' }, metadata: { uid: made.metadata.uid } });
    expect(gone.metadata).not.toHaveProperty('deletionTimestamp');
    expect(space.get(key)).toBeUndefined();
    expect(errorOf(() => space.delete(key)).message).toBe('configmaps "a" not found');
  });

  it('marks an object that has finalizers, once, and removes it with the last of them', () => {
    const { space, clock } = fakeSpace();
    space.create(withFinalizers(['x.example/one', 'x.example/two']));
    const marked = space.delete(key);
    expect(marked.metadata).toMatchObject({
      deletionTimestamp: '2030-01-02T03:04:05Z',
      deletionGracePeriodSeconds: 0,
      generation: 2,
    });
    clock.advance(60_000);
    expect(space.delete(key)).toEqual(marked);
    const one = structuredClone(marked);
    one.metadata.finalizers = ['x.example/two'];
    const left = space.update(one);
    expect(space.get(key)?.metadata.finalizers).toEqual(['x.example/two']);
    left.metadata.finalizers = [];
    space.update(left);
    expect(space.get(key)).toBeUndefined();
  });

  it('refuses new finalizers during a deletion', () => {
    const { space } = fakeSpace();
    space.create(withFinalizers(['x.example/one']));
    const marked = space.delete(key);
    marked.metadata.finalizers = ['x.example/one', 'x.example/new'];
    expect(errorOf(() => space.update(marked)).message).toBe(
      'ConfigMap "a" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"x.example/new"}',
    );
  });

  it('reports that a name is taken by an object in deletion', () => {
    const { space } = fakeSpace();
    space.create(withFinalizers(['x.example/one']));
    space.delete(key);
    expect(errorOf(() => space.create(configMap('a'))).message).toBe(
      'object is being deleted: configmaps "a" already exists',
    );
  });

  it('turns the propagation policy into a finalizer, and accepts another policy later', () => {
    const { space } = fakeSpace();
    space.create(withFinalizers(['x.example/one']));
    expect(space.delete(key, { propagationPolicy: 'Foreground' }).metadata.finalizers).toEqual([
      'x.example/one',
      'foregroundDeletion',
    ]);
    expect(space.delete(key, { propagationPolicy: 'Orphan' }).metadata.finalizers).toEqual(['x.example/one', 'orphan']);
    expect(space.delete(key, { propagationPolicy: 'Background' }).metadata.finalizers).toEqual(['x.example/one']);
  });

  it('checks uid and version first', () => {
    const { space } = fakeSpace();
    const made = space.create(configMap('a'));
    expect(errorOf(() => space.delete(key, { preconditions: { uid: 'other' } }))).toMatchObject({
      code: 'Conflict',
      message: `Operation cannot be fulfilled on configmaps "a": Precondition failed: UID in precondition: other, UID in object meta: ${made.metadata.uid}`,
    });
    expect(errorOf(() => space.delete(key, { preconditions: { resourceVersion: '1' } })).code).toBe('Conflict');
    const { uid, resourceVersion } = made.metadata;
    space.delete(key, { preconditions: { uid: uid!, resourceVersion: resourceVersion! } });
    expect(space.get(key)).toBeUndefined();
  });

  it('does not delete in a dry run', () => {
    const { space } = fakeSpace();
    space.create(configMap('a'));
    space.delete(key, { dryRun: true });
    expect(space.get(key)).toBeDefined();
  });

  it('asks admission first', () => {
    const admissions = [
      ({ operation }: { operation: string }) => {
        if (operation === 'delete') throw new Error('no');
      },
    ];
    const { space } = fakeSpace({ admissions });
    space.create(configMap('a'));
    expect(() => space.delete(key)).toThrow('no');
  });

  it('makes a Namespace Terminating until its spec has no finalizers', () => {
    const { space } = fakeSpace();
    const shop = space.keyOf(namespace('shop'));
    const terminating = space.delete(shop);
    expect(terminating).toMatchObject({ status: { phase: 'Terminating' }, spec: { finalizers: ['kubernetes'] } });
    expect(space.delete(shop)).toEqual(terminating);
    expect(space.update({ ...terminating, spec: { finalizers: [] } }).spec).toEqual({ finalizers: ['kubernetes'] });
    space.update({ ...terminating, spec: { finalizers: [] } }, { subresource: 'finalize' });
    expect(space.get(shop)).toBeUndefined();
  });

  it('keeps the namespaces that every cluster has', () => {
    const { space } = fakeSpace();
    expect(errorOf(() => space.delete(space.keyOf(namespace('default'))))).toMatchObject({
      code: 'Forbidden',
      message: 'namespaces "default" is forbidden: this namespace may not be deleted',
    });
  });

  it('deletes a collection by namespace and predicate', () => {
    const { space } = fakeSpace();
    for (const name of ['a', 'b', 'c']) space.create(configMap(name, { name }));
    const other = configMap('a');
    other.metadata.namespace = 'default';
    space.create(other);
    const matches = (object: KubeObject) => (object.data as { name?: string }).name !== 'b';
    const gone = space.deleteCollection({ group: '', resource: 'configmaps' }, { namespace: 'shop', matches });
    expect(Array.from(gone, (object) => object?.metadata.name)).toEqual([undefined, undefined, undefined, 'a', 'c']);
    const left = space.storage.scan({ group: '', resource: 'configmaps' }).map((stored) => stored.key);
    expect(left).toEqual([
      { ...key, namespace: 'default' },
      { ...key, name: 'b' },
    ]);
  });
});

describe('a collection that is deleted while others write', () => {
  it('loses the objects that it had, and no later one', () => {
    const { space } = fakeSpace();
    for (const name of ['a', 'b', 'c']) space.create(configMap(name, { name }));
    const gone: unknown[] = [];
    for (const object of space.deleteCollection({ group: '', resource: 'configmaps' }, { matches: () => true })) {
      if (object) gone.push(object.metadata.name);
      if (gone.length !== 1) continue;
      space.delete({ ...key, name: 'b' });
      space.delete({ ...key, name: 'c' });
      for (const name of ['c', 'd']) space.create(configMap(name, { name }));
    }
    expect(gone).toEqual(['a']);
    expect(space.storage.scan({ group: '', resource: 'configmaps' }).map((stored) => stored.key.name)).toEqual([
      'c',
      'd',
    ]);
  });
});

describe('a space over read-only storage', () => {
  it('reads and refuses every write', () => {
    const { space, store, clock } = fakeSpace();
    const made = space.create(configMap('a'));
    const storage = new EmbeddedStorage({ store, name: 'test', logger: silentLogger, readOnly: true });
    const random = new SeededRandom(1);
    const view = new EmbeddedSpace({
      name: 'view',
      storage,
      kinds: fakeKinds,
      clock,
      random,
      fields: fakeFields,
      admissions: [],
    });
    expect(view.get(key)).toEqual(made);
    const writes = [
      () => view.create(configMap('b')),
      () => view.update(made),
      () => view.patch(key, { type: 'merge', patch: {} }),
      () => view.apply(configMap('b'), { fieldManager: 'x' }),
      () => view.delete(key),
    ];
    for (const write of writes) {
      expect(errorOf(write)).toMatchObject({ code: 'MethodNotAllowed', message: 'the space "view" is read-only' });
    }
  });
});
