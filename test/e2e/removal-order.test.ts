import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { withoutKubectl } from '../support/kubectl.ts';
import {
  definitions,
  finalizer,
  harbour,
  objectRules,
  operator,
  operatorRules,
  placed,
  tank,
} from '../support/operator.ts';
import { LocalTree, until } from './local-tree.ts';
import { trueCondition } from './one-site.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const [retail, platform, rivoli] = ['space/center/retail', 'space/center/platform', 'cluster/eu:rivoli'];

interface Shown {
  readonly metadata: { readonly deletionTimestamp?: string };
  readonly status?: { readonly display?: string };
}

/** The names of the operator's objects, as `kubectl get` takes them. */
const controllers = [
  ['deploy', 'tank-operator', '-n', 'op'],
  ['serviceaccount', 'tank-operator', '-n', 'op'],
  ['clusterrole', 'tank-operator'],
  ['clusterrolebinding', 'tank-operator'],
];
const containers = [
  ['crd', 'tanks.op.example.com'],
  ['crd', 'harbours.op.example.com'],
  ['namespace', 'op'],
];
const north = ['tank', 'north', '-n', 'op'];
const main = ['harbour', 'main'];

describe.skipIf(withoutKubectl)(`the removal of an operator and the objects that it serves${why}`, () => {
  const tree = new LocalTree('test/e2e/removal-order-topology.yaml');
  const at = (names: readonly string[]) => tree.json<Shown>(rivoli, ...names);
  const there = (...names: (readonly string[])[]) => names.filter((one) => at(one) !== undefined);
  const put = (space: string, ...items: readonly object[]) => {
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    const { code, out } = tree.kubectl(space, ['apply', '-f', '-'], list);
    expect(code, out).toBe(0);
  };
  const define = async (space: string) => {
    put(space, ...definitions, operator[0]!);
    await until('the kinds are served', () => tree.kubectl(space, ['get', 'tanks,harbours', '-A']).code === 0);
  };
  const patch = (names: readonly string[], finalizers: readonly string[] | null) => {
    const change = JSON.stringify({ metadata: { finalizers } });
    tree.ok(rivoli, 'patch', ...names, '--type=merge', '-p', change);
  };
  const available = (space: string, name: string) =>
    until(`${name} is available`, () => tree.json<Shown>(space, 'epl', name)?.status?.display === 'available 1/1');
  const withdraw = (space: string, name: string) => tree.ok(space, 'delete', 'epl', name, '--wait=false');
  const isBeingDeleted = (names: readonly string[]) => at(names)?.metadata.deletionTimestamp !== undefined;
  /** Longer than the time for which controllers stay in any case. */
  const aWhile = () => new Promise((done) => setTimeout(done, 8_000));
  const allGone = () =>
    until('everything has gone', () => there(...controllers, ...containers, north, main).length === 0);

  beforeAll(async () => {
    await tree.up();
    await define(retail);
    await define(platform);
    put(retail, ...operator, tank, harbour);
    put(platform, ...operator);
  });
  afterAll(() => tree[Symbol.asyncDispose]());
  beforeEach(allGone);

  it('keeps the operator until the finalizers that only it removes are gone', async () => {
    put(retail, placed('op', [...operatorRules, ...objectRules]));
    await available(retail, 'op');
    patch(north, [finalizer]);
    withdraw(retail, 'op');
    await until('the tank waits', () => isBeingDeleted(north));
    await aWhile();
    expect(there(...controllers, ...containers)).toEqual([...controllers, ...containers]);
    patch(north, null);
    await allGone();
  });

  it('does so for a custom object of the whole cluster, although the agent is killed in between', async () => {
    put(retail, placed('op', [...operatorRules, ...objectRules]));
    await available(retail, 'op');
    patch(main, [finalizer]);
    withdraw(retail, 'op');
    await until('the harbour waits', () => isBeingDeleted(main));
    tree.kill('eu:rivoli');
    await until('the agent is back', () => at(main) !== undefined);
    await aWhile();
    expect(there(...controllers, ...containers)).toEqual([...controllers, ...containers]);
    expect(there(north)).toEqual([]);
    patch(main, null);
    await allGone();
  });

  it('does so for an ordinary object with a finalizer of a controller', async () => {
    put(retail, placed('op', operatorRules), {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'plan', namespace: 'op' },
    });
    await available(retail, 'op');
    const plan = ['configmap', 'plan', '-n', 'op'];
    patch(plan, [finalizer]);
    withdraw(retail, 'op');
    await until('the plan waits', () => isBeingDeleted(plan));
    await aWhile();
    expect(there(...controllers)).toEqual(controllers);
    patch(plan, null);
    tree.ok(retail, 'delete', 'configmap', 'plan', '-n', 'op');
    await allGone();
  });

  it.each([
    ['one space, the operator first', retail, ['op', 'objects']],
    ['one space, the objects first', retail, ['objects', 'op']],
    ['two spaces, the operator first', platform, ['op', 'objects']],
    ['two spaces, the objects first', platform, ['objects', 'op']],
  ])('does so for two placements of %s', async (_, space, names) => {
    put(space, placed('op', operatorRules));
    put(retail, placed('objects', objectRules));
    await available(space, 'op');
    await available(retail, 'objects');
    patch(north, [finalizer]);
    for (const name of names) withdraw(name === 'op' ? space : retail, name);
    await until('the tank waits', () => isBeingDeleted(north));
    await aWhile();
    expect(there(...controllers, ...containers)).toEqual([...controllers, ...containers]);
    patch(north, null);
    await allGone();
  });

  it('removes a single object at once while its operator stays', async () => {
    put(retail, placed('op', [...operatorRules, ...objectRules]));
    await available(retail, 'op');
    tree.ok(retail, 'delete', ...north, '--wait=false');
    await until('the tank has gone', () => at(north) === undefined, 3);
    expect(there(...controllers)).toEqual(controllers);
    put(retail, tank);
    withdraw(retail, 'op');
  });

  it('goes on after a minute, and the SyncTarget names object, finalizer and remedy; the operator, placed again, may finish', async () => {
    put(retail, placed('op', [...operatorRules, ...objectRules]));
    await available(retail, 'op');
    patch(north, [finalizer]);
    withdraw(retail, 'op');
    await until('the operator has gone', () => there(...controllers).length === 0, 90);
    await until('the definition without objects has gone', () => at(containers[1]!) === undefined);
    expect(there(north, ...containers)).toEqual([north, containers[0], containers[2]]);
    const trouble = () => trueCondition(tree.json('node/eu', 'synctarget', 'rivoli'), 'ClusterTrouble');
    await until('it is said', () => /has gone on with the objects/.test(trouble()?.message ?? ''), 90);
    expect(trouble()).toMatchObject({ reason: 'RemovalStuck' });
    for (const part of ['tanks.op.example.com op/north', finalizer, 'remove them from metadata.finalizers'])
      expect(trouble()?.message).toContain(part);
    put(retail, placed('op', operatorRules));
    await until('the operator is back', () => there(...controllers).length === controllers.length);
    patch(north, null);
    await until('the tank has gone', () => at(north) === undefined);
    withdraw(retail, 'op');
    await allGone();
    await until('nothing is said any more', () => trouble() === undefined);
  });
});
