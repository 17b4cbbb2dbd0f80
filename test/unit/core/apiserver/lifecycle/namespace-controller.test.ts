import { describe, expect, it, vi } from 'vitest';
import { NamespaceController } from '../../../../../core/apiserver/lifecycle/namespace-controller.ts';
import type { WriteAdmission } from '../../../../../core/apiserver/space.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { configMap, fakeSpace, namespace } from '../verbs/fake-space.ts';
import { Turns } from './turns.ts';

const shop = { group: '', resource: 'namespaces', namespace: '', name: 'shop' };
const maps = { group: '', resource: 'configmaps' };

function setup({ started = true, admissions = [] as WriteAdmission[] } = {}) {
  const { space, clock } = fakeSpace({ admissions });
  const turns = new Turns();
  const start = () => new NamespaceController({ space, clock, logger: silentLogger, schedule: turns.schedule });
  if (started) start();
  return { space, clock, turns, start };
}

describe('a Namespace that is deleted', () => {
  it('is removed with everything in it, of built-in and custom kinds, and nothing else', () => {
    const { space, turns } = setup();
    space.create(configMap('a'));
    space.create({ apiVersion: 'shop.example/v1', kind: 'Till', metadata: { name: 't', namespace: 'shop' } });
    space.create({ apiVersion: 'shop.example/v1', kind: 'Region', metadata: { name: 'eu' } });
    space.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'other', namespace: 'default' } });
    space.delete(shop);
    expect(space.get(shop)).toMatchObject({ status: { phase: 'Terminating' } });
    turns.settle();
    expect(space.get(shop)).toBeUndefined();
    const left = space.storage.resources().flatMap((resource) => space.storage.scan(resource));
    expect(left.map(({ key }) => key.name).sort()).toEqual(['default', 'eu', 'other']);
  });

  it('is removed when it is empty', () => {
    const { space, turns } = setup();
    space.delete(shop);
    turns.settle();
    expect(space.get(shop)).toBeUndefined();
  });

  it('is emptied in several turns if it has many objects, and each object is looked at twice at most', () => {
    const { space, turns } = setup();
    for (let i = 0; i < 600; i++) {
      const object = configMap(`m${i}`);
      if (i % 2 === 0) object.metadata.finalizers = ['x.example/hold'];
      space.create(object);
    }
    const looks = vi.spyOn(space, 'get');
    space.delete(shop);
    expect(turns.settle()).toBeGreaterThan(3);
    expect(looks.mock.calls.filter(([{ resource }]) => resource === 'configmaps').length).toBeLessThan(2_000);
    const { status } = space.get(shop) as { status?: { conditions?: { message: string }[] } };
    expect(status?.conditions?.[0]?.message).toBe(
      'Some resources are remaining: configmaps. has 300 resource instances',
    );
  });

  it('waits for finalizers and names them', () => {
    const { space, turns } = setup();
    const held = configMap('held');
    held.metadata.finalizers = ['x.example/hold'];
    space.create(held);
    space.create(configMap('a'));
    space.delete(shop);
    turns.settle();
    expect(space.storage.scan(maps).map(({ key }) => key.name)).toEqual(['held']);
    expect(space.get(shop)).toMatchObject({
      status: {
        phase: 'Terminating',
        conditions: [
          {
            type: 'NamespaceContentRemaining',
            status: 'True',
            reason: 'SomeResourcesRemain',
            message: 'Some resources are remaining: configmaps. has 1 resource instances',
          },
          {
            type: 'NamespaceFinalizersRemaining',
            status: 'True',
            message: 'Some content in the namespace has finalizers remaining: x.example/hold in 1 resource instances',
          },
        ],
      },
    });
    space.patch(
      { ...maps, namespace: 'shop', name: 'held' },
      { type: 'merge', patch: { metadata: { finalizers: null } } },
    );
    turns.settle();
    expect(space.get(shop)).toBeUndefined();
  });

  it('waits for finalizers of its own when its content is gone', () => {
    const { space, turns } = setup();
    space.create(configMap('a'));
    space.patch(shop, { type: 'merge', patch: { metadata: { finalizers: ['x.example/hold'] } } });
    space.delete(shop);
    turns.settle();
    expect(space.storage.scan(maps)).toEqual([]);
    expect(space.get(shop)).toMatchObject({ spec: { finalizers: [] } });
    space.patch(shop, { type: 'merge', patch: { metadata: { finalizers: null } } });
    expect(space.get(shop)).toBeUndefined();
  });

  it('is emptied in turns of bounded length', () => {
    const { space, turns } = setup();
    for (let i = 0; i < 600; i++) space.create(configMap(`c-${i}`));
    turns.settle();
    space.delete(shop);
    expect(turns.settle()).toBeGreaterThanOrEqual(3);
    expect(space.get(shop)).toBeUndefined();
  });

  it('is found at the start', () => {
    const { space, turns, start } = setup({ started: false });
    space.create(configMap('a'));
    space.delete(shop);
    start();
    turns.settle();
    expect(space.get(shop)).toBeUndefined();
  });

  it('loses everything else when one object cannot be deleted, and is removed when that object can be', () => {
    let isAllowed = false;
    const admission: WriteAdmission = ({ operation, key }) => {
      if (operation === 'delete' && key.name === 'b' && !isAllowed) throw new BanyanError('Forbidden', 'not yet');
    };
    const { space, clock, turns } = setup({ admissions: [admission] });
    for (const name of ['a', 'b', 'c']) space.create(configMap(name));
    space.delete(shop);
    turns.settle();
    expect(space.storage.scan(maps).map(({ key }) => key.name)).toEqual(['b']);
    isAllowed = true;
    clock.advance(60_000);
    turns.settle();
    expect(space.get(shop)).toBeUndefined();
  });
});

describe('a Namespace that is not deleted', () => {
  it('keeps everything', () => {
    const { space, turns } = setup();
    space.create(configMap('a'));
    space.create(namespace('third'));
    turns.settle();
    expect(space.storage.scan(maps)).toHaveLength(1);
  });
});
