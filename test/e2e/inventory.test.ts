import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withoutKubectl } from '../support/kubectl.ts';
import { banyan, LocalTree, until } from './local-tree.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const [retail, fleet, cluster] = ['space/center/retail', 'space/center/fleet', 'cluster/eu:paris:store-17'];
const apiVersion = 'inventory.banyan.io/v1alpha1';

interface Shown {
  metadata: { uid: string };
  data?: Record<string, string>;
  status?: { summary?: { expected: number; available: number } };
  destinations?: { path: string; locationName: string; syncTargetName: string }[];
}

describe.skipIf(withoutKubectl)(`an inventory space at the center${why}`, () => {
  const tree = new LocalTree('test/e2e/inventory-topology.yaml');
  const got = () => tree.json<Shown>(cluster, 'configmap', 'menu', '-n', 'default');
  const summary = () => tree.json<Shown>(retail, 'epl', 'menu')?.status?.summary;
  const syncTarget = (name: string, spec: object) =>
    tree.apply(fleet, { apiVersion, kind: 'SyncTarget', metadata: { name, labels: { owner: 'platform' } }, spec });
  const locate = (labels: object) => {
    const spec = { instanceSelector: { matchLabels: { owner: 'platform' } } };
    const { code, out } = tree.apply(fleet, {
      apiVersion,
      kind: 'Location',
      metadata: { name: 'cafes', labels },
      spec,
    });
    expect(code, out).toBe(0);
  };

  beforeAll(() => tree.up());
  afterAll(() => tree[Symbol.asyncDispose]());

  it('refuses a SyncTarget without an agent, and the system space refuses a SyncTarget with an agent', () => {
    expect(syncTarget('cafe', {}).out).toContain('spec.attachTo: Required value: write the path of the agent');
    expect(syncTarget('cafe', { attachTo: 'eu:Store' }).out).toMatch(
      /spec\.attachTo: Invalid value: "eu:Store": "Store"/,
    );
    const own = { apiVersion, kind: 'SyncTarget', metadata: { name: 'x' }, spec: { attachTo: 'eu:x' } };
    expect(tree.apply('node/center', own).out).toContain('spec.attachTo: Forbidden');
  });

  it('makes an agent three levels below a destination, with its labels in this space and those of its relays', async () => {
    const downsync = [{ apiGroup: '', resources: ['configmaps'], namespaces: ['default'], objectNames: ['menu'] }];
    tree.ok(retail, 'create', 'configmap', 'menu', '--from-literal=dish=%(kind)', '-n', 'default');
    tree.ok(retail, 'annotate', 'configmap', 'menu', '-n', 'default', 'edge.banyan.io/expand-parameters=true');
    // With the default strategy, the last copy would stay until the deadline when its Location goes.
    const move = { strategy: 'None' };
    const spec = { locationSelectors: [{ matchLabels: { kind: 'cafe', region: 'eu' } }], downsync, move };
    const placement = {
      apiVersion: 'edge.banyan.io/v1alpha1',
      kind: 'EdgePlacement',
      metadata: { name: 'menu' },
      spec,
    };
    expect(tree.apply(retail, placement).code).toBe(0);
    await until('nobody is expected', () => summary()?.expected === 0);
    const { code, out } = syncTarget('cafe', { attachTo: 'eu:paris:store-17', properties: { seats: '12' } });
    expect(code, out).toBe(0);
    locate({ kind: 'cafe' });
    await until('it is there', () => summary()?.available === 1);
    expect([got()?.data, summary()?.expected]).toEqual([{ dish: 'cafe' }, 1]);
    expect(tree.json<Shown>('space/eu:paris/center.retail', 'sps', 'menu-0')?.destinations).toMatchObject([
      { path: 'eu:paris:store-17', locationName: 'cafes', syncTargetName: 'cafe' },
    ]);
  });

  it('removes the objects with the Location, and brings them back with it', async () => {
    tree.ok(fleet, 'delete', 'location', 'cafes');
    await until('it is gone', () => got() === undefined);
    await until('nobody is expected', () => summary()?.expected === 0);
    const asked = ['why', 'configmap/menu', '-n', 'default', '--at', 'eu:paris:store-17'];
    const answer = banyan(...asked, '--space', retail, '--data', tree.data).out;
    expect(answer).toContain("nothing below matches the placement's locationSelectors");
    expect(answer).toContain('space/center/fleet: SyncTarget cafe stands for it: no Location selects it');
    locate({ kind: 'cafe' });
    await until('it is back', () => summary()?.available === 1);
  });

  it('stays at a relay that restarts while all nodes above are away', async () => {
    const uid = got()?.metadata.uid;
    const above = ['center', 'eu'].map((path) => tree.pid(path));
    const paris = tree.pid('eu:paris');
    for (const pid of above) process.kill(pid, 'SIGSTOP');
    try {
      tree.kill('eu:paris');
      await until('the relay is another process', () => tree.pid('eu:paris') !== paris);
      const here = () => tree.json<Shown>('space/eu:paris/center.retail', 'epl', 'menu')?.status?.summary;
      await until('its cluster is heard again', () => here()?.available === 1);
      expect(got()?.metadata.uid).toBe(uid);
    } finally {
      for (const pid of above) process.kill(pid, 'SIGCONT');
    }
  });

  it.each([
    ['last', 'eu.paris', 'tea'],
    ['first', 'eu', 'milk'],
  ])(
    'comes back to the %s relay after it has lost its store, and the cluster loses nothing meanwhile',
    async (_, lost, drink) => {
      const uid = got()?.metadata.uid;
      await until('the center has heard all', () => summary()?.available === 1);
      await tree.down();
      rmSync(join(tree.data, 'nodes', lost), { recursive: true });
      await tree.up();
      tree.ok(
        retail,
        'patch',
        'configmap',
        'menu',
        '-n',
        'default',
        '--type=merge',
        '-p',
        JSON.stringify({ data: { drink } }),
      );
      await until('a change arrives', () => got()?.data?.drink === drink);
      expect(got()?.metadata.uid).toBe(uid);
    },
    90_000,
  );

  it('is enough for an agent to join: its parent need not know the agent', async () => {
    const uid = got()?.metadata.uid;
    tree.ok('node/eu:paris', 'delete', '--ignore-not-found', 'synctarget,location', 'store-17');
    const before = tree.pid('eu:paris:store-17');
    tree.kill('eu:paris:store-17');
    await until('the agent is another process', () => tree.pid('eu:paris:store-17') !== before);
    tree.ok(retail, 'patch', 'configmap', 'menu', '-n', 'default', '--type=merge', '-p', '{"data":{"drink":"water"}}');
    await until('a change arrives', () => got()?.data?.drink === 'water');
    expect([got()?.metadata.uid, summary()?.expected]).toEqual([uid, 1]);
  });
});
