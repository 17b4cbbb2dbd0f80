import { describe, expect, it } from 'vitest';
import { timestamp } from '../../../../core/object/conditions.ts';
import { parseKey } from '../../../../core/object/key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { WholeTree } from '../../../support/whole-tree.ts';

const placement: KubeObject = {
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'EdgePlacement',
  metadata: { name: 'shop' },
  spec: {
    locationSelectors: [{ matchLabels: { env: 'prod' } }],
    downsync: [{ apiGroup: '', resources: ['configmaps'], namespaces: ['shop'] }],
  },
};
const menu: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'menu', namespace: 'shop' } };
const namespace: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };

interface Shown {
  readonly display: string;
  readonly summary: { readonly available: number; readonly stale: number; readonly oldestSince?: string };
  readonly failures?: readonly { path: string; reason: string; message: string; since?: string }[];
}

/** The center, the relay eu with the agents a, b and c, of which c never starts. */
async function region(): Promise<WholeTree> {
  const tree = new WholeTree({ relays: ['', 'eu'], agents: ['eu:a', 'eu:b', 'eu:c'] });
  await tree.start('', 'eu', 'eu:a', 'eu:b');
  tree.apply('', 'retail', namespace, menu, placement);
  await tree.until('two are available', () => shown(tree)?.summary.available === 2);
  return tree;
}

function shown(tree: WholeTree): Shown | undefined {
  return tree.space('', 'retail').get(parseKey('edge.banyan.io/edgeplacements//shop'))?.status as Shown | undefined;
}

function place(tree: WholeTree, path: string) {
  return shown(tree)?.failures?.find((one) => one.path === path);
}

function nodeSession(tree: WholeTree, at: string, name: string) {
  const node = tree.space(at).get(parseKey(`mesh.banyan.io/nodes//${name}`));
  return (node?.status as { session?: { state: string; since?: string } } | undefined)?.session;
}

describe('a destination that is away', () => {
  it('is named with the time at which it was last heard, and its age counts on with nothing else happening', async () => {
    const tree = await region();
    await tree.run(5_000);
    tree.kill('eu:a');
    const killedAt = tree.clock.wallMs();
    await tree.until('the place is named', () => place(tree, 'eu:a') !== undefined);
    const since = place(tree, 'eu:a')!.since!;
    expect(Math.abs(Date.parse(since) - killedAt)).toBeLessThan(16_000);
    expect(place(tree, 'eu:a')).toMatchObject({
      reason: 'Away',
      message: expect.stringMatching(/^away since .* UTC \(\d+s\)$/),
    });
    expect(shown(tree)?.summary.oldestSince).toBe(since);
    await tree.run(200_000);
    expect(place(tree, 'eu:a')?.message).toMatch(/\([23]m\)$/);
    expect(shown(tree)?.display).toMatch(/oldest [23]m/);
    expect(place(tree, 'eu:a')?.since).toBe(since);
  });

  it('keeps this time when its parent starts again meanwhile', async () => {
    const tree = await region();
    await tree.run(1_000);
    tree.kill('eu:a');
    await tree.until('the place is named', () => place(tree, 'eu:a') !== undefined);
    const { since } = place(tree, 'eu:a')!;
    await tree.run(20_000);
    tree.kill('eu');
    await tree.until('the relay is away', () => place(tree, 'eu') !== undefined);
    await tree.run(20_000);
    await tree.start('eu');
    await tree.until('the region is back', () => shown(tree)?.summary.available === 1);
    expect(place(tree, 'eu:a')?.since).toBe(since);
    expect(nodeSession(tree, 'eu', 'eu.a')).toMatchObject({ state: 'Disconnected', since });
  });

  it('is not named one by one while its relay is away: the relay is named with the number of its destinations', async () => {
    const tree = await region();
    tree.kill('eu');
    await tree.until('the relay is away', () => place(tree, 'eu') !== undefined);
    expect(place(tree, 'eu')).toMatchObject({ reason: 'Away', destinations: 2 });
    expect(place(tree, 'eu')?.message).toMatch(/, with 2 destinations$/);
    expect(place(tree, 'eu:a')).toBeUndefined();
    await tree.start('eu');
    await tree.until('all are back', () => shown(tree)?.summary.available === 2);
    expect(place(tree, 'eu')).toBeUndefined();
  });

  it('is `never` if it has never been there, also after a restart of its parent', async () => {
    const tree = await region();
    const never = { reason: 'NeverConnected', message: 'has never connected' };
    expect(place(tree, 'eu:c')).toMatchObject(never);
    await tree.run(3_000);
    expect(nodeSession(tree, 'eu', 'eu.c')).toEqual({ state: 'Never' });
    tree.kill('eu');
    await tree.start('eu');
    await tree.until('the region is back', () => shown(tree)?.summary.available === 2);
    await tree.run(3_000);
    expect(place(tree, 'eu:c')).toMatchObject(never);
    expect(nodeSession(tree, 'eu', 'eu.c')).toEqual({ state: 'Never' });
    await tree.start('eu:c');
    await tree.until('it comes', () => shown(tree)?.summary.available === 3);
    expect(shown(tree)).not.toHaveProperty('failures');
  });

  it('has a heartbeat that is the time of its newest message, and goes on while it is connected', async () => {
    const tree = await region();
    const heartbeatMs = () => {
      const target = tree.space('eu').get(parseKey('inventory.banyan.io/synctargets//a'));
      return Date.parse((target!.status as { lastHeartbeatTime: string }).lastHeartbeatTime);
    };
    await tree.run(3_000);
    const first = heartbeatMs();
    await tree.run(200_000);
    expect(heartbeatMs()).toBe(first);
    await tree.run(200_000);
    expect(heartbeatMs()).toBeGreaterThan(first + 200_000);
    tree.kill('eu:a');
    const killedAtMs = tree.clock.wallMs();
    await tree.until('the place is named', () => place(tree, 'eu:a') !== undefined);
    await tree.run(3_000);
    expect(heartbeatMs()).toBe(Date.parse(place(tree, 'eu:a')!.since!));
    expect(heartbeatMs()).toBeGreaterThan(killedAtMs - 16_000);
    expect(heartbeatMs()).toBeLessThanOrEqual(killedAtMs);
  });

  it('was heard until its parent ended, if both ended at the same time', async () => {
    const tree = await region();
    await tree.run(130_000);
    const endedAtMs = tree.clock.wallMs();
    tree.kill('eu');
    tree.kill('eu:a');
    await tree.run(100_000);
    await tree.start('eu');
    await tree.until('the region is back', () => shown(tree)?.summary.available === 1);
    const since = Date.parse(place(tree, 'eu:a')!.since!);
    expect(since).toBeLessThanOrEqual(endedAtMs);
    expect(timestamp(since) > timestamp(endedAtMs - 61_000)).toBe(true);
  });
});
