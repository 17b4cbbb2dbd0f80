import { SignJWT } from 'jose';
import { beforeEach, describe, expect, it } from 'vitest';
import { claimsOf, issuerOf } from '../../../../core/authentication/account-token.ts';
import { type MetricsIssuer, metricsAudience } from '../../../../core/authentication/metrics-tokens.ts';
import { makeTokenKey, tokenKeysOf } from '../../../../core/authentication/token-key.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { metricsTokensAt } from '../../../../core/stream/metrics-users.ts';

const nowMs = Date.UTC(2030, 0, 1);
const account = { namespace: 'monitoring', name: 'prometheus', uid: 'u1' };
const [own, other] = [tokenKeysOf(makeTokenKey())[0]!, tokenKeysOf(makeTokenKey())[0]!];
const issuer = (path: string, key = own, accounts = [account]): MetricsIssuer => ({
  path,
  keys: [{ id: key.id, spki: key.publicKey.export({ type: 'spki', format: 'der' }).toString('base64') }],
  accounts,
});

interface Changes {
  readonly path?: string;
  readonly key?: typeof own;
  readonly kid?: string;
  readonly token?: object;
}
function sign({ path = '', key = own, kid = key.id, token = {} }: Changes = {}): Promise<string> {
  const { namespace, name, uid } = account;
  const claims = claimsOf(
    {
      namespace,
      account: { name, uid },
      audiences: [metricsAudience],
      id: 'i',
      issuedMs: nowMs,
      expiresMs: nowMs + 3_600_000,
      ...token,
    },
    issuerOf(path),
  );
  return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid }).sign(key.privateKey);
}

let clock: VirtualClock;
beforeEach(() => {
  clock = new VirtualClock(nowMs);
});
const at = (issuers: readonly MetricsIssuer[], fromAbove = 'grants', path = 'eu') => {
  const tokens = metricsTokensAt({ clock, path, fromAbove });
  tokens.setIssuers(issuers);
  return tokens;
};

describe('a token for metrics of a node above', () => {
  it('is good with the names of that node, until it ends, and while that node has the account', async () => {
    const tokens = at([issuer('')]);
    const token = await sign();
    const user = {
      name: 'center:system:serviceaccount:monitoring:prometheus',
      groups: [
        'center:system:serviceaccounts',
        'center:system:serviceaccounts:monitoring',
        'system:authenticated',
        'banyan:from-above',
      ],
    };
    expect([await tokens.userOf(token), await tokens.userOf(token)]).toEqual([user, user]);
    clock.advance(3_600_000 + 61_000);
    expect(await tokens.userOf(token)).toBeUndefined();
    const again = await sign({ token: { expiresMs: nowMs + 1e10 } });
    expect(await tokens.userOf(again)).toEqual(user);
    tokens.setIssuers([issuer('', own, [{ ...account, uid: 'u2' }])]);
    expect(await tokens.userOf(again)).toBeUndefined();
    tokens.setIssuers([]);
    expect(await tokens.userOf(again)).toBeUndefined();
  });

  it('is not good with another key, key id, issuer or audience, or if it is bound or has no end', async () => {
    const tokens = at([issuer('')]);
    const bad: Changes[] = [
      { key: other },
      { key: other, kid: own.id },
      { kid: 'another' },
      { path: 'us' },
      { token: { audiences: [issuerOf('')] } },
      { token: { account: { name: 'another', uid: account.uid } } },
      { token: { namespace: 'another' } },
      { token: { bound: { kind: 'Secret', name: 's', uid: 'u' } } },
      { token: { expiresMs: Number.POSITIVE_INFINITY } },
      { token: { issuedMs: nowMs + 120_000 } },
    ];
    for (const changes of bad)
      expect([changes, await tokens.userOf(await sign(changes))]).toEqual([changes, undefined]);
    for (const text of ['', 'x', '..', `${await sign()}x`]) expect(await tokens.userOf(text)).toBeUndefined();
    expect(await tokens.userOf(await sign())).toBeDefined();
  });

  it('is not good at a node that gives nothing to users of nodes above, or from a node that is not above', async () => {
    expect(await at([issuer('')], 'none').userOf(await sign())).toBeUndefined();
    for (const path of ['eu', 'eu:paris'])
      expect(await at([issuer(path)]).userOf(await sign({ path }))).toBeUndefined();
    expect((await at([issuer('eu')], 'grants', 'eu:paris').userOf(await sign({ path: 'eu' })))?.name).toBe(
      'eu:system:serviceaccount:monitoring:prometheus',
    );
  });

  it('is not good with a key that can not be read, and the others are', async () => {
    const broken = { ...issuer('us', other), keys: [{ id: other.id, spki: 'AAAA' }] };
    expect(await at([broken, issuer('')]).userOf(await sign())).toBeDefined();
  });
});

it.each([
  ['nothing', '', 'has no private key'],
  ['bytes', '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----', "can't be read"],
])('a file of keys with %s is refused', (_, pem, message) => {
  expect(() => tokenKeysOf(pem)).toThrow(message);
});
