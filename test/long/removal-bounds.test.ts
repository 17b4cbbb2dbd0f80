import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../e2e/local-tree.ts';
import { trueCondition } from '../e2e/one-site.ts';
import { aWhile, containers, controllers, north, OperatorTree, platform, retail } from '../e2e/operator-tree.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { finalizer, objectRules, operatorRules, placed } from '../support/operator.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';

describe.skipIf(withoutKubectl)(`the removal of an operator, in further cases and with its bound${why}`, () => {
  const tree = new OperatorTree();
  beforeAll(() => tree.start());
  afterAll(() => tree[Symbol.asyncDispose]());
  beforeEach(() => tree.allGone());

  it('keeps the operator until an ordinary object with a finalizer of a controller has gone', async () => {
    tree.put(retail, placed('op', operatorRules), {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'plan', namespace: 'op' },
    });
    await tree.available(retail, 'op');
    const plan = ['configmap', 'plan', '-n', 'op'];
    tree.setFinalizers(plan, [finalizer]);
    tree.withdraw(retail, 'op');
    await until('the plan waits', () => tree.isBeingDeleted(plan));
    await aWhile();
    expect(tree.there(...controllers)).toEqual(controllers);
    tree.setFinalizers(plan, null);
    tree.ok(retail, 'delete', 'configmap', 'plan', '-n', 'op');
    await tree.allGone();
  });

  it.each([
    ['one space, the operator first', retail, ['op', 'objects']],
    ['one space, the objects first', retail, ['objects', 'op']],
    ['two spaces, the objects first', platform, ['objects', 'op']],
  ])('keeps the operator until the finalizers are gone, for two placements of %s', async (_, space, names) => {
    // Both bring the definitions. Two placements of one second have the same age, and then the uids decide which of two spaces has an object.
    tree.put(space, placed('op', operatorRules, { priority: 1 }));
    tree.put(retail, placed('objects', objectRules));
    await tree.available(space, 'op');
    await tree.available(retail, 'objects');
    tree.setFinalizers(north, [finalizer]);
    for (const name of names) tree.withdraw(name === 'op' ? space : retail, name);
    await until('the tank waits', () => tree.isBeingDeleted(north));
    await aWhile();
    expect(tree.there(...controllers, ...containers)).toEqual([...controllers, ...containers]);
    tree.setFinalizers(north, null);
    await tree.allGone();
  });

  it('goes on after a minute, and the SyncTarget names object, finalizer and remedy; the operator, placed again, may finish', async () => {
    tree.put(retail, placed('op', [...operatorRules, ...objectRules]));
    await tree.available(retail, 'op');
    tree.setFinalizers(north, [finalizer]);
    tree.withdraw(retail, 'op');
    await until('the operator has gone', () => tree.there(...controllers).length === 0, 90);
    await until('the definition without objects has gone', () => tree.at(containers[1]!) === undefined);
    expect(tree.there(north, ...containers)).toEqual([north, containers[0], containers[2]]);
    const trouble = () => trueCondition(tree.json('node/eu', 'synctarget', 'rivoli'), 'ClusterTrouble');
    await until('it is said', () => /has gone on with the objects/.test(trouble()?.message ?? ''), 90);
    expect(trouble()).toMatchObject({ reason: 'RemovalStuck' });
    for (const part of ['tanks.op.example.com op/north', finalizer, 'remove them from metadata.finalizers'])
      expect(trouble()?.message).toContain(part);
    tree.put(retail, placed('op', operatorRules));
    await until('the operator is back', () => tree.there(...controllers).length === controllers.length);
    tree.setFinalizers(north, null);
    await until('the tank has gone', () => tree.at(north) === undefined);
    tree.withdraw(retail, 'op');
    await tree.allGone();
    await until('nothing is said any more', () => trouble() === undefined);
  });
});
