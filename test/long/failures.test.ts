import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { banyan, LocalTree, until } from '../e2e/local-tree.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const retail = 'space/center/retail';
const paris = 'node/eu:paris';

interface Failure {
  readonly path: string;
  readonly object?: string;
  readonly reason: string;
  readonly message: string;
  readonly since?: string;
}
interface Placement {
  readonly status?: { readonly summary?: Record<string, number>; readonly failures?: readonly Failure[] };
}
describe.skipIf(withoutKubectl)(`what is wrong with a placement${why}`, () => {
  const tree = new LocalTree('test/e2e/moves-topology.yaml');
  const status = () => tree.json<Placement>(retail, 'epl', 'web')?.status;
  const failureAt = (path: string) => status()?.failures?.find((one) => one.path === path);
  const deploy = (image: string) => {
    const containers = [{ name: 'app', image }];
    const items = [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'web', namespace: 'shop' },
        spec: {
          replicas: 2,
          selector: { matchLabels: { app: 'web' } },
          template: { metadata: { labels: { app: 'web' } }, spec: { containers } },
        },
      },
      {
        apiVersion: 'edge.banyan.io/v1alpha1',
        kind: 'EdgePlacement',
        metadata: { name: 'web' },
        spec: {
          locationSelectors: [{ matchLabels: { env: 'prod' } }],
          downsync: [{ apiGroup: 'apps', resources: ['deployments'], namespaces: ['shop'] }],
        },
      },
    ];
    const { code, out } = tree.apply(retail, { apiVersion: 'v1', kind: 'List', items });
    expect(code, out).toBe(0);
  };

  beforeAll(() => tree.up('--no-restart'));
  afterAll(() => tree[Symbol.asyncDispose]());

  it('is told as an Event when the placement is ready, in kubectl describe and in both APIs of Events', async () => {
    deploy('web:1');
    await until('all three are available', () => status()?.summary?.available === 3);
    expect(tree.ok(retail, 'describe', 'epl', 'web')).toMatch(/Normal\s+Ready\s+.*all 3 destinations are available/);
    expect(tree.ok(retail, 'events', '--for', 'edgeplacement/web')).toMatch(/Normal\s+Ready/);
    const uids = (resource: string) =>
      tree.ok(retail, 'get', resource, '-n', 'default', '-o', 'jsonpath={.items[*].metadata.uid}');
    expect(uids('events')).toMatch(/^[0-9a-f-]{36}/);
    expect(uids('events.v1.events.k8s.io')).toBe(uids('events'));
  });

  it('is the image at each place that can not be pulled, in the status and in `banyan status` with a remedy', async () => {
    deploy('web:broken');
    await until('each place is named', () => status()?.failures?.length === 3, 60);
    await until('with the image', () => failureAt('us:market')?.reason === 'ImagePullBackOff', 60);
    expect(failureAt('us:market')).toMatchObject({
      object: 'deployments.apps shop/web',
      message: expect.stringMatching(
        /\/2 pods ready: container app ImagePullBackOff: the image web:broken can't be pulled$/,
      ),
    });
    const { code, out } = banyan('status', '--data', tree.data, '--space', retail);
    expect(code, out).toBe(0);
    expect(out).toMatch(/PLACEMENT +STATE +DESTINATIONS/);
    expect(out).toMatch(/web +us:market +deployments\.apps shop\/web +.*web:broken.* +correct the name of the image/);
    deploy('web:1');
    await until('all three are available again', () => status()?.summary?.available === 3);
    expect(status()).not.toHaveProperty('failures');
  });

  it('is the time since when a place is away, and that a place has never been there', async () => {
    const ghost = { metadata: { name: 'ghost', labels: { env: 'prod' } }, spec: {} };
    for (const kind of ['SyncTarget', 'Location']) {
      expect(tree.apply(paris, { apiVersion: 'inventory.banyan.io/v1alpha1', kind, ...ghost }).code).toBe(0);
    }
    tree.kill('us:market');
    await until('the place is named', () => failureAt('us:market')?.reason === 'Away');
    const { since = '' } = failureAt('us:market')!;
    expect(Math.abs(Date.now() - Date.parse(since))).toBeLessThan(60_000);
    await until('the other place is named', () => failureAt('eu:paris:ghost') !== undefined);
    expect(failureAt('eu:paris:ghost')).toMatchObject({ reason: 'NeverConnected', message: 'has never connected' });
    await until('the tree shows both', () => {
      const { out } = banyan('tree', '--data', tree.data);
      return /ghost +Agent +Never +never/.test(out) && /market +Agent +Disconnected +\d+s/.test(out);
    });
    expect(tree.ok('node/us', 'get', 'synctargets')).toMatch(/market +False/);
    const { out } = banyan('status', 'epl/web', '--data', tree.data, '--space', retail);
    expect(out).toMatch(/us:market +\S+Z \(\d+s\) +Away/);
    expect(out).toMatch(/eu:paris:ghost +NeverConnected: has never connected +start the node/);
  });
});
