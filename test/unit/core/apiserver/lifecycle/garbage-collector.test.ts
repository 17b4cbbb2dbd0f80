import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GarbageCollector } from '../../../../../core/apiserver/lifecycle/garbage-collector.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { configMap, deployment, fakeSpace } from '../verbs/fake-space.ts';
import { Turns } from './turns.ts';

function setup({ started = true } = {}) {
  const { space, clock } = fakeSpace();
  const turns = new Turns();
  const start = () => new GarbageCollector({ space, clock, logger: silentLogger, schedule: turns.schedule });
  if (started) start();
  const names = () =>
    space.storage
      .resources()
      .filter(({ resource }) => resource !== 'namespaces')
      .flatMap((resource) => space.storage.scan(resource))
      .map(({ key }) => key.name)
      .sort();
  return { space, clock, turns, start, names };
}

function owned(object: KubeObject, owners: readonly KubeObject[], blockOwnerDeletion = false): KubeObject {
  const ownerReferences = owners.map(({ apiVersion, kind, metadata }) => {
    return { apiVersion, kind, name: metadata.name!, uid: metadata.uid!, blockOwnerDeletion };
  });
  return { ...object, metadata: { ...object.metadata, ownerReferences } };
}

function replicaSet(name: string): KubeObject {
  return { apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata: { name, namespace: 'shop' } };
}

function pod(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'shop' } };
}

describe('background deletion', () => {
  it('takes dependents of dependents with the owner', () => {
    const { space, turns, names } = setup();
    const top = space.create(deployment('top'));
    const middle = space.create(owned(replicaSet('middle'), [top]));
    space.create(owned(pod('one'), [middle]));
    space.create(owned(pod('two'), [middle]));
    space.create(pod('free'));
    turns.settle();
    expect(names()).toEqual(['free', 'middle', 'one', 'top', 'two']);
    space.delete(space.keyOf(top), { propagationPolicy: 'Background' });
    turns.settle();
    expect(names()).toEqual(['free']);
  });

  it('keeps an object that another owner still has, and removes the reference to the deleted owner', () => {
    const { space, turns } = setup();
    const [a, b] = [space.create(configMap('a')), space.create(configMap('b'))];
    const dependent = space.create(owned(configMap('c'), [a, b]));
    space.delete(space.keyOf(a));
    turns.settle();
    const left = space.get(space.keyOf(dependent))!;
    expect(left.metadata.ownerReferences?.map(({ name }) => name)).toEqual(['b']);
    space.delete(space.keyOf(b));
    turns.settle();
    expect(space.get(space.keyOf(dependent))).toBeUndefined();
  });

  it('treats an owner as deleted when another object has its name', () => {
    const { space, turns, names } = setup();
    const owner = space.create(configMap('owner'));
    space.delete(space.keyOf(owner));
    space.create(configMap('owner'));
    space.create(owned(configMap('dependent'), [owner]));
    turns.settle();
    expect(names()).toEqual(['owner']);
  });

  it('treats an owner in another namespace as missing', () => {
    const { space, turns, names } = setup();
    const elsewhere = configMap('owner');
    elsewhere.metadata.namespace = 'default';
    space.create(owned(configMap('dependent'), [space.create(elsewhere)]));
    turns.settle();
    expect(names()).toEqual(['owner']);
  });

  it('lets a cluster-scoped owner have dependents in every namespace', () => {
    const { space, turns, names } = setup();
    const region = { apiVersion: 'shop.example/v1', kind: 'Region', metadata: { name: 'eu' } };
    const owner = space.create(region);
    space.create(owned(configMap('dependent'), [owner]));
    turns.settle();
    expect(names()).toEqual(['dependent', 'eu']);
    space.delete(space.keyOf(owner));
    turns.settle();
    expect(names()).toEqual([]);
  });

  it('deletes nothing whose owner is of a kind that is not served', () => {
    const { space, turns, names } = setup();
    const owner = { apiVersion: 'gone.example/v1', kind: 'Gone', metadata: { name: 'g', uid: 'u' } };
    space.create(owned(configMap('dependent'), [owner]));
    turns.settle();
    expect(names()).toEqual(['dependent']);
  });

  it('finds at its start the work that was missed', () => {
    const { space, turns, start, names } = setup({ started: false });
    const owner = space.create(configMap('owner'));
    space.create(owned(configMap('dependent'), [owner]));
    space.create(configMap('free'));
    space.delete(space.keyOf(owner));
    start();
    turns.settle();
    expect(names()).toEqual(['free']);
  });

  it('follows references that change', () => {
    const { space, turns, names } = setup();
    const [a, b] = [space.create(configMap('a')), space.create(configMap('b'))];
    const dependent = space.create(owned(configMap('c'), [a]));
    space.update({ ...dependent, ...owned(dependent, [b]) });
    space.delete(space.keyOf(a));
    turns.settle();
    expect(names()).toEqual(['b', 'c']);
    space.delete(space.keyOf(b));
    turns.settle();
    expect(names()).toEqual([]);
  });
});

describe('foreground deletion', () => {
  it('keeps the owner until the dependents that block it are gone', () => {
    const { space, turns, names } = setup();
    const owner = space.create(configMap('owner'));
    const held = owned(configMap('held'), [owner], true);
    held.metadata.finalizers = ['x.example/hold'];
    space.create(held);
    space.create(owned(configMap('quick'), [owner], true));
    space.delete(space.keyOf(owner), { propagationPolicy: 'Foreground' });
    turns.settle();
    expect(names()).toEqual(['held', 'owner']);
    const key = space.keyOf(held);
    expect(space.get(key)?.metadata.deletionTimestamp).toBeDefined();
    space.patch(key, { type: 'merge', patch: { metadata: { finalizers: null } } });
    turns.settle();
    expect(names()).toEqual([]);
  });

  it('goes down level by level', () => {
    const { space, turns, names } = setup();
    const top = space.create(deployment('top'));
    const middle = space.create(owned(replicaSet('middle'), [top], true));
    const held = owned(pod('held'), [middle], true);
    held.metadata.finalizers = ['x.example/hold'];
    space.create(held);
    space.delete(space.keyOf(top), { propagationPolicy: 'Foreground' });
    turns.settle();
    expect(names()).toEqual(['held', 'middle', 'top']);
    space.patch(space.keyOf(held), { type: 'merge', patch: { metadata: { finalizers: null } } });
    turns.settle();
    expect(names()).toEqual([]);
  });

  it('does not wait for dependents that do not block', () => {
    const { space, turns, names } = setup();
    const owner = space.create(configMap('owner'));
    const held = owned(configMap('held'), [owner], false);
    held.metadata.finalizers = ['x.example/hold'];
    space.create(held);
    space.delete(space.keyOf(owner), { propagationPolicy: 'Foreground' });
    turns.settle();
    expect(names()).toEqual(['held']);
  });

  it('breaks circles of owners that wait for each other', () => {
    const { space, turns, names } = setup();
    const a = space.create(configMap('a'));
    const b = space.create(owned(configMap('b'), [a], true));
    space.update(owned(a, [b], true));
    space.delete(space.keyOf(a), { propagationPolicy: 'Foreground' });
    turns.settle();
    expect(names()).toEqual([]);
  });

  it('does not let an object wait for itself', () => {
    const { space, turns, names } = setup();
    const a = space.create(configMap('a'));
    space.update(owned(a, [a], true));
    space.delete(space.keyOf(a), { propagationPolicy: 'Foreground' });
    turns.settle();
    expect(names()).toEqual([]);
  });

  it('continues after a restart', () => {
    const { space, turns, start, names } = setup({ started: false });
    const owner = space.create(configMap('owner'));
    space.create(owned(configMap('dependent'), [owner], true));
    space.delete(space.keyOf(owner), { propagationPolicy: 'Foreground' });
    start();
    turns.settle();
    expect(names()).toEqual([]);
  });
});

describe('orphaning', () => {
  it('removes the owner reference from dependents, then deletes the owner', () => {
    const { space, turns, names } = setup();
    const owner = space.create(configMap('owner'));
    for (let i = 0; i < 600; i++) space.create(owned(configMap(`c-${i}`), [owner]));
    turns.settle();
    space.delete(space.keyOf(owner), { propagationPolicy: 'Orphan' });
    turns.settle();
    expect(names()).toHaveLength(600);
    const left = space.get(space.keyOf(configMap('c-7')))!;
    expect(left.metadata).not.toHaveProperty('ownerReferences');
  });
});

describe('any forest of owners', () => {
  it('keeps exactly the objects that some path of owners holds, whatever is deleted in whatever order', () => {
    const node = fc.array(fc.nat(), { maxLength: 2 });
    const forest = fc.tuple(fc.array(node, { minLength: 1, maxLength: 12 }), fc.array(fc.nat(), { maxLength: 6 }));
    fc.assert(
      fc.property(forest, ([nodes, deletions]) => {
        const { space, turns, names } = setup();
        const made: KubeObject[] = [];
        const parents: number[][] = nodes.map((picks, at) => (at === 0 ? [] : [...new Set(picks.map((n) => n % at))]));
        for (const [at, owners] of parents.entries()) {
          made.push(
            space.create(
              owned(
                configMap(`n${at}`),
                owners.map((owner) => made[owner]!),
                at % 2 === 0,
              ),
            ),
          );
        }
        const gone = new Set<number>();
        for (const pick of deletions) {
          const at = pick % nodes.length;
          const key = space.keyOf(made[at]!);
          if (!space.get(key)) continue;
          space.delete(key, { propagationPolicy: pick % 3 === 0 ? 'Foreground' : 'Background' });
          turns.settle();
          gone.add(at);
          for (const [child, owners] of parents.entries()) {
            if (owners.length > 0 && owners.every((owner) => gone.has(owner))) gone.add(child);
          }
        }
        const left = nodes.map((_, at) => at).filter((at) => !gone.has(at));
        expect(names()).toEqual(left.map((at) => `n${at}`).sort());
      }),
      { numRuns: 100 },
    );
  });
});
