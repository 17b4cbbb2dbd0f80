/** A deployed tree, as its API shows it, compared with a topology. */
import { describe, expect, it } from 'vitest';
import { compareDeployed, type SeenNode, type SeenTree } from '../../../../center/topology/deployed.ts';
import { parseTopology } from '../../../../center/topology/parse.ts';
import { planOf } from '../../../../center/topology/plan.ts';

const compare = (spec: string, nodes: readonly SeenNode[], silent: Record<string, string> = {}) => {
  const parsed = parseTopology(`apiVersion: banyan.io/v1alpha1\nkind: Topology\nmetadata: {name: t}\nspec: ${spec}\n`);
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  const seen: SeenTree = { nodes: [center, ...nodes], silent: new Map(Object.entries(silent)) };
  return compareDeployed(seen, parsed.topology, planOf(parsed.topology));
};
const center: SeenNode = { path: '', role: 'center', state: 'Connected', replicas: 1, spaces: [] };
const relay = (path: string, more: Partial<SeenNode> = {}): SeenNode => ({
  path,
  role: 'relay',
  state: 'Connected',
  replicas: 1,
  spaces: [],
  ...more,
});
const nothing = { labels: {}, annotations: {}, properties: {} };
const agent = (path: string, more: Partial<SeenNode> = {}): SeenNode => ({
  path,
  role: 'agent',
  state: 'Connected',
  replicas: 1,
  inventory: nothing,
  ...more,
});
const actions = ({ differences }: ReturnType<typeof compare>) =>
  differences.map(({ action, path, from }) => [action, path, ...(from === undefined ? [] : [from])].join(' '));
const twoRegions = 'relays: [{name: eu}, {name: us}]';

describe('a deployed tree', () => {
  it('that is as the topology says has no differences, in whatever order it shows spaces and values', () => {
    const found = compare(
      `{center: {spaces: [{name: b}, {name: a, limits: {objects: 1}}]}, relays: [{name: eu, claims: {labels: {env: [prod, dev]}, properties: {}}, link: {}}], clusters: [{name: s, parent: eu, labels: {env: prod}}]}`,
      [
        relay('eu', { claims: { labels: { env: ['dev', 'prod'] } } }),
        agent('eu:s', { inventory: { ...nothing, labels: { env: 'prod' } } }),
      ],
    );
    // The center has none of its spaces.
    expect(actions(found)).toEqual(['change ']);
    const spaces = [
      { name: 'a', type: 'Workload', limits: { objects: 1 }, isConfigured: true },
      { name: 'b', type: 'Workload', isConfigured: false },
    ] as const;
    const same = compare('{center: {spaces: [{name: b}, {name: a, limits: {objects: 1}}]}}', [{ ...center, spaces }]);
    expect(same.differences).toEqual([]);
    expect(found.notCompared).toEqual([{ path: 'eu', fields: ['link'] }]);
  });

  it('shows fields of the inventory, claims with what the topology gives, and quotas', () => {
    const found = compare(
      '{relays: [{name: eu, claims: {labels: {size: [big]}, properties: {}}}], clusters: [{name: s, parent: eu, labels: {env: prod}, quota: {entries: 5}}]}',
      [relay('eu'), agent('eu:s')],
    );
    expect(found.differences).toMatchObject([
      { path: 'eu', fields: [{ field: 'claims', after: { labels: { size: ['big'], env: ['prod'] } } }] },
      {
        path: 'eu:s',
        fields: [
          { field: 'labels', before: {}, after: { env: 'prod' } },
          { field: 'quota', after: { entries: 5 } },
        ],
      },
    ]);
  });

  it('takes a name that every JavaScript object has for any other', () => {
    const found = compare(
      '{relays: [{name: eu, claims: {labels: {}, properties: {}}}], clusters: [{name: constructor}, {name: s, parent: eu, labels: {constructor: acme}}]}',
      [relay('eu'), agent('constructor', { state: 'Never' }), agent('eu:s')],
    );
    expect(actions(found)).toEqual(['change eu', 'change eu:s', 'join constructor']);
    expect(found.differences[0]!.fields[0]!.after).toEqual({ labels: { constructor: ['acme'] }, properties: {} });
  });

  it('has nodes to add, nodes that were admitted and have not joined, and nodes to remove', () => {
    const found = compare(`{${twoRegions}, clusters: [{name: s, parent: us}]}`, [
      relay('eu', { state: 'Never' }),
      relay('asia'),
      agent('asia:t'),
      relay('old', { state: 'Never' }),
    ]);
    expect(actions(found)).toEqual(['add us', 'add us:s', 'remove asia:t', 'remove asia', 'join eu', 'remove old']);
    expect(found.differences.find(({ path }) => path === 'asia:t')?.takesAway).toBe('the workloads at this cluster');
  });
});

describe('a move', () => {
  const spec = `{${twoRegions}, clusters: [{name: s, parent: us, provider: {kubeconfig: {path: k}}}]}`;
  const regions = [relay('eu'), relay('us')];

  it('is one until the node has joined at its new place', () => {
    expect(actions(compare(spec, [...regions, agent('eu:s')]))).toEqual(['move us:s eu:s']);
    expect(actions(compare(spec, [...regions, agent('eu:s'), agent('us:s', { state: 'Never' })]))).toEqual([
      'move us:s eu:s',
    ]);
  });

  it('leaves its former place behind, which is withdrawn', () => {
    const gone = agent('eu:s', { state: 'Disconnected' });
    expect(actions(compare(spec, [...regions, gone, agent('us:s')]))).toEqual(['withdraw eu:s']);
  });

  it('is none while a cluster of this name still works at the other place', () => {
    expect(actions(compare(spec, [...regions, agent('eu:s'), agent('us:s')]))).toEqual(['remove eu:s']);
    const away = agent('us:s', { state: 'Disconnected' });
    expect(actions(compare(spec, [...regions, agent('eu:s', { state: 'Disconnected' }), away]))).toEqual([
      'remove eu:s',
    ]);
  });
});

it('a relay lacks the hosts of relays below that its parent does not admit; hosts that persons have admitted stay', () => {
  const names = (...hosts: string[]) => `deploy: {names: [${hosts.join(', ')}]}`;
  const spec = `{relays: [{name: eu, ${names('eu.test')}}, {name: paris, parent: eu, ${names('paris.eu.test', '10.1.1.1')}}]}`;
  const paris = relay('eu:paris', { hosts: ['paris.eu.test', '10.1.1.1'] });
  const found = compare(spec, [relay('eu', { hosts: ['eu.test', 'old.test'] }), paris]);
  expect(found.differences).toEqual([
    {
      action: 'change',
      role: 'relay',
      path: 'eu',
      fields: [{ field: 'hosts', before: ['eu.test', 'old.test'], after: ['10.1.1.1', 'eu.test', 'old.test'] }],
    },
  ]);
  expect(compare(spec, [relay('eu', { hosts: ['eu.test', '10.1.1.1'] }), paris]).differences).toEqual([]);
});

describe('a relay at another place', () => {
  const spec = `{relays: [{name: eu}, {name: us}, {name: paris, parent: us}], clusters: [{name: s, parent: "us:paris"}]}`;
  const regions = [relay('eu'), relay('us')];
  const [former, shop] = [relay('eu:paris'), agent('eu:paris:s')];

  it('is another relay, which takes over the children of the former one', () => {
    const found = compare(spec, [...regions, former, shop]);
    expect(actions(found)).toEqual(['add us:paris eu:paris', 'remove eu:paris', 'move us:paris:s eu:paris:s']);
    expect(found.differences.find(({ action }) => action === 'remove')?.takesAway).toMatch(/workloads of spaces at eu/);
  });

  it('takes the children one by one, and then the former one is removed', () => {
    const waiting = relay('us:paris', { state: 'Never' });
    expect(actions(compare(spec, [...regions, former, shop, waiting]))).toEqual([
      'move us:paris:s eu:paris:s',
      'remove eu:paris',
      'join us:paris',
    ]);
    const beside = [...regions, former, relay('us:paris')];
    expect(actions(compare(spec, [...beside, shop]))).toEqual(['move us:paris:s eu:paris:s', 'remove eu:paris']);
    const left = agent('eu:paris:s', { state: 'Disconnected' });
    expect(actions(compare(spec, [...beside, left, agent('us:paris:s')]))).toEqual([
      'remove eu:paris',
      'withdraw eu:paris:s',
    ]);
  });

  it('is not forgotten while it is away, because its children may still be below it', () => {
    const away = relay('eu:paris', { state: 'Disconnected' });
    const found = compare(spec, [...regions, away, relay('us:paris')], { 'eu:paris': 'it is not connected' });
    expect(actions(found)).toEqual(['add us:paris:s', 'remove eu:paris']);
    expect(found.differences[1]!.takesAway).toContain('whatever is at and below eu:paris');
  });

  it('knows clusters of the same names by their parents', () => {
    const two = `{relays: [{name: eu}, {name: us}, {name: paris, parent: us}, {name: lyon, parent: us}], clusters: [{name: s, parent: "us:paris"}, {name: s, parent: "us:lyon"}]}`;
    const lyon = [relay('eu:lyon'), relay('us:lyon'), agent('eu:lyon:s')];
    const left = agent('eu:paris:s', { state: 'Disconnected' });
    expect(actions(compare(two, [...regions, former, relay('us:paris'), left, agent('us:paris:s'), ...lyon]))).toEqual([
      'move us:lyon:s eu:lyon:s',
      'remove eu:lyon',
      'remove eu:paris',
      'withdraw eu:paris:s',
    ]);
  });
});

describe('a relay that can not be asked', () => {
  const silent = { eu: 'it is not connected' };
  const away = relay('eu', { state: 'Disconnected' });
  const { spaces: _spaces, ...unasked } = away;

  it('hides its spaces and everything below it, and is named', () => {
    const found = compare(
      '{relays: [{name: eu, spaces: [{name: ops}]}], clusters: [{name: s, parent: eu, labels: {a: b}}]}',
      [unasked],
      silent,
    );
    expect(found.differences).toEqual([]);
    expect(found.notCompared).toEqual([{ path: 'eu', fields: ['spaces', 'everything below'], reason: silent.eu }]);
  });

  it('takes something away if it is to be removed: nobody knows what', () => {
    const [removal] = compare('{relays: []}', [unasked], silent).differences;
    expect(removal).toMatchObject({ action: 'remove', path: 'eu' });
    expect(removal!.takesAway).toContain('whatever is at and below eu');
  });
});
