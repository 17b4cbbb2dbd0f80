import { describe, expect, test } from 'vitest';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import type { ClusterApiRequest } from '../../../../edge-agent/cluster/kubernetes/api-client.ts';
import { KubernetesLease } from '../../../../edge-agent/lease/kubernetes-lease.ts';

interface Stored {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>>; readonly [field: string]: unknown };
  readonly spec: Readonly<Record<string, unknown>>;
}

function leaseOf(answer: (asked: ClusterApiRequest) => unknown) {
  const asked: ClusterApiRequest[] = [];
  const lease = new KubernetesLease({
    namespace: 'banyan',
    name: 'agent',
    wallMs: () => Date.UTC(2030, 0, 1),
    json: (one) => {
      asked.push(one);
      return Promise.resolve(answer(one));
    },
  });
  return { lease, asked };
}

function refusal(code: 'NotFound' | 'Conflict' | 'AlreadyExists' | 'Forbidden') {
  return () => {
    throw new BanyanError(code, code);
  };
}

const path = '/apis/coordination.k8s.io/v1/namespaces/banyan/leases';
const write = { holder: 'a_1', durationMs: 10_000, transitions: 2, handover: { path: 'eu:shop', bootCounter: 7 } };

describe('a Lease of the cluster', () => {
  test('that does not exist is undefined, and other refusals are errors', async () => {
    expect(await leaseOf(refusal('NotFound')).lease.read()).toBeUndefined();
    await expect(leaseOf(refusal('Forbidden')).lease.read()).rejects.toThrow('Forbidden');
  });

  test('is made with its contents', async () => {
    const { lease, asked } = leaseOf(({ body }) => {
      const { metadata, spec } = body as Stored;
      return { metadata: { ...metadata, resourceVersion: '5' }, spec };
    });
    expect(await lease.write({ ...write, over: undefined })).toEqual({ version: '5', ...write });
    expect(asked).toMatchObject([
      {
        method: 'POST',
        path,
        body: {
          metadata: { annotations: { 'banyan.io/path': 'eu:shop', 'banyan.io/boot-counter': '7' } },
          spec: { holderIdentity: 'a_1', leaseDurationSeconds: 10, renewTime: '2030-01-01T00:00:00.000000Z' },
        },
      },
    ]);
  });

  test('is written over the version that was read, and keeps the data of others', async () => {
    const there = {
      metadata: { resourceVersion: '4', labels: { team: 'ops' }, annotations: { note: 'x', 'banyan.io/store': 's' } },
      spec: { holderIdentity: 'b_1', leaseDurationSeconds: 15, acquireTime: 'then', leaseTransitions: 1 },
    };
    const { lease, asked } = leaseOf(({ method }) => (method === 'PUT' ? { metadata: {}, spec: {} } : there));
    const over = await lease.read();
    expect(over).toEqual({ version: '4', holder: 'b_1', durationMs: 15_000, transitions: 1, handover: { store: 's' } });
    await lease.write({ ...write, over });
    const { metadata, spec } = asked[1]!.body as Stored;
    expect(metadata).toMatchObject({ resourceVersion: '4', labels: { team: 'ops' } });
    expect(metadata.annotations).toMatchObject({ note: 'x', 'banyan.io/store': 's', 'banyan.io/path': 'eu:shop' });
    expect(spec).toMatchObject({ holderIdentity: 'a_1', acquireTime: '2030-01-01T00:00:00.000000Z' });
  });

  test('says for whom it was installed, and which paths that agent had, and keeps both', async () => {
    const annotations = { 'banyan.io/installed-for': 'us:shop', 'banyan.io/former-paths': 'eu:first' };
    const there = { metadata: { resourceVersion: '4', annotations }, spec: {} };
    const { lease, asked } = leaseOf(() => there);
    const over = await lease.read();
    expect(over).toMatchObject({ installedFor: 'us:shop', handover: { formerPaths: 'eu:first' } });
    await lease.write({ ...write, over, handover: { path: 'us:shop', formerPaths: 'eu:shop,eu:first' } });
    expect((asked[1]!.body as Stored).metadata.annotations).toEqual({
      'banyan.io/installed-for': 'us:shop',
      'banyan.io/path': 'us:shop',
      'banyan.io/former-paths': 'eu:shop,eu:first',
    });
  });

  test('keeps the data of others even if an older answer comes late', async () => {
    const there = (resourceVersion: string) => ({ metadata: { resourceVersion, labels: { team: 'ops' } }, spec: {} });
    const answers = [there('4'), there('3'), there('5')];
    const { lease, asked } = leaseOf(() => answers.shift());
    const over = await lease.read();
    await lease.read();
    await lease.write({ ...write, over });
    expect((asked[2]!.body as Stored).metadata).toMatchObject({ resourceVersion: '4', labels: { team: 'ops' } });
  });

  test('that somebody else has written, made or deleted meanwhile is refused; a Lease that cannot be made is an error', async () => {
    const over = { version: '4', holder: '', durationMs: 0, transitions: 0, handover: {} };
    for (const code of ['Conflict', 'NotFound'] as const) {
      expect(await leaseOf(refusal(code)).lease.write({ ...write, over })).toBe('refused');
    }
    expect(await leaseOf(refusal('AlreadyExists')).lease.write({ ...write, over: undefined })).toBe('refused');
    await expect(leaseOf(refusal('NotFound')).lease.write({ ...write, over: undefined })).rejects.toThrow('NotFound');
  });

  test('is read without annotations that are invalid', async () => {
    const annotations = {
      'banyan.io/boot-counter': '-3',
      'banyan.io/attached-nonce': 'xyz',
    };
    const { lease } = leaseOf(() => ({ metadata: { annotations } }));
    expect((await lease.read())?.handover).toEqual({});
  });
});
