import { describe, expect, it } from 'vitest';
import { wantedTree } from '../../../../center/supervisor/wanted-tree.ts';
import { differencesBetween } from '../../../../center/topology/differences.ts';
import { movesBetween } from '../../../../center/topology/moves.ts';
import { parseTopology } from '../../../../center/topology/parse.ts';
import { type PlannedNode, planOf, withoutPath } from '../../../../center/topology/plan.ts';

interface Shape {
  readonly relays?: readonly string[];
  readonly clusters?: readonly string[];
}

/** `relays` and `clusters`: lines of the topology, such as `{name: eu}`. */
function nodesOf({ relays = [], clusters = [] }: Shape): PlannedNode[] {
  const list = (lines: readonly string[]) => `[${lines.join(', ')}]`;
  const spec = `{center: {}, relays: ${list(relays)}, clusters: ${list(clusters)}}`;
  const parsed = parseTopology(`apiVersion: banyan.io/v1alpha1\nkind: Topology\nmetadata: {name: t}\nspec: ${spec}\n`);
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  return planOf(parsed.topology);
}

const eu = '{name: eu}';
const us = '{name: us}';
const paris = (parent: string) => `{name: paris, parent: ${parent}}`;
const shop = (parent: string, more = '') => `{name: shop, parent: "${parent}"${more}}`;

function between(before: Shape, after: Shape) {
  return differencesBetween({ nodes: nodesOf(before) }, { nodes: nodesOf(after) });
}

describe('a move', () => {
  it('of a cluster is found by its name', () => {
    const found = between({ relays: [eu, us], clusters: [shop('eu')] }, { relays: [eu, us], clusters: [shop('us')] });
    expect(found).toMatchObject([{ action: 'move', role: 'agent', path: 'us:shop', from: 'eu:shop' }]);
    expect(found[0]!.takesAway).toContain('workloads of spaces at eu');
  });

  it('of a relay takes the nodes below it along', () => {
    const before = { relays: [eu, us, paris('eu')], clusters: [shop('eu:paris')] };
    const after = { relays: [eu, us, paris('us')], clusters: [shop('us:paris')] };
    expect([...movesBetween(nodesOf(before), nodesOf(after))]).toEqual([
      ['us:paris', 'eu:paris'],
      ['us:paris:shop', 'eu:paris:shop'],
    ]);
    expect(between(before, after).map(({ path, takesAway }) => [path, takesAway !== undefined])).toEqual([
      ['us:paris', true],
      ['us:paris:shop', false],
    ]);
  });

  it('is found by the name of the parent too, where regions have clusters of the same names', () => {
    const regions = ['{name: paris}', '{name: lyon}', eu, paris('eu'), '{name: lyon, parent: eu}'];
    const before = { relays: regions, clusters: [shop('paris'), shop('lyon')] };
    const after = { relays: regions, clusters: [shop('eu:paris'), shop('eu:lyon')] };
    expect(movesBetween(nodesOf(before), nodesOf(after))).toEqual(
      new Map([
        ['eu:paris:shop', 'paris:shop'],
        ['eu:lyon:shop', 'lyon:shop'],
      ]),
    );
  });

  it('is none when a name has left two places, or another kind of cluster came', () => {
    const twice = { relays: [eu, us], clusters: [shop('eu'), shop('us')] };
    const once = { relays: [eu, us, '{name: asia}'], clusters: [shop('asia')] };
    expect(movesBetween(nodesOf(twice), nodesOf(once)).size).toBe(0);
    const real = { relays: [eu, us], clusters: [shop('us', ', provider: {kubeconfig: {path: k}}')] };
    expect(movesBetween(nodesOf({ relays: [eu, us], clusters: [shop('eu')] }), nodesOf(real)).size).toBe(0);
  });
});

describe('differences', () => {
  it('are none between equal trees', () => {
    const shape = { relays: [eu, us], clusters: [shop('eu')] };
    expect(between(shape, shape)).toEqual([]);
    // The name of a field that every JavaScript object inherits.
    const named = { clusters: ['{name: constructor}'] };
    expect(between(named, named)).toEqual([]);
  });

  it.each([
    ['labels that go', ', labels: {env: prod}', ', labels: {}', 'labels', true],
    ['labels that come', '', ', labels: {env: prod}', 'labels', false],
    ['another value of a property', ', properties: {a: "1"}', ', properties: {a: "2"}', 'properties', true],
    ['annotations', ', annotations: {a: "1"}', '', 'annotations', false],
    ['the link', '', ', link: {transport: grpc}', 'link', false],
    ['the quota', '', ', quota: {entries: 5}', 'quota', false],
  ])('of a cluster: %s', (_what, before, after, field, takesAway) => {
    const [found, ...others] = between(
      { relays: [eu], clusters: [shop('eu', before)] },
      { relays: [eu], clusters: [shop('eu', after)] },
    );
    expect([found?.action, found?.path, found?.fields.map((one) => one.field), others]).toEqual([
      'change',
      'eu:shop',
      [field],
      [],
    ]);
    expect(found?.takesAway !== undefined).toBe(takesAway);
  });

  it('of a relay: replicas, claims, and a space that goes with its objects', () => {
    const before = { relays: ['{name: eu, spaces: [{name: ops}]}'] };
    expect(between(before, { relays: [eu] })).toMatchObject([
      { action: 'change', fields: [{ field: 'spaces' }], takesAway: 'the objects of ops, and their copies below' },
    ]);
    expect(between({ relays: [eu] }, { relays: ['{name: eu, replicas: 2}'] })).toMatchObject([
      { fields: [{ field: 'replicas', before: 1, after: 2 }] },
    ]);
    expect(between({ relays: [eu] }, { relays: ['{name: eu, claims: {labels: {}, properties: {}}}'] })).toMatchObject([
      { fields: [{ field: 'claims' }] },
    ]);
  });

  it('of a removal come from below, and name what goes', () => {
    const found = between({ relays: [eu], clusters: [shop('eu')] }, {});
    expect(found.map(({ action, path, takesAway }) => [action, path, takesAway])).toEqual([
      ['remove', 'eu:shop', 'the workloads at this cluster'],
      ['remove', 'eu', undefined],
    ]);
  });

  it('are left until the parents have forgotten what is gone', () => {
    const nodes = nodesOf({});
    expect(differencesBetween({ nodes, withdraw: ['eu'] }, { nodes })).toEqual([
      { action: 'withdraw', path: 'eu', fields: [] },
    ]);
  });
});

it('a tree without a path is the tree of a topology that does not name the path', () => {
  const shape = { relays: [eu, us, paris('eu')], clusters: [shop('eu:paris'), '{name: other, parent: us}'] };
  const withoutEu = withoutPath(nodesOf(shape), 'eu');
  expect(withoutEu.map(({ id }) => id)).toEqual(['', 'us', 'us:other']);
  expect(withoutEu[0]).toMatchObject({ relays: ['us'] });
  const withoutOther = withoutPath(nodesOf(shape), 'us:other');
  expect(withoutOther.find(({ id }) => id === 'us')?.inventory).toEqual([]);
});

describe('what a directory is to become', () => {
  const before = {
    name: 't',
    nodes: nodesOf({ relays: [eu, us, paris('eu')], clusters: [shop('eu:paris')] }),
    moved: {},
    withdraw: [],
    removedAtMs: {},
  };

  it('forgets the topmost of the nodes that are gone, also where they have moved', () => {
    const without = wantedTree(before, { name: 't', nodes: nodesOf({ relays: [us] }) });
    expect([without.moved, without.withdraw]).toEqual([{}, ['eu']]);
    const moved = wantedTree(before, {
      name: 't',
      nodes: nodesOf({ relays: [eu, us, paris('us')], clusters: [shop('us:paris')] }),
    });
    expect([moved.moved, moved.withdraw]).toEqual([
      { 'us:paris': 'eu:paris', 'us:paris:shop': 'eu:paris:shop' },
      ['eu:paris'],
    ]);
  });

  it('still forgets what an interrupted change has left, unless it came back', () => {
    const left = { ...before, nodes: nodesOf({ relays: [us] }), withdraw: ['eu'] };
    expect(wantedTree(left, { name: 't', nodes: nodesOf({ relays: [us] }) }).withdraw).toEqual(['eu']);
    expect(wantedTree(left, { name: 't', nodes: nodesOf({ relays: [eu, us] }) }).withdraw).toEqual([]);
  });
});
