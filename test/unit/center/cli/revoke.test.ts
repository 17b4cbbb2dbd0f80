import { describe, expect, it } from 'vitest';
import { nodeRevokedAtMs, revokedAtMs, revokeNode, revokeUser } from '../../../../center/cli/revoke.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';

function api(contexts = ['node/center', 'node/eu'], silent = '') {
  const objects = new Map<string, KubeObject>();
  return {
    objects,
    contexts: () => contexts,
    get: async (context: string, path: string) => objects.get(`${context} ${path}`),
    apply: async (context: string, path: string, object: KubeObject) => {
      if (context === silent) throw new BanyanError('Unavailable', `${context} does not answer`);
      objects.set(`${context} ${path}`, object);
      return object;
    },
  };
}

describe('banyan user revoke', () => {
  const clock = new VirtualClock(Date.UTC(2030, 0, 1));
  const warn = () => {};

  it('makes a Revocation at the node, with a name for any user, and finds it again', async () => {
    const client = api();
    expect((await revokeUser(client, 'alice@example.com', '', clock, warn)).text).toContain('at center and below');
    const [[key, object]] = [...client.objects] as [[string, KubeObject]];
    expect(key).toMatch(/^node\/center .*\/revocations\/user-[0-9a-f]{16}$/);
    expect(object.spec).toEqual({ user: 'alice@example.com', issuedBefore: '2030-01-01T00:00:00.000Z' });
    expect(await revokedAtMs(client, 'alice@example.com')).toBe(Date.UTC(2030, 0, 1));
    expect(await revokedAtMs(client, 'bob')).toBeUndefined();
  });

  it('may begin at another node, and names the option for one that the kubeconfig does not have', async () => {
    const client = api();
    await revokeUser(client, 'bob', 'eu', clock, warn);
    expect([...client.objects.keys()][0]).toMatch(/^node\/eu /);
    await expect(revokeUser(client, 'bob', 'us', clock, warn)).rejects.toThrow(/no context node\/us.*--at/);
  });
});

describe('banyan revoke', () => {
  const clock = new VirtualClock(Date.UTC(2030, 0, 1));

  it('says that nobody knows the node, and revokes all the same: it may have been removed', async () => {
    const client = api();
    const warned: string[] = [];
    await revokeNode(client, 'eu:pariss', clock, (line) => void warned.push(line));
    expect(warned).toEqual(['node/eu knows no node "eu:pariss": if no such node was removed, check the spelling']);
    expect([...client.objects.keys()]).toHaveLength(2);
  });

  it('makes a Revocation at each node above and each of its replicas, and names those that do not answer', async () => {
    const client = api(['node/center', 'node/eu', 'node/eu~1', 'node/eu:paris', 'node/us'], 'node/eu~1');
    const warned: string[] = [];
    client.objects.set('node/eu /apis/mesh.banyan.io/v1alpha1/nodes/eu.paris', {
      apiVersion: '',
      kind: '',
      metadata: {},
    });
    const printed = await revokeNode(client, 'eu:paris', clock, (line) => void warned.push(line));
    expect(printed).toContain('are refused at center, eu and below');
    const made = [...client.objects].filter(([key]) => key.includes('/revocations/'));
    expect(made.map(([key, { spec }]) => [key.split(' ')[0], spec])).toEqual(
      ['node/center', 'node/eu'].map((context) => [
        context,
        { node: { path: 'eu:paris' }, issuedBefore: '2030-01-01T00:00:00.000Z' },
      ]),
    );
    expect(warned).toEqual([expect.stringMatching(/^node\/eu~1 does not have the Revocation .*revoke eu:paris$/)]);
    expect(await nodeRevokedAtMs(client, 'eu:paris')).toBe(clock.wallMs());
    expect(await nodeRevokedAtMs(client, 'eu')).toBeUndefined();
  });

  it('names an option of its own for a node that the kubeconfig does not have', async () => {
    const refused = revokeNode(api(['node/us']), 'eu:paris', clock, () => {});
    await expect(refused).rejects.toThrow(/no context node\/center: use a kubeconfig with it, or .* by --data$/);
  });

  it('does not revoke the center', async () => {
    await expect(revokeNode(api(), '', clock, () => {})).rejects.toThrow(/the center can not be revoked/);
  });
});
