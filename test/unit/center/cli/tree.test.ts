import { describe, expect, it } from 'vitest';
import type { NodeApiClient } from '../../../../center/cli/api-client.ts';
import { treeRows } from '../../../../center/cli/tree.ts';
import { formatTree } from '../../../../center/cli/tree-output.ts';
import { timestamp } from '../../../../core/object/conditions.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';

const nowMs = Date.parse('2030-01-01T10:00:00Z');
const ago = (seconds: number) => timestamp(nowMs - seconds * 1000);

function node(path: string, status: object): KubeObject {
  const metadata = { name: path.replaceAll(':', '.') || 'center' };
  return { apiVersion: 'mesh.banyan.io/v1alpha1', kind: 'Node', metadata, spec: { path, role: 'Relay' }, status };
}

/** The objects of each node that answers, by its path. */
async function lines(shown: Record<string, KubeObject[]>): Promise<string[]> {
  const api: Pick<NodeApiClient, 'contexts' | 'list'> = {
    contexts: () => Object.keys(shown).map((path) => `node/${path || 'center'}`),
    list: (context) => Promise.resolve(shown[context.slice('node/'.length).replace(/^center$/, '')] ?? []),
  };
  return formatTree(await treeRows(api, ''), nowMs).split('\n');
}

it('shows the age of each node’s newest data from the root, if it is old', async () => {
  const away = { session: { state: 'Disconnected', since: ago(600) } };
  const [head, center, eu, shop, us] = await lines({
    '': [node('', {}), node('eu', away), node('us', { session: { state: 'Connected', since: ago(9_000) } })],
    eu: [node('eu', { rootContactAt: ago(615) }), node('eu:shop', { session: { state: 'Connected', since: ago(5) } })],
  });
  expect(head).toMatch(/^NODE +ROLE +SESSION +ROOT AGE +LAG/);
  expect(center).not.toMatch(/\d[smhd]/);
  expect(eu).toMatch(/eu +Relay +Disconnected +10m/);
  expect(shop).toMatch(/shop +Relay +Connected +10m/);
  expect(us).not.toMatch(/\d[smhd]/);
});

it('shows `never` for a node that has never been there, and the age of one that another replica has seen', async () => {
  const session = (state: string, since?: string) => ({ session: { state, ...(since ? { since } : {}) } });
  const rows = await lines({
    '': [node('', {}), node('eu', session('Connected')), node('us', session('Never'))],
    eu: [node('eu', {}), node('eu:shop', session('Never')), node('eu:till', session('Never'))],
    'eu~1': [node('eu', {}), node('eu:shop', session('Disconnected', ago(600)))],
  });
  const row = (name: string) => rows.find((line) => line.trim().startsWith(name));
  expect(row('us')).toMatch(/us +Relay +Never +never$/);
  expect(row('till')).toMatch(/till +Relay +Never +never$/);
  expect(row('shop')).toMatch(/shop +Relay +Disconnected +10m$/);
});

it('shows no age for a child that one replica of its parent has lost and another one has', async () => {
  const at = (session: object) => node('eu:shop', { session });
  const rows = await lines({
    '': [node('', {}), node('eu', { session: { state: 'Connected', since: ago(9_000) } })],
    eu: [node('eu', {}), at({ state: 'Disconnected', since: ago(600) })],
    'eu~1': [node('eu', {}), at({ state: 'Connected', since: ago(590) })],
  });
  expect(rows.filter((row) => row.includes('shop'))).toEqual([expect.stringMatching(/shop +Relay +Connected$/)]);
});

it('shows each alarm of a node once, whichever node reports it', async () => {
  const condition = (type: string, message: string) => ({ type, status: 'True', message });
  const held = { entries: 60, token: 't' };
  const [, center, eu] = await lines({
    '': [
      node('', { rolledBack: [{ source: 'center.retail', had: 1, seen: 5 }] }),
      node('eu', {
        held,
        refused: { count: 2 },
        conditions: [condition('CloneRefused', 'a copy of this node was refused: x')],
      }),
    ],
    eu: [node('eu', { held, conditions: [condition('DiskLow', 'the disk of its store is nearly full: with less')] })],
  });
  expect(center).toContain('StoreRolledBack: center.retail had 1, 5 seen below');
  expect(eu).toContain(
    'DeletionHeld: 60 entries; EntriesQuarantined: 2; CloneRefused: a copy of this node was refused; DiskLow: the disk of its store is nearly full',
  );
});

it('names the replica that counts the destinations, in the row of a replica without any', async () => {
  const [, , eu, other, us] = await lines({
    '': [node('', { agents: 3 })],
    eu: [node('eu', { agents: 0 })],
    'eu~1': [node('eu', { agents: 3 })],
    us: [node('us', { agents: 0 })],
  });
  expect(eu).toMatch(/eu +Relay +0 +destinations are counted by eu~1$/);
  expect(other).toMatch(/eu~1 +Relay +3$/);
  expect(us).toMatch(/us +Relay +0$/);
});

it('names the transport of each session in the wide form', async () => {
  const api: Pick<NodeApiClient, 'contexts' | 'list'> = {
    contexts: () => ['node/center'],
    list: () => Promise.resolve([node('eu', { session: { state: 'Connected', transport: 'websocket+terminated' } })]),
  };
  const rows = await treeRows(api, '');
  expect(formatTree(rows, nowMs, true)).toMatch(/SESSION +TRANSPORT[\s\S]*eu +Relay +Connected +websocket\+terminated/);
  expect(formatTree(rows, nowMs)).not.toContain('websocket');
});

it('adds a relay’s own reason why it has no session', async () => {
  const away = { state: 'Disconnected' };
  const message = 'there is no session with the parent: the proxy http://p:3128 wants authentication';
  const [, , eu] = await lines({
    '': [node('', {}), node('eu', { session: away, held: { entries: 3, token: 't' } })],
    eu: [node('eu', { session: away, conditions: [{ type: 'Ready', status: 'False', message }] })],
  });
  expect(eu).toContain(`DeletionHeld: 3 entries; ${message}`);
});

it('shows the children of replicas once, under the replica to which each is attached', async () => {
  const session = (state: string) => ({ session: { state } });
  const waits = {
    type: 'WaitsForParent',
    status: 'True',
    message: 'has accepted nothing from this parent since noon: x',
  };
  const shown = await lines({
    '': [node('', {}), node('eu', session('Disconnected')), node('eu~1', session('Connected'))],
    eu: [node('eu', {}), node('eu:shop', session('Disconnected'))],
    'eu~1': [node('eu', {}), node('eu:shop', { ...session('Connected'), conditions: [waits] })],
  });
  expect(shown.slice(1).map((line) => line.trim().split(/ {2,}/).slice(0, 3))).toEqual([
    ['center', 'Relay'],
    ['eu', 'Relay', 'Disconnected'],
    ['shop', 'Relay', 'Connected'],
    ['eu~1', 'Relay', 'Connected'],
  ]);
  expect(shown.join('\n')).toContain('WaitsForParent: has accepted nothing from this parent since noon');
});

it('puts each child under its parent when one name begins with another', async () => {
  const shown = await lines({
    '': [node('', {}), node('eu', {}), node('eu-west', {})],
    eu: [node('eu', {}), node('eu:shop', {})],
    'eu-west': [node('eu-west', {}), node('eu-west:lab', {})],
  });
  expect(shown.slice(1).map((line) => line.replace(/ +Relay.*/, ''))).toEqual([
    'center',
    '  eu',
    '    shop',
    '  eu-west',
    '    lab',
  ]);
});

describe('from a path downwards', () => {
  const agent = (state: string) => ({
    ...node('eu:till', { session: { state } }),
    spec: { path: 'eu:till', role: 'Agent' },
  });
  const tree = (root: string, shown: Record<string, KubeObject[] | undefined>) => {
    const list = (context: string) => {
      const nodes = shown[context];
      return nodes ? Promise.resolve(nodes) : Promise.reject(new Error('no answer'));
    };
    return treeRows({ contexts: () => [...Object.keys(shown), 'mailbox/eu:till'], list }, root);
  };
  const lean = (rows: readonly { path: string; session: string }[]) => rows.map(({ path, session }) => [path, session]);

  it('shows an agent as the replica shows it to which the agent is attached', async () => {
    const eu = { 'node/center': [node('', {}), node('eu', {})], 'node/eu': [node('eu', {}), agent('Disconnected')] };
    const rows = await tree('eu:till', { ...eu, 'node/eu~1': [node('eu', {}), agent('Connected')] });
    expect(formatTree(rows, nowMs).split('\n')).toEqual([
      expect.stringMatching(/^NODE /),
      expect.stringMatching(/^till +Agent +Connected/),
    ]);
  });

  it('shows a relay with its replicas and its parent’s report about them, and nothing above or beside it', async () => {
    const connected = { session: { state: 'Connected' } };
    const center = [node('', {}), node('eu', connected), node('eu~1', connected), node('us', {})];
    const rows = await tree('eu', {
      'node/center': center,
      'node/eu': [node('eu', {}), agent('Connected')],
      'node/eu~1': [node('eu', {})],
      'node/us': [node('us', {})],
    });
    expect(lean(rows)).toEqual([
      ['eu', 'Connected'],
      ['eu:till', 'Connected'],
      ['eu~1', 'Connected'],
    ]);
  });

  it('reports that the parent of an agent is silent, or that no node knows the agent', async () => {
    expect(lean(await tree('eu:till', { 'node/eu': undefined }))).toEqual([
      ['eu:till', 'unknown: node/eu is unreachable: no answer'],
    ]);
    await expect(tree('eu:none', { 'node/eu': [node('eu', {})] })).rejects.toThrow(/there is no node "eu:none"/);
    await expect(tree('us:till', { 'node/eu': [node('eu', {})] })).rejects.toThrow(/there is no node "us:till"/);
  });
});
