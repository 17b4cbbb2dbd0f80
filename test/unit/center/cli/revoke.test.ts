import { describe, expect, it } from 'vitest';
import { revokedAtMs, revokeUser } from '../../../../center/cli/revoke.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';

function api() {
  const objects = new Map<string, KubeObject>();
  return {
    objects,
    contexts: () => ['node/center', 'node/eu'],
    get: async (context: string, path: string) => objects.get(`${context} ${path}`),
    apply: async (context: string, path: string, object: KubeObject) => {
      objects.set(`${context} ${path}`, object);
      return object;
    },
  };
}

describe('banyan user revoke', () => {
  const clock = new VirtualClock(Date.UTC(2030, 0, 1));

  it('makes a Revocation at the node, with a name for any user, and finds it again', async () => {
    const client = api();
    expect(await revokeUser(client, 'alice@example.com', '', clock)).toContain('at center and below');
    const [[key, object]] = [...client.objects] as [[string, KubeObject]];
    expect(key).toMatch(/^node\/center .*\/revocations\/user-[0-9a-f]{16}$/);
    expect(object.spec).toEqual({ user: 'alice@example.com', issuedBefore: '2030-01-01T00:00:00.000Z' });
    expect(await revokedAtMs(client, 'alice@example.com')).toBe(Date.UTC(2030, 0, 1));
    expect(await revokedAtMs(client, 'bob')).toBeUndefined();
  });

  it('may begin at another node, and names the option for one that the kubeconfig does not have', async () => {
    const client = api();
    await revokeUser(client, 'bob', 'eu', clock);
    expect([...client.objects.keys()][0]).toMatch(/^node\/eu /);
    await expect(revokeUser(client, 'bob', 'us', clock)).rejects.toThrow(/no context node\/us.*--at/);
  });
});
