import { describe, expect, it } from 'vitest';
import { why } from '../../../../center/cli/why.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { sliceOf } from '../../../../relay/gather/status/slice-contents.ts';

const nowMs = Date.parse('2030-01-01T10:00:00Z');
const space = 'space/center/retail';
const question = { object: { kind: 'configmap', name: 'prices' }, namespace: 'till', space, at: 'eu:shop', nowMs };
const inventory = '/apis/inventory.banyan.io/v1alpha1';
const edge = '/apis/edge.banyan.io/v1alpha1';

/** The objects of each context, by path. `names`: placements that select the object and reach eu:shop. */
function treeWith(names: readonly string[], more: Readonly<Record<string, KubeObject>> = {}) {
  const object = (kind: string, name: string, rest: object = {}): KubeObject => ({
    apiVersion: 'v1',
    kind,
    metadata: { name, namespace: 'till', generation: 1 },
    ...rest,
  });
  const prices = object('ConfigMap', 'prices');
  const selecting = { spec: { downsync: [{ apiGroup: '*', resources: ['*'], namespaces: ['till'] }] } };
  const placements = names.map((name) => object('EdgePlacement', name, selecting));
  const destinations = [
    { cluster: 'shop', locationName: 'shop', syncTargetName: 'shop', syncTargetUID: 'u', path: 'eu:shop' },
  ];
  // As a relay shows them for a placement from above: without an owner.
  const slices = names.map((name, i) => sliceOf({ name }, i, { destinations }));
  const found: Record<string, KubeObject> = {
    [`${space} /apis`]: object('APIGroupList', ''),
    [`${space} /api/v1`]: {
      ...object('APIResourceList', ''),
      resources: [{ name: 'configmaps', singularName: 'configmap', kind: 'ConfigMap', namespaced: true }],
    } as KubeObject,
    ...Object.fromEntries(
      [space, 'space/eu/center.retail', 'mailbox/eu:shop', 'cluster/eu:shop'].map((at) => [
        `${at} /api/v1/namespaces/till/configmaps/prices`,
        prices,
      ]),
    ),
    ...Object.fromEntries(
      placements.map((one) => [`space/eu/center.retail ${edge}/edgeplacements/${one.metadata.name}`, one]),
    ),
    ...more,
  };
  const lists: Record<string, KubeObject[]> = {
    [`${space} ${edge}/edgeplacements`]: placements,
    [`space/eu/center.retail ${edge}/singleplacementslices`]: slices,
    [`${space} /api/v1/configmaps?fieldSelector=metadata.name%3Dprices`]: [prices],
    [`${space} /api/v1/namespaces/till/configmaps?limit=500`]: [prices],
  };
  return {
    contexts: () => [
      'node/center',
      'node/eu',
      'node/eu-west',
      space,
      'space/eu/center.retail',
      'space/eu/ops',
      'space/eu-west/center.retail',
      'mailbox/eu',
      'mailbox/eu:shop',
      'mailbox/eu-west:lab',
      'cluster/eu:shop',
    ],
    get: async (context: string, path: string) => found[`${context} ${path}`],
    list: async (context: string, path: string) => lists[`${context} ${path}`] ?? [],
  };
}

describe('banyan why', () => {
  const long = 'p'.repeat(100);

  it.each(['till', 'n'.repeat(63), 'n'.repeat(64), long, 'p'.repeat(253)])(
    'finds the Location by which the placement %s reaches the cluster',
    async (name) => {
      const lines = await why(treeWith([name]), question);
      expect(lines).toContain(`${name}: matches the Location shop`);
      expect(lines.join('\n')).not.toContain('matches none');
    },
  );

  it('names the exception of a placement that leaves the object out', async () => {
    const tree = treeWith(['shop']);
    const [selecting] = await tree.list(space, `${edge}/edgeplacements`);
    const item = (selecting!.spec as { downsync: object[] }).downsync[0];
    const downsync = [{ ...item, except: [{ resources: ['secrets'] }, { objectNames: ['prices'] }] }];
    const list = async () => [{ ...selecting!, spec: { downsync } }];
    expect(await why({ ...tree, list }, question)).toEqual([
      `${space}: it is here, generation 1`,
      `${space}: no EdgePlacement selects it (spec.downsync), so it goes nowhere`,
      `${space}: shop leaves it out (spec.downsync[0].except[1])`,
    ]);
  });

  it.each([
    [{ namespaces: ['shop-*'] }, true],
    [{ namespaces: ['till'] }, false],
    [undefined, false],
  ])('says that the Space with %j does not let the object leave: %j', async (delivery, isOutside) => {
    const path = '/apis/mesh.banyan.io/v1alpha1/spaces/retail';
    const of = { apiVersion: 'mesh.banyan.io/v1alpha1', kind: 'Space', metadata: { name: 'retail' } };
    const lines = await why(
      treeWith(['shop'], { [`node/center ${path}`]: { ...of, spec: { delivery } as never } }),
      question,
    );
    const said = `${space}: the Space retail does not let it leave (spec.delivery.namespaces: ["shop-*"])`;
    expect(lines.includes(said)).toBe(isOutside);
  });

  it('goes on for a user who may not read the Space', async () => {
    const tree = treeWith(['shop']);
    const get = async (context: string, path: string) => {
      if (context === 'node/center') throw new BanyanError('Forbidden', 'spaces is forbidden');
      return tree.get(context, path);
    };
    expect(await why({ ...tree, get }, question)).toContain('shop: matches the Location shop');
  });

  it('reads an object that is stored in another version than the preferred one, and can not be converted', async () => {
    const tree = treeWith(['till']);
    const group = { preferredVersion: { groupVersion: 'net.example.com/v1' } };
    const versions = ['v1', 'v1beta1'].map((version) => ({ groupVersion: `net.example.com/${version}`, version }));
    const answers: Record<string, unknown> = {
      '/apis': { groups: [group] },
      '/apis/net.example.com': { ...group, versions },
      '/apis/net.example.com/v1': {
        resources: [{ name: 'peers', singularName: 'peer', kind: 'Peer', namespaced: true }],
      },
    };
    const prices = await tree.get(space, '/api/v1/namespaces/till/configmaps/prices');
    const get = async (context: string, path: string) => {
      if (path.includes('net.example.com/v1/namespaces')) throw new BanyanError('Internal', 'it can not be converted');
      if (path.includes('net.example.com/v1beta1/namespaces')) return prices;
      return (context === space && (answers[path] as KubeObject)) || tree.get(context, path);
    };
    const object = { kind: 'peer', name: 'prices' };
    expect(await why({ ...tree, get }, { ...question, object })).toContain(
      'cluster/eu:shop: it is there, uid undefined',
    );
    const none = { ...tree, get: (context: string, path: string) => get(context, path.replace('v1beta1', 'v1')) };
    await expect(why(none, { ...question, object })).rejects.toThrow('it can not be converted');
  });

  it('says that * does not include bookkeeping', async () => {
    const release = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kube-root-ca.crt', namespace: 'till' } };
    const tree = treeWith(['shop'], { [`${space} /api/v1/namespaces/till/configmaps/kube-root-ca.crt`]: release });
    const lines = await why(tree, { ...question, object: { kind: 'configmap', name: 'kube-root-ca.crt' } });
    expect(lines.at(-1)).toContain('* in resources does not include it, because it is bookkeeping');
  });

  it('distinguishes placements when one name begins with the other', async () => {
    const tree = treeWith(['till-1', `${long}q`]);
    const { list } = tree;
    const selecting = await list(space, `${edge}/edgeplacements`);
    const others = ['till', long].map((name) => ({ ...selecting[0]!, metadata: { ...selecting[0]!.metadata, name } }));
    const both = {
      ...tree,
      list: async (context: string, path: string) =>
        path.endsWith('edgeplacements') ? [...selecting, ...others] : list(context, path),
    };
    expect((await why(both, question)).filter((line) => line.includes(': matches '))).toEqual([
      'till-1: matches the Location shop',
      `${long}q: matches the Location shop`,
      'till: matches none of its Locations',
      `${long}: matches none of its Locations`,
    ]);
  });

  it.each([
    [{ at: 'eu:shopp' }, /--at: there is no cluster "eu:shopp": did you mean "eu:shop"\?/],
    [
      { at: 'tokyo:till' },
      /--at: there is no cluster "tokyo:till": for a list: npm exec -- banyan tree; known: eu:shop, eu-west:lab/,
    ],
    [{ at: 'eu' }, /--at: "eu" is no cluster but a relay: name a cluster below it, such as eu:shop/],
    [
      { object: { kind: 'configmap', name: 'price' } },
      /there is no configmap\/price in the namespace "till": did you mean "prices"\?/,
    ],
    [
      { object: { kind: 'configmap', name: 'zzzzzz' } },
      /there is no configmap\/zzzzzz .*kubectl --context space\/center\/retail get configmaps -A/,
    ],
    [
      { namespace: 'tills' },
      /no configmap\/prices in the namespace "tills"; there is one in another namespace: -n till/,
    ],
    [{ object: { kind: 'gadget', name: 'x' } }, /has no resource "gadget"/],
    [
      { space: 'space/eu/center.retail' },
      /shows what comes from space\/center\/retail: ask with --space space\/center\/retail/,
    ],
  ])('reports the missing part of %o, and the most similar name', async (wrong, message) => {
    await expect(why(treeWith(['till']), { ...question, ...wrong })).rejects.toThrow(message);
  });

  it.each([
    [{ state: 'Disconnected', since: '2030-01-01T09:57:00Z' }, ['node/eu: the agent has been away for 3m']],
    [{ state: 'Never' }, ['node/eu: the agent has never connected']],
    [{ state: 'Connected', since: '2030-01-01T09:57:00Z' }, []],
  ])('says whether the agent is away: %j', async (session, expected) => {
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'eu.shop' }, status: { session } };
    const tree = treeWith(['till'], { 'node/eu /apis/mesh.banyan.io/v1alpha1/nodes/eu.shop': node });
    expect((await why(tree, question)).filter((line) => line.includes('the agent'))).toEqual(expected);
  });

  it('knows an enrolled agent from its parent', async () => {
    const target = { apiVersion: 'inventory.banyan.io/v1alpha1', kind: 'SyncTarget', metadata: { name: 'till' } };
    const tree = treeWith(['till'], { [`node/eu ${inventory}/synctargets/till`]: target });
    expect((await why(tree, { ...question, at: 'eu:till' })).join('\n')).toContain(
      'mailbox/eu:till: it is not meant for this cluster',
    );
  });

  it('says that a space sends nothing beside its own node, also if one name begins with the other', async () => {
    const ops = 'space/eu/ops';
    const tree = treeWith(['till']);
    const at = (context: string) => (context === ops ? space : context);
    const here = {
      contexts: tree.contexts,
      get: (context: string, path: string) => tree.get(at(context), path),
      list: (context: string, path: string) => tree.list(at(context), path),
    };
    expect((await why(here, { ...question, space: ops, at: 'eu-west:lab' })).at(-1)).toMatch(
      /space\/eu\/ops: eu-west:lab is not below eu, and a space sends/,
    );
  });
});
