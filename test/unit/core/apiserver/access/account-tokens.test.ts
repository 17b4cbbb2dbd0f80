/** Tokens of ServiceAccounts over a real system space. */
import { generateKeyPairSync } from 'node:crypto';
import { SignJWT, UnsecuredJWT } from 'jose';
import { beforeEach, describe, expect, it } from 'vitest';
import { AccountTokens, tokenSecretType } from '../../../../../core/apiserver/access/account-tokens.ts';
import type { Space } from '../../../../../core/apiserver/space.ts';
import { issuerOf } from '../../../../../core/authentication/account-token.ts';
import { makeTokenKey, tokenKeysIn } from '../../../../../core/authentication/token-key.ts';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import { SeededRandom } from '../../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../../core/store/memory/memory-store.ts';
import { SpaceBench } from '../../../relay/support/space-bench.ts';

interface Answer {
  readonly spec: { readonly audiences: string[]; readonly boundObjectRef: { readonly uid: string } | null };
  readonly status: { readonly token: string; readonly expirationTimestamp: string };
}

describe('the tokens of ServiceAccounts', () => {
  let clock: VirtualClock;
  let store: MemoryStore;
  let bench: SpaceBench;
  let space: Space;
  let tokens: AccountTokens;
  const issuer = issuerOf('eu:paris');
  const portsOf = () => ({ space, clock, random: new SeededRandom(1), issuer, keys: () => tokenKeysIn(store) });
  const open = () => new AccountTokens(portsOf());
  const issue = async (spec: object = {}, name = 'robot') =>
    ((await tokens.issue('default', name, spec)) as Answer).status.token;
  const robot = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot', namespace: 'default' } };
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'default' } };
  const annotations = { 'kubernetes.io/service-account.name': 'robot' };
  const keyOf = (resource: string, name: string) => ({ group: '', resource, namespace: 'default', name });

  beforeEach(() => {
    clock = new VirtualClock(Date.UTC(2030, 0, 1));
    store = new MemoryStore();
    bench = new SpaceBench();
    ({ space } = bench);
    if (!space.get({ group: '', resource: 'namespaces', namespace: '', name: 'default' }))
      space.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } });
    space.create(robot);
    tokens = open();
  });

  it('name the account, its groups and the token, also after the process has started again', async () => {
    const token = await issue();
    const uid = space.get(keyOf('serviceaccounts', 'robot'))!.metadata.uid;
    const expected = {
      name: 'system:serviceaccount:default:robot',
      uid,
      groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^JTI=[0-9a-f-]{36}$/)] },
    };
    expect(await tokens.userOf(token)).toEqual(expected);
    tokens = open();
    expect(await tokens.userOf(token)).toEqual(expected);
  });

  it('expire', async () => {
    const { status } = (await tokens.issue('default', 'robot', { expirationSeconds: 600 })) as Answer;
    expect(status.expirationTimestamp).toBe('2030-01-01T00:10:00Z');
    clock.advance(599_000);
    expect(await tokens.userOf(status.token)).toBeDefined();
    clock.advance(7_000);
    expect(await tokens.userOf(status.token)).toBeUndefined();
    tokens = open();
    expect(await tokens.userOf(status.token)).toBeUndefined();
  });

  it('are for their audiences only', async () => {
    const token = await issue({ audiences: ['vault', 'till'] });
    expect(await tokens.userOf(token)).toBeUndefined();
    expect(await tokens.userOf(token, ['till'])).toBeDefined();
    expect(await tokens.userOf(token, ['other'])).toBeUndefined();
    expect(await tokens.audiencesOf(token)).toEqual(['vault', 'till']);
    expect(await tokens.audiencesOf('no token')).toEqual([]);
  });

  it('end with the account, and do not come back with a new account of this name', async () => {
    const token = await issue();
    space.delete(keyOf('serviceaccounts', 'robot'), {});
    expect(await tokens.userOf(token)).toBeUndefined();
    space.create(robot);
    expect(await tokens.userOf(token)).toBeUndefined();
    expect(await tokens.userOf(await issue())).toBeDefined();
  });

  it.each([false, true])(
    'end a minute after the deletion of an account that a finalizer keeps (replicas: %s)',
    async (hasReplicas) => {
      // The space writes the time of the deletion.
      clock = bench.clock;
      tokens = new AccountTokens({ ...portsOf(), hasReplicas });
      space.create({ ...robot, metadata: { ...robot.metadata, name: 'kept', finalizers: ['example.com/kept'] } });
      clock.advance(1_000);
      const token = await issue({}, 'kept');
      space.delete(keyOf('serviceaccounts', 'kept'), {});
      const deletedMs = Date.parse(space.get(keyOf('serviceaccounts', 'kept'))!.metadata.deletionTimestamp!);
      clock.advance(deletedMs - clock.wallMs() + 60_000);
      expect(await tokens.userOf(token)).toBeDefined();
      clock.advance(1);
      expect(await tokens.userOf(token)).toBeUndefined();
    },
  );

  it('end with the object to which they are bound', async () => {
    const { uid } = space.create(secret).metadata;
    const boundObjectRef = { kind: 'Secret', apiVersion: 'v1', name: 's' };
    const answer = (await tokens.issue('default', 'robot', { boundObjectRef })) as Answer;
    expect(answer.spec.boundObjectRef?.uid).toBe(uid);
    expect(await tokens.userOf(answer.status.token)).toBeDefined();
    space.delete(keyOf('secrets', 's'), {});
    expect(await tokens.userOf(answer.status.token)).toBeUndefined();
    await expect(issue({ boundObjectRef })).rejects.toMatchObject({ code: 'NotFound' });
    space.create(secret);
    await expect(issue({ boundObjectRef: { ...boundObjectRef, uid: uid! } })).rejects.toMatchObject({
      code: 'Conflict',
      message: expect.stringContaining(`the UID in the bound object reference (${uid}) does not match`),
    });
  });

  it('need an account, and a valid request', async () => {
    await expect(issue({}, 'nobody')).rejects.toMatchObject({ code: 'NotFound' });
    await expect(issue({ expirationSeconds: 1 })).rejects.toMatchObject({ code: 'Invalid' });
  });

  describe('that this node has not signed', () => {
    const claims = () => ({
      sub: 'system:serviceaccount:default:robot',
      jti: 'x',
      'kubernetes.io': {
        namespace: 'default',
        serviceaccount: { name: 'robot', uid: space.get(keyOf('serviceaccounts', 'robot'))!.metadata.uid },
      },
    });
    const nowS = () => Math.floor(clock.wallMs() / 1_000);
    const signed = (head: { alg: string; kid?: string }, key: Parameters<SignJWT['sign']>[0], more: object = {}) =>
      new SignJWT({ ...claims(), iss: issuer, aud: [issuer], iat: nowS(), exp: nowS() + 1_000, ...more })
        .setProtectedHeader(head)
        .sign(key);

    it('are refused: without a signature, with another key, another algorithm, another key id, another issuer', async () => {
      const own = tokenKeysIn(store).signing;
      const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
      const publicPem = Buffer.from(own.publicKey.export({ type: 'spki', format: 'pem' }));
      const unsigned = new UnsecuredJWT({ ...claims() }).setIssuer(issuer).setAudience(issuer).setExpirationTime('1h');
      const good = await signed({ alg: 'ES256', kid: own.id }, own.privateKey);
      expect(await tokens.userOf(good)).toBeDefined();
      const [head, body, signature] = good.split('.');
      const changed = Buffer.from(JSON.stringify({ ...claims(), iss: issuer, aud: [issuer], exp: nowS() + 9e9 }));
      const bad = [
        unsigned.encode(),
        await signed({ alg: 'ES256', kid: own.id }, other),
        await signed({ alg: 'HS256', kid: own.id }, publicPem),
        await signed({ alg: 'ES256', kid: 'another' }, own.privateKey),
        await signed({ alg: 'ES256', kid: own.id }, own.privateKey, { iss: issuerOf('eu') }),
        await signed({ alg: 'ES256', kid: own.id }, own.privateKey, { nbf: nowS() + 60 }),
        await signed({ alg: 'ES256', kid: own.id }, own.privateKey, { 'kubernetes.io': {} }),
        `${head}.${changed.toString('base64url')}.${signature}`,
        `${head}.${body}.`,
        `${head}.${body}`,
        'no token at all',
        '..',
      ];
      for (const token of bad) expect([token, await tokens.userOf(token)]).toEqual([token, undefined]);
    });
  });

  it('of a Secret have no end, and are good as long as the Secret has them', async () => {
    space.create({ ...secret, type: tokenSecretType, metadata: { ...secret.metadata, annotations } });
    const read = () => space.get(keyOf('secrets', 's'))!;
    const account = space.get(keyOf('serviceaccounts', 'robot'))!;
    const token = await tokens.ofSecret(read(), account);
    const write = (data: string) => {
      const patch = { data: { token: Buffer.from(data).toString('base64') } };
      space.patch(keyOf('secrets', 's'), { type: 'merge', patch });
    };
    expect(await tokens.userOf(token)).toBeUndefined();
    write(token);
    clock.advance(20 * 365 * 86_400_000);
    expect((await tokens.userOf(token))?.name).toBe('system:serviceaccount:default:robot');
    expect((await open().userOf(token))?.name).toBe('system:serviceaccount:default:robot');
    const other = await tokens.ofSecret(read(), account);
    write(other);
    expect([await tokens.userOf(token), (await tokens.userOf(other))?.name]).toEqual([
      undefined,
      'system:serviceaccount:default:robot',
    ]);
    space.delete(keyOf('secrets', 's'));
    expect(await tokens.userOf(other)).toBeUndefined();
  });

  it('of a replica are good at another one with an account of the same name that is older, and with the same keys', async () => {
    const file = makeTokenKey();
    const replica = (keys: string | undefined, hasReplicas = true) => {
      const { space: other } = new SpaceBench();
      const ports = { clock, random: new SeededRandom(2), issuer, hasReplicas };
      const otherStore = new MemoryStore();
      return {
        space: other,
        tokens: new AccountTokens({ ...ports, space: other, keys: () => tokenKeysIn(otherStore, keys) }),
      };
    };
    const [one, two, strange, single] = [replica(file), replica(file), replica(undefined), replica(file, false)];
    const create = (at: Space, object: object) => at.create(object as Parameters<Space['create']>[0]);
    const atAll = (now: number) => {
      for (const [index, { space: at }] of [one, two, strange, single].entries()) {
        // The spaces have equal random numbers: with as many objects, the accounts would have the same uid.
        for (let i = 0; i < index; i++)
          create(at, { ...robot, metadata: { name: `other-${i}`, namespace: 'default' } });
        const metadata = { name: 'robot', namespace: 'default', creationTimestamp: new Date(now).toISOString() };
        create(at, { ...robot, metadata });
      }
    };
    atAll(clock.wallMs());
    clock.advance(1_000);
    const issued = async (spec: object = {}) =>
      ((await one.tokens.issue('default', 'robot', spec)) as Answer).status.token;
    const token = await issued();
    const good = (at: { tokens: AccountTokens }, text = token) =>
      at.tokens.userOf(text).then((user) => user !== undefined);
    expect(await Promise.all([one, two, strange, single].map((at) => good(at)))).toEqual([true, true, false, false]);
    create(one.space, secret);
    const bound = await issued({ boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: 's' } });
    expect([await good(one, bound), await good(two, bound)]).toEqual([true, false]);
    two.space.delete(keyOf('serviceaccounts', 'robot'));
    expect([await good(one), await good(two)]).toEqual([true, false]);
  });

  it('of the own key stay good when common keys come, and so do those of a former common key', async () => {
    const before = await issue();
    const [first, second] = [makeTokenKey(), makeTokenKey()];
    const withFile = (file: string) =>
      new AccountTokens({ space, clock, random: new SeededRandom(3), issuer, keys: () => tokenKeysIn(store, file) });
    tokens = withFile(first);
    const between = await issue();
    tokens = withFile(`${second}${first}`);
    const last = await issue();
    for (const token of [before, between, last]) expect(await tokens.userOf(token)).toBeDefined();
    expect(await withFile(first).userOf(last)).toBeUndefined();
  });
});
