import { describe, expect, it } from 'vitest';
import type { NodeApiClient } from '../../../../center/cli/api-client.ts';
import { failureRemedy } from '../../../../center/cli/remedy.ts';
import { placementOutput, spaceOutput } from '../../../../center/cli/status.ts';
import { timestamp } from '../../../../core/object/conditions.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { cliCommand } from '../../../../core/runtime/cli-command.ts';

const nowMs = Date.parse('2030-01-01T10:00:00Z');
const since = timestamp(nowMs - 18 * 60_000);

function placement(name: string, status: object): KubeObject {
  return {
    apiVersion: 'edge.banyan.io/v1alpha1',
    kind: 'EdgePlacement',
    metadata: { name, generation: 2 },
    status: { observedGeneration: 2, ...status },
  };
}

const condition = (status: string, reason: string) => ({ type: 'Ready', status, reason, message: 'm' });
const till = placement('till', {
  display: 'available 2/2',
  summary: { expected: 2, available: 2 },
  conditions: [condition('True', 'AllAvailable')],
});
const web = placement('web', {
  // The status was written ten minutes ago.
  display: 'available 1/43 (41 stale, oldest 8m)',
  summary: { expected: 43, available: 1, stale: 41, oldestSince: since },
  conditions: [condition('False', 'Stale')],
  rollout: { release: 3, phase: 'Progressing', message: 'wave canary: 1 of 2 available' },
  failures: [
    {
      path: 'eu:store-1',
      object: 'deployments.apps shop/web',
      reason: 'CrashLoopBackOff',
      message: '2/4 pods ready: container app CrashLoopBackOff: exit code 1',
    },
    { path: 'us', reason: 'Away', message: 'away since … (8m), with 40 destinations', since, destinations: 40 },
    { path: 'eu:store-9', reason: 'NeverConnected', message: 'has never connected', destinations: 1 },
  ],
});

const api: Pick<NodeApiClient, 'get' | 'list' | 'contexts'> = {
  contexts: () => [],
  list: () => Promise.resolve([till, web]),
  get: (_context, path) => Promise.resolve([till, web].find(({ metadata }) => path.endsWith(`/${metadata.name}`))),
};
const of = (name: string) => ({ context: 'space/center/retail', name, nowMs });
const cells = (line: string | undefined) => (line ?? '').split(/ {3,}/);

describe('banyan status', () => {
  it('shows one line for each placement, then each failure with place, time, object, cause and remedy', async () => {
    const lines = (await spaceOutput(api, 'space/center/retail', nowMs)).text.split('\n');
    expect(cells(lines[0])).toEqual(['PLACEMENT', 'STATE', 'DESTINATIONS', 'ROLLOUT']);
    expect(cells(lines[1])).toEqual(['till', 'Ready', 'available 2/2']);
    expect(cells(lines[2])).toEqual([
      'web',
      'Stale',
      'available 1/43 (41 stale, oldest 18m)',
      'wave canary: 1 of 2 available',
    ]);
    expect(lines[3]).toBe('');
    expect(cells(lines[4])).toEqual(['PLACEMENT', 'PLACE', 'SINCE', 'OBJECT', 'CAUSE', 'REMEDY']);
    expect(lines[5]).toContain('2/4 pods ready: container app CrashLoopBackOff: exit code 1');
    expect(lines[5]).toContain('look at kubectl --context cluster/eu:store-1 -n shop logs deployments/web --previous');
    expect(lines[6]).toMatch(/web +us +2030-01-01T09:42:00Z \(18m\) +Away, with 40 destinations +check the power/);
    expect(lines[7]).toMatch(/web +eu:store-9 +NeverConnected: has never connected +start the node/);
  });

  it('shows the same failures for one placement, and its counts without the time', async () => {
    const { text } = await placementOutput(api, of('web'), false);
    expect(text).toMatch(/^web {3}available 1\/43 \(41 stale, oldest 18m\)\n/);
    expect(text).toMatch(/EXPECTED +AVAILABLE +STALE\n43 +1 +41\n/);
    expect(text).toMatch(/PLACE +SINCE +OBJECT +CAUSE +REMEDY\n/);
    expect((await placementOutput(api, of('till'), false)).text).not.toContain('PLACE ');
  });

  it('asks every relay below for more failures, and names those that do not answer', async () => {
    const failure = (path: string) => ({ path, object: 'services shop/web', reason: 'Unhealthy', message: path });
    const at: Record<string, KubeObject> = {
      'space/center/retail': placement('web', { failures: [failure('eu:store-1')] }),
      'space/eu/center.retail': placement('web', { failures: [failure('eu:store-1'), failure('eu:store-2')] }),
    };
    const below = {
      contexts: () => ['node/center', 'node/eu', 'node/us', 'space/eu/ops'],
      get: async (context: string) => {
        // The center is the origin, and not below itself: it has no space of this name.
        if (context.startsWith('space/us') || context === 'space/center/center.retail') throw new Error('no answer');
        return at[context];
      },
    };
    const { wide } = await placementOutput(below, of('web'), true);
    expect(wide.match(/^eu:store-\d/gm)).toEqual(['eu:store-1', 'eu:store-2']);
    expect(wide.match(/^not asked: .*/gm)).toEqual(['not asked: us (no answer)']);
  });

  it('says that a space has no placement, and that a placement does not exist', async () => {
    const empty = { list: () => Promise.resolve([]) };
    expect((await spaceOutput(empty, 'space/center/ops', nowMs)).text).toBe('space/center/ops has no EdgePlacement');
    await expect(placementOutput(api, of('x'), false)).rejects.toThrow(/no EdgePlacement "x"/);
  });
});

describe('the remedy', () => {
  const of = (reason: string, object?: string) =>
    failureRemedy({ path: 'eu:a', reason, message: 'm', ...(object === undefined ? {} : { object }) });

  it('is a command that finds out more if nothing better is known', () => {
    expect(of('Whatever', 'services shop/web')).toBe(
      `look at ${cliCommand('why', 'services/web', '-n', 'shop', '--at', 'eu:a')}`,
    );
    expect(of('Whatever', 'namespaces shop')).toBe(`look at ${cliCommand('why', 'namespaces/shop', '--at', 'eu:a')}`);
    expect(of('Whatever')).toBe(`look at ${cliCommand('tree', 'eu:a')}`);
    expect(of('CrashLoopBackOff')).toBe(`look at ${cliCommand('tree', 'eu:a')}`);
  });

  it('says what to change for the usual causes', () => {
    expect(of('ImagePullBackOff', 'deployments.apps shop/web')).toContain('image');
    expect(of('FailedCreate', 'statefulsets.apps shop/db')).toContain('quota');
    expect(of('Unschedulable', 'deployments.apps shop/web')).toContain('nodes');
  });
});
