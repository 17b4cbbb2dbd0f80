import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withoutKubectl } from '../support/kubectl.ts';
import { LocalTree, until } from './local-tree.ts';

const space = 'space/center/retail';
const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';

interface Shown {
  status?: {
    summary?: { expected: number; available: number };
    conditions?: { type: string; message: string }[];
  };
}

const isFailing = ({ type }: { type: string }) => type === 'ExpressionFailing';

function placement(name: string, spec: object) {
  const downsync = [{ apiGroup: '', resources: ['configmaps'], namespaces: ['default'], objectNames: [name] }];
  return {
    apiVersion: 'edge.banyan.io/v1alpha1',
    kind: 'EdgePlacement',
    metadata: { name },
    spec: { ...spec, downsync },
  };
}

describe.skipIf(withoutKubectl)(`placements find their destinations${why}`, () => {
  const tree = new LocalTree('deploy/topologies/shop.yaml');

  function place(name: string, spec: object): void {
    tree.ok(space, 'create', 'configmap', name, '--from-literal=a=b', '-n', 'default');
    const { code, out } = tree.apply(space, placement(name, spec));
    expect(code, out).toBe(0);
  }
  function patchSyncTarget(node: string, syncTarget: string, spec: object): void {
    tree.ok(`node/${node}`, 'patch', 'synctarget', syncTarget, '--type=merge', '-p', JSON.stringify({ spec }));
  }
  const has = (context: string, name: string) => tree.json(context, 'configmap', name, '-n', 'default') !== undefined;
  const at = (name: string) =>
    ['eu:paris:rivoli', 'eu:paris:bastille', 'us:market', 'hq'].filter((cluster) => has(`cluster/${cluster}`, name));
  const summary = (name: string, of = space) => tree.json<Shown>(of, 'epl', name)?.status?.summary;

  beforeAll(() => tree.up());
  afterAll(() => tree[Symbol.asyncDispose]());

  it('by properties that change at run time; a destination at which an expression cannot be true gets nothing', async () => {
    for (const [node, name, carbon] of [
      ['eu:paris', 'rivoli', '56'],
      ['eu:paris', 'bastille', '60.5'],
      ['us', 'market', '380'],
    ] as const) {
      patchSyncTarget(node, name, { properties: { 'carbon.gPerKWh': carbon } });
    }
    place('green', { locationExpression: 'double(properties["carbon.gPerKWh"]) < 60.0' });
    await until('it is in Paris', () => summary('green')?.available === 1);
    expect(at('green')).toEqual(['eu:paris:rivoli']);
    const failing = () => tree.json<Shown>(space, 'epl', 'green')?.status?.conditions?.find(isFailing);
    await until('it says where it can not be evaluated', () => failing()?.message.includes('3 destinations') === true);
    expect(failing()?.message).toMatch(/2 below eu: .*no such key.*; hq: /i);
    expect([has('mailbox/eu', 'green'), has('mailbox/us', 'green')]).toEqual([true, false]);
    patchSyncTarget('us', 'market', { properties: { 'carbon.gPerKWh': '21.5' } });
    patchSyncTarget('eu:paris', 'rivoli', { properties: { 'carbon.gPerKWh': '90' } });
    await until('it has moved', () => at('green').join() === 'us:market');
    await until('nothing of it is left above Paris', () => !has('mailbox/eu', 'green'));
    await until('one is expected', () => summary('green')?.expected === 1);
  });

  it('by a Location that selects several SyncTargets: each is a destination', async () => {
    for (const name of ['rivoli', 'bastille']) tree.ok('node/eu:paris', 'label', 'synctarget', name, 'bank=right');
    const location = {
      apiVersion: 'inventory.banyan.io/v1alpha1',
      kind: 'Location',
      metadata: { name: 'right-bank', labels: { district: 'right-bank' } },
      spec: { instanceSelector: { matchLabels: { bank: 'right' } } },
    };
    expect(tree.apply('node/eu:paris', location).code).toBe(0);
    place('bank', { locationSelectors: [{ matchLabels: { district: 'right-bank' } }] });
    await until('both have it', () => summary('bank')?.available === 2);
    expect(at('bank')).toEqual(['eu:paris:rivoli', 'eu:paris:bastille']);
    expect(summary('bank')).toMatchObject({ expected: 2 });
  });

  it('and show them at every level: one by one in the own inventory, as counts above', async () => {
    interface Slice {
      destinations?: { path: string; locationName: string }[];
      subtrees?: { path: string; matched: number }[];
    }
    const slice = (context: string) => tree.json<Slice>(`space/${context}`, 'sps', 'bank-0');
    await until('the center counts', () => slice('center/retail')?.subtrees?.[0]?.matched === 2);
    expect(slice('eu/center.retail')).toMatchObject({ subtrees: [{ path: 'eu:paris', matched: 2 }] });
    expect(slice('eu:paris/center.retail')?.destinations).toMatchObject([
      { path: 'eu:paris:bastille', locationName: 'right-bank' },
      { path: 'eu:paris:rivoli', locationName: 'right-bank' },
    ]);
    expect(slice('us/center.retail')).toBeUndefined();
  });

  it('but no unschedulable destination, where existing objects stay', async () => {
    place('before', { locationSelectors: [{ matchLabels: { env: 'prod' } }] });
    await until('it is everywhere', () => summary('before')?.available === 5);
    patchSyncTarget('center', 'hq', { unschedulable: true });
    place('after', { locationSelectors: [{ matchLabels: { env: 'prod' } }] });
    await until('it is everywhere else', () => summary('after')?.available === 4);
    expect([summary('after')?.expected, at('after').includes('hq'), at('before').includes('hq')]).toEqual([
      4,
      false,
      true,
    ]);
    patchSyncTarget('center', 'hq', { unschedulable: false });
    await until('it is there too', () => at('after').includes('hq'));
  });

  it('and leave a destination whose evictAfter has passed, even if its node was away at that time', async () => {
    expect(at('before')).toContain('us:market');
    patchSyncTarget('us', 'market', { evictAfter: new Date(Date.now() + 10_000).toISOString() });
    expect(at('before')).toContain('us:market');
    tree.kill('us');
    await until('it has gone', () => !at('before').includes('us:market'));
    await until('it is not expected there', () => summary('before')?.expected === 4);
    patchSyncTarget('us', 'market', { evictAfter: null });
    await until('it is there again', () => at('before').includes('us:market'));
  });

  it('and are refused, with field and remedy, if a selector or an expression is invalid', () => {
    const refused = (spec: object) => {
      const { code, out } = tree.apply(space, placement('bad', spec));
      expect(code).not.toBe(0);
      return out;
    };
    const operator = { matchExpressions: [{ key: 'env', operator: 'Near', values: ['x'] }] };
    expect(refused({ locationSelectors: [operator] })).toContain(
      'spec.locationSelectors[0].matchExpressions[0].operator',
    );
    expect(refused({ locationExpression: 'properties["a"] <' })).toContain('spec.locationExpression: Invalid value');
    expect(refused({ locationExpression: 'size(properties)' })).toContain('must be of type bool');
    const loops = 'properties.all(a, properties.all(b, properties.all(c, a + b + c != "x")))';
    expect(refused({ locationExpression: loops })).toContain('costs too much');
    expect(refused({})).toContain('matchLabels: {} selects every Location');
  });
});
