import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kubectlProgram, withoutKubectl } from '../support/kubectl.ts';
import { LocalTree, until } from './local-tree.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const [retail, platform, ops] = ['space/center/retail', 'space/center/platform', 'space/eu/ops'];
const [mitte, rivoli, hq] = ['cluster/eu:berlin:mitte', 'cluster/eu:paris:rivoli', 'cluster/hq'];

interface Condition {
  type: string;
  status: string;
  message: string;
}
interface Placement {
  status?: { summary?: Record<string, number>; conditions?: Condition[]; failures?: { path: string }[] };
}
interface Shown {
  metadata: { uid: string };
  data?: Record<string, string>;
}
interface Events {
  items: { metadata: { namespace: string }; reason: string; message: string; count: number }[];
}

describe.skipIf(withoutKubectl)(`an object that several spaces deliver to one cluster${why}`, () => {
  const tree = new LocalTree('deploy/topologies/shop.yaml');
  const till = (cluster: string) => tree.json<Shown>(cluster, 'configmap', 'till', '-n', 'shop');
  const by = (cluster: string) => till(cluster)?.data?.by;
  const placement = (space: string) => tree.json<Placement>(space, 'epl', 'till')?.status ?? {};
  const conflicted = (space: string) => placement(space).conditions?.find(({ type }) => type === 'Conflicted');
  const conflicts = (space: string) => placement(space).summary?.conflicted;
  const events = (space: string) => tree.json<Events>(space, 'events', '-n', 'default')?.items ?? [];

  /** A ConfigMap with the name of its space, and a placement of it. */
  const deliver = (space: string, name: string, selector: object, more: object = {}) => {
    const items = [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'till', namespace: 'shop' }, data: { by: name } },
      {
        apiVersion: 'edge.banyan.io/v1alpha1',
        kind: 'EdgePlacement',
        metadata: { name: 'till' },
        spec: {
          locationSelectors: [selector],
          downsync: [{ apiGroup: '', resources: ['configmaps'], namespaces: ['shop'], objectNames: ['till'] }],
          ...more,
        },
      },
    ];
    const { code, out } = tree.apply(space, { apiVersion: 'v1', kind: 'List', items });
    expect(code, out).toBe(0);
  };

  beforeAll(() => tree.up('--no-restart'));
  afterAll(() => tree[Symbol.asyncDispose]());

  it('goes to the older of two placements at one depth; the loser reads why, in its condition and in an event', async () => {
    deliver(retail, 'retail', { matchLabels: { env: 'prod' } });
    tree.ok(retail, 'wait', 'epl/till', '--for=condition=Ready', '--timeout=60s');
    // Ages of placements have whole seconds.
    await until('a second later', () => Date.now() % 1000 < 500);
    await until('a second later', () => Date.now() % 1000 >= 500);
    deliver(platform, 'platform', { matchLabels: { zone: 'berlin' } });
    tree.ok(platform, 'wait', 'epl/till', '--for=condition=Conflicted', '--timeout=60s');
    expect(by(mitte)).toBe('retail');
    expect(conflicted(platform)?.message).toMatch(
      /^1 of 2 destinations .*; configmaps shop\/till at eu:berlin:mitte: another source .*: its placement is older/,
    );
    expect(placement(platform).failures).toMatchObject([{ path: 'eu:berlin:mitte' }]);
    // The same placement at its other destination, where there is no conflict.
    await until('the other destination is as it should be', () => by('cluster/eu:berlin:lab') === 'platform');
    await until('and counted', () => placement(platform).summary?.available === 1);
    expect(conflicted(retail)?.status).toBe('False');
    expect(events(platform)).toMatchObject([
      { reason: 'Conflicted', count: 1, message: expect.stringContaining('another source') },
    ]);
    // The other space may be of another team. Those who run the site read the names.
    expect(JSON.stringify([placement(platform), events(platform)])).not.toContain('center.retail');
    const site = tree.ok('node/eu:berlin', 'get', 'synctarget', 'mitte', '-o', 'json');
    expect(site).toMatch(
      /EdgePlacement till of center\.retail delivers it, and not EdgePlacement till of center\.platform/,
    );
    expect(tree.ok(platform, 'describe', 'epl', 'till')).toMatch(/Warning\s+Conflicted/);
  });

  it('goes to the placement with the higher priority, at that destination only, but first of all to the source nearer the center', async () => {
    const uids = [mitte, rivoli, hq].map((cluster) => till(cluster)!.metadata.uid);
    tree.ok(platform, 'patch', 'epl', 'till', '--type=merge', '-p', '{"spec":{"priority":10}}');
    await until('the greater priority has it', () => by(mitte) === 'platform');
    await until('the other one reads that it lost', () => conflicts(retail) === 1);
    expect(conflicted(retail)?.message).toContain('its placement has a higher priority');
    await until('the others are unaffected', () => placement(retail).summary?.available === 4);
    await until('the winner is told too', () => events(platform).some(({ reason }) => reason === 'ConflictResolved'));
    deliver(ops, 'ops', { matchLabels: { zone: 'paris' } }, { priority: 1000 });
    tree.ok(ops, 'wait', 'epl/till', '--for=condition=Conflicted', '--timeout=60s');
    expect(conflicted(ops)?.message).toContain('it is nearer the center');
    expect([mitte, rivoli, hq].map(by)).toEqual(['platform', 'retail', 'retail']);
    expect([mitte, rivoli, hq].map((cluster) => till(cluster)!.metadata.uid)).toEqual(uids);
  });

  it('has the same winner after restarts of the agent, its parent and the center', async () => {
    await tree.down();
    await tree.up('--no-restart');
    await until('the loser still reads it', () => conflicts(retail) === 1 && conflicts(ops) === 2);
    await until('and has all else', () => placement(retail).summary?.available === 4);
    expect([mitte, rivoli, hq].map(by)).toEqual(['platform', 'retail', 'retail']);
  });

  it('passes to the next placement without a gap when the winner removes it', async () => {
    const uids = [mitte, rivoli].map((cluster) => till(cluster)!.metadata.uid);
    const kubeconfig = ['--kubeconfig', join(tree.data, 'kubeconfig'), '--context', mitte];
    const watch = ['get', 'cm', 'till', '-n', 'shop', '--watch', '--output-watch-events'];
    const watching = spawn(kubectlProgram, [...kubeconfig, ...watch]);
    let seen = '';
    watching.stdout.on('data', (chunk: Buffer) => {
      seen += chunk;
    });
    try {
      await until('the watch runs', () => seen.includes('ADDED'));
      tree.ok(platform, 'delete', 'epl', 'till');
      await until('the next one has it', () => by(mitte) === 'retail');
      await until('and reads it', () => conflicted(retail)?.status === 'False');
      tree.ok(retail, 'delete', 'epl', 'till');
      await until('the last one has what it asked for', () => by(rivoli) === 'ops');
      await until('and reads it', () => conflicted(ops)?.status === 'False');
      await until('it goes where nobody wants it any more', () => seen.includes('DELETED'));
      expect(seen.match(/DELETED/g)).toHaveLength(1);
      expect(seen.match(/MODIFIED/g)?.length).toBeGreaterThan(0);
      expect(till(rivoli)!.metadata.uid).toBe(uids[1]);
    } finally {
      watching.kill();
    }
  });

  it('is removed by the policy of its placement: the objects that an orphaned Deployment owns stay', async () => {
    const items = [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'keep' } },
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'web', namespace: 'keep' },
        spec: {
          selector: { matchLabels: { app: 'web' } },
          template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'web:1' }] } },
        },
      },
      {
        apiVersion: 'edge.banyan.io/v1alpha1',
        kind: 'EdgePlacement',
        metadata: { name: 'keep' },
        spec: {
          locationSelectors: [{ matchLabels: { tier: 'hq' } }],
          downsync: [{ apiGroup: 'apps', resources: ['deployments'], namespaces: ['keep'] }],
          deletion: { propagationPolicy: 'Orphan' },
        },
      },
    ];
    expect(tree.apply(retail, { apiVersion: 'v1', kind: 'List', items }).code).toBe(0);
    tree.ok(retail, 'wait', 'epl/keep', '--for=condition=Ready', '--timeout=60s');
    tree.ok(retail, 'delete', 'epl', 'keep');
    await until('the Deployment has gone', () => tree.json(hq, 'deployment', 'web', '-n', 'keep') === undefined);
    expect(tree.ok(hq, 'get', 'rs,pods', '-n', 'keep', '-o', 'name')).toMatch(/replicaset.*\n.*pod\//s);
    expect(tree.ok(hq, 'get', 'ns', 'keep', '-o', 'jsonpath={.status.phase}')).toBe('Active');
  });
});
