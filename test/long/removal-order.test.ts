import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../e2e/local-tree.ts';
import { aWhile, containers, controllers, main, north, OperatorTree, platform, retail } from '../e2e/operator-tree.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { finalizer, objectRules, operatorRules, placed, tank } from '../support/operator.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';

describe.skipIf(withoutKubectl)(`the removal of an operator and the objects that it serves${why}`, () => {
  const tree = new OperatorTree();
  beforeAll(() => tree.start());
  afterAll(() => tree[Symbol.asyncDispose]());
  beforeEach(() => tree.allGone());

  it('keeps the operator until the finalizers that only it removes are gone', async () => {
    tree.put(retail, placed('op', [...operatorRules, ...objectRules]));
    await tree.available(retail, 'op');
    tree.setFinalizers(north, [finalizer]);
    tree.withdraw(retail, 'op');
    await until('the tank waits', () => tree.isBeingDeleted(north));
    await aWhile();
    expect(tree.there(...controllers, ...containers)).toEqual([...controllers, ...containers]);
    tree.setFinalizers(north, null);
    await tree.allGone();
  });

  it('does so for a custom object of the whole cluster, although the agent is killed in between', async () => {
    tree.put(retail, placed('op', [...operatorRules, ...objectRules]));
    await tree.available(retail, 'op');
    tree.setFinalizers(main, [finalizer]);
    tree.withdraw(retail, 'op');
    await until('the harbour waits', () => tree.isBeingDeleted(main));
    tree.kill('eu:rivoli');
    await until('the agent is back', () => tree.at(main) !== undefined);
    await aWhile();
    expect(tree.there(...controllers, ...containers)).toEqual([...controllers, ...containers]);
    expect(tree.there(north)).toEqual([]);
    tree.setFinalizers(main, null);
    await tree.allGone();
  });

  it('does so for two placements of two spaces, although the operator is withdrawn first', async () => {
    // Both placements bring the definitions. Two placements of one second have the same age, and then the uids decide which one has an object.
    tree.put(platform, placed('op', operatorRules, { priority: 1 }));
    tree.put(retail, placed('objects', objectRules));
    await tree.available(platform, 'op');
    await tree.available(retail, 'objects');
    tree.setFinalizers(north, [finalizer]);
    tree.withdraw(platform, 'op');
    tree.withdraw(retail, 'objects');
    await until('the tank waits', () => tree.isBeingDeleted(north));
    await aWhile();
    expect(tree.there(...controllers, ...containers)).toEqual([...controllers, ...containers]);
    tree.setFinalizers(north, null);
    await tree.allGone();
  });

  it('removes a single object at once while its operator stays', async () => {
    tree.put(retail, placed('op', [...operatorRules, ...objectRules]));
    await tree.available(retail, 'op');
    tree.ok(retail, 'delete', ...north, '--wait=false');
    await until('the tank has gone', () => tree.at(north) === undefined, 3);
    expect(tree.there(...controllers)).toEqual(controllers);
    tree.put(retail, tank);
    tree.withdraw(retail, 'op');
  });
});
