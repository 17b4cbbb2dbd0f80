/** Secrets with tokens of ServiceAccounts, over a real system space. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AccountTokens, tokenSecretType } from '../../../../../core/apiserver/access/account-tokens.ts';
import { TokenSecrets } from '../../../../../core/apiserver/access/token-secrets.ts';
import type { Space } from '../../../../../core/apiserver/space.ts';
import { tokenKeysIn } from '../../../../../core/authentication/token-key.ts';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../../core/store/memory/memory-store.ts';
import { childrenSchema } from '../../../../../relay/config/config.ts';
import { NodeSpaces } from '../../../../../relay/spaces/node-spaces.ts';

let space: Space;
let tokens: AccountTokens;
let controller: TokenSecrets;
let ca: string;
let ports: ConstructorParameters<typeof TokenSecrets>[0];
beforeEach(() => {
  const [store, clock, random] = [new MemoryStore(), new VirtualClock(Date.UTC(2030, 0, 1)), new SeededRandom(1)];
  const keys = () => tokenKeysIn(store);
  const spaces = new NodeSpaces(
    { store, clock, random, log: silentLogger, defer: () => {}, path: '', tokenKeys: keys, isServedAbove: () => false },
    { spaces: [], access: { fromAbove: 'grants' }, children: childrenSchema.parse({}) },
    {
      inventoryChanged: () => {},
      revocationsChanged: () => {},
      claimsChanged: () => {},
      spaceRemoved: () => {},
      nodeDeleted: () => {},
      authoritiesWritten: () => {},
      metricsAccountsChanged: () => {},
      isParentAway: () => false,
    },
  );
  space = spaces.system;
  tokens = new AccountTokens({ space, clock, random, issuer: 'me', keys });
  ca = 'authority';
  ports = { space, tokens, clock, log: silentLogger, authority: () => ca };
  controller = new TokenSecrets(ports);
});
afterEach(() => controller.stop());

const keyOf = (resource: string, name: string) => ({ group: '', resource, namespace: 'default', name });
const account = (name = 'robot') =>
  space.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: 'default' } });
const user = { name: 'alice', groups: ['system:masters'] };
const secret = (name: string, annotations: Record<string, string> = {}, warnings: string[] = []) =>
  space.create(
    {
      apiVersion: 'v1',
      kind: 'Secret',
      type: tokenSecretType,
      metadata: {
        name,
        namespace: 'default',
        annotations: { 'kubernetes.io/service-account.name': 'robot', ...annotations },
      },
    },
    { user, warn: (text) => warnings.push(text) },
  );
const read = (name: string) => {
  const found = space.get(keyOf('secrets', name));
  const data = Object.entries((found?.data ?? {}) as Record<string, string>);
  return found && Object.fromEntries(data.map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
};
const filled = (name: string) => vi.waitFor(() => expect(read(name)?.token).toBeTruthy());

describe('a Secret for a ServiceAccount', () => {
  it('gets a token, the authority and the namespace, whether it is older than the process or newer', async () => {
    const { metadata } = account();
    secret('before');
    controller.start();
    secret('after');
    for (const name of ['before', 'after']) {
      await filled(name);
      expect(read(name)).toMatchObject({ 'ca.crt': 'authority', namespace: 'default' });
      expect(space.get(keyOf('secrets', name))?.metadata.annotations).toMatchObject({
        'kubernetes.io/service-account.uid': metadata.uid,
      });
      expect((await tokens.userOf(read(name)!.token!))?.name).toBe('system:serviceaccount:default:robot');
    }
    const { resourceVersion } = space.get(keyOf('secrets', 'after'))!.metadata;
    await new Promise((done) => setImmediate(done));
    expect(space.get(keyOf('secrets', 'after'))!.metadata.resourceVersion).toBe(resourceVersion);
  });

  it('is deleted with the account, and if there is none or another one, with a warning before', async () => {
    account();
    controller.start();
    secret('s');
    await filled('s');
    space.delete(keyOf('serviceaccounts', 'robot'));
    await vi.waitFor(() => expect(read('s')).toBeUndefined());
    const warnings: string[] = [];
    secret('none', {}, warnings);
    await vi.waitFor(() => expect(read('none')).toBeUndefined());
    account();
    secret('former', { 'kubernetes.io/service-account.uid': 'u' }, warnings);
    await vi.waitFor(() => expect(read('former')).toBeUndefined());
    expect(warnings).toEqual([
      expect.stringMatching(/^there is no ServiceAccount default\/robot .* deletes this Secret$/),
      expect.stringMatching(/^there is no ServiceAccount default\/robot .* deletes this Secret$/),
    ]);
  });

  it('gets another token after its token was removed, and the present authority after a start', async () => {
    account();
    controller.start();
    secret('s');
    await filled('s');
    const before = read('s')!.token!;
    space.patch(keyOf('secrets', 's'), { type: 'merge', patch: { data: { token: null } } });
    expect(await tokens.userOf(before)).toBeUndefined();
    await filled('s');
    const after = read('s')!.token!;
    expect(after).not.toBe(before);
    controller.stop();
    ca = 'another';
    controller = new TokenSecrets(ports);
    controller.start();
    await vi.waitFor(() => expect(read('s')).toMatchObject({ 'ca.crt': 'another', token: after }));
  });
});

it('a Secret of another type stays as it is', async () => {
  controller.start();
  space.create({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's', namespace: 'default', annotations: { 'kubernetes.io/service-account.name': 'robot' } },
  });
  await new Promise((done) => setImmediate(done));
  expect(read('s')).toEqual({});
});
