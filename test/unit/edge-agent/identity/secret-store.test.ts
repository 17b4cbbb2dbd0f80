import { expect, test } from 'vitest';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import type { ClusterApiRequest } from '../../../../edge-agent/cluster/kubernetes/api-client.ts';
import { secretStore } from '../../../../edge-agent/identity/secret-store.ts';

const path = '/api/v1/namespaces/banyan/secrets/agent-joined';
const base64 = (text: string) => Buffer.from(text).toString('base64');

interface Secret {
  metadata: { resourceVersion: string; labels?: object };
  type?: string;
  data?: Record<string, string>;
}

/** An API server with one Secret, which checks versions. */
class Server {
  secret: Secret | undefined = { metadata: { resourceVersion: '1', labels: { team: 'ops' } }, type: 'Opaque' };
  readonly asked: ClusterApiRequest[] = [];
  /** A write by somebody else, between a read and the write that follows. */
  meanwhile: (() => void) | undefined;

  readonly store = secretStore({ namespace: 'banyan', name: 'agent-joined', json: async (one) => this.#answer(one) });

  #answer(asked: ClusterApiRequest): Secret {
    this.asked.push(asked);
    expect(asked.path).toBe(path);
    if (!this.secret) throw new BanyanError('NotFound', 'secrets "agent-joined" not found');
    if (asked.method === 'PUT') this.#put(asked.body as Secret);
    const answer = structuredClone(this.secret);
    const { meanwhile } = this;
    this.meanwhile = undefined;
    meanwhile?.();
    return answer;
  }

  #put(body: Secret): void {
    if (body.metadata.resourceVersion !== this.secret!.metadata.resourceVersion)
      throw new BanyanError('Conflict', 'the object has been modified');
    this.write(body);
  }

  write(body: Partial<Secret>): void {
    const version = String(Number(this.secret!.metadata.resourceVersion) + 1);
    this.secret = { ...this.secret!, ...body, metadata: { ...this.secret!.metadata, resourceVersion: version } };
  }
}

test('an empty Secret has no identity; a key alone is part of one; a full one is read', async () => {
  const server = new Server();
  expect(await server.store.read()).toBeUndefined();
  server.write({ data: { 'tls.key': base64('key'), 'tls.crt': '' } });
  expect(await server.store.read()).toEqual({ keyPem: 'key' });
  await server.store.keep({ caPem: 'ca', certPem: 'cert', keyPem: 'key' });
  expect(await server.store.read()).toEqual({ caPem: 'ca', certPem: 'cert', keyPem: 'key' });
  expect(server.secret).toMatchObject({ type: 'Opaque', metadata: { labels: { team: 'ops' } } });
});

test('two agents that make a key at once both get the one that was first', async () => {
  const server = new Server();
  server.meanwhile = () => server.write({ data: { 'tls.key': base64('theirs') } });
  expect(await server.store.settleKey('mine')).toBe('theirs');
  expect(await server.store.settleKey('another')).toBe('theirs');
  expect(server.asked.filter(({ method }) => method === 'PUT')).toHaveLength(1);
});

test('agents with another path settle on one key beside the former identity, which one write replaces', async () => {
  const server = new Server();
  const former = { caPem: 'ca', certPem: 'cert', keyPem: 'key' };
  await server.store.settleKey('key');
  await server.store.keep(former);
  server.meanwhile = () => server.write({ data: { ...server.secret!.data, 'next.key': base64('theirs') } });
  expect(await server.store.settleKey('mine', 'key')).toBe('theirs');
  expect(await server.store.read()).toEqual({ ...former, nextKeyPem: 'theirs' });
  // A pod of the former path that renews ends nothing.
  await server.store.keep({ ...former, certPem: 'renewed' });
  expect(await server.store.read()).toEqual({ ...former, certPem: 'renewed', nextKeyPem: 'theirs' });
  const moved = { caPem: 'ca', certPem: 'other', keyPem: 'theirs' };
  await server.store.keep(moved);
  expect(await server.store.read()).toEqual(moved);
  expect(await server.store.settleKey('late', 'key')).toBe('theirs');
  await expect(server.store.keep(former)).rejects.toMatchObject({ code: 'Unavailable' });
});

test('a certificate is not put beside another key, and other fields stay', async () => {
  const server = new Server();
  await server.store.settleKey('key');
  server.meanwhile = () => server.write({ data: { 'tls.key': base64('key'), note: base64('x') } });
  await server.store.keep({ caPem: 'ca', certPem: 'cert', keyPem: 'key' });
  expect(server.secret?.data).toMatchObject({ note: base64('x'), 'tls.crt': base64('cert') });
  server.write({ data: { 'tls.key': base64('new') } });
  await expect(server.store.keep({ caPem: 'ca', certPem: 'cert', keyPem: 'key' })).rejects.toMatchObject({
    code: 'Unavailable',
    message: 'the Secret banyan/agent-joined has another key by now',
  });
});

test('a missing Secret is reported, with its creator', async () => {
  const server = new Server();
  server.secret = undefined;
  await expect(server.store.read()).rejects.toMatchObject({
    code: 'NotFound',
    message: expect.stringMatching(/^the Secret banyan\/agent-joined, .* does not exist: the chart creates it/),
  });
});

test('a Secret that changes all the time is an error after some tries', async () => {
  const server = new Server();
  const restless = () => {
    server.write({});
    server.meanwhile = restless;
  };
  server.meanwhile = restless;
  await expect(server.store.settleKey('key')).rejects.toMatchObject({ code: 'Conflict' });
  expect(server.asked.filter(({ method }) => method === 'PUT')).toHaveLength(5);
});
