import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { exportJWK, SignJWT, UnsecuredJWT } from 'jose';
import { beforeEach, describe, expect, it } from 'vitest';
import { keptKeys } from '../../../../core/authentication/kept-keys.ts';
import { parseAuthentication } from '../../../../core/authentication/oidc-config.ts';
import { OidcTokens } from '../../../../core/authentication/oidc-tokens.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';

const url = 'https://login.example.com';
const config = (mappings: string, more = '') => `
apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
  - issuer: {url: "${url}", audiences: [banyan, other]}
    claimMappings: ${mappings}
    ${more}`;
const simple = '{username: {claim: sub, prefix: "corp:"}, groups: {claim: groups, prefix: "corp:"}}';

describe('the tokens of an issuer', () => {
  let clock: VirtualClock;
  let documents: Record<string, unknown>;
  let asked: string[];
  let warned: object[];
  let refused: string[];
  let keys: KeyObject;
  let store: MemoryStore;
  const publish = async (all: Record<string, KeyObject>) => {
    const jwks = await Promise.all(
      Object.entries(all).map(async ([kid, key]) => ({ ...(await exportJWK(key)), kid, alg: 'ES256', use: 'sig' })),
    );
    documents = {
      [`${url}/.well-known/openid-configuration`]: { issuer: url, jwks_uri: `${url}/keys` },
      [`${url}/keys`]: { keys: jwks.map(({ d: _, ...jwk }) => jwk) },
    };
  };
  const open = (text = config(simple)) =>
    new OidcTokens({
      authenticators: parseAuthentication(text, 'oidc.yaml'),
      clock,
      kept: keptKeys(store),
      log: {
        ...silentLogger,
        warn: (fields: object) => void warned.push(fields),
        info: (fields: object) => void refused.push((fields as { reason: string }).reason),
      },
      fetchJson: async (at) => {
        asked.push(at);
        if (documents[at] === undefined) throw new Error('no answer');
        return documents[at];
      },
    });
  const nowS = () => Math.floor(clock.wallMs() / 1_000);
  /** `kid` null: the token names no key. */
  const sign = (
    claims: object = {},
    { kid = 'one' as string | null, alg = 'ES256', key = keys as KeyObject | Buffer } = {},
  ) =>
    new SignJWT({
      iss: url,
      aud: 'banyan',
      sub: 'alice',
      iat: nowS(),
      exp: nowS() + 3_600,
      groups: ['tills'],
      ...claims,
    })
      .setProtectedHeader({ alg, ...(kid === null ? {} : { kid }) })
      .sign(key);

  beforeEach(async () => {
    clock = new VirtualClock(Date.UTC(2030, 0, 1));
    [asked, warned, refused] = [[], [], []];
    store = new MemoryStore();
    keys = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    await publish({ one: keys });
  });

  it('name the user and the groups, with their prefixes', async () => {
    expect(await open().userOf(await sign())).toEqual({
      name: 'corp:alice',
      groups: ['corp:tills', 'system:authenticated'],
    });
  });

  it('are checked once while they are good, and their keys are read once', async () => {
    const tokens = open();
    const text = await sign();
    for (let i = 0; i < 3; i++) expect(await tokens.userOf(text)).toBeDefined();
    expect(asked).toHaveLength(2);
    clock.advance(3_611_000);
    expect(await tokens.userOf(text)).toBeUndefined();
  });

  it('are refused: expired, not valid yet, without an end, for others, without a signature, with other keys', async () => {
    const tokens = open();
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    const bad = [
      await sign({ exp: nowS() - 60 }),
      await sign({ nbf: nowS() + 60 }),
      await sign({ exp: undefined }),
      await sign({ aud: 'somebody' }),
      await sign({ iss: 'https://evil.example.com' }),
      await sign({}, { key: other }),
      await sign({}, { alg: 'HS256', key: Buffer.from('x'.repeat(64)) }),
      new UnsecuredJWT({ sub: 'alice', iss: url, aud: 'banyan', exp: nowS() + 60 }).encode(),
      'a.b.c',
      '',
    ];
    for (const text of bad) expect([text, await tokens.userOf(text)]).toEqual([text, undefined]);
    expect(await tokens.userOf(await sign({ aud: ['x', 'other'] }))).toBeDefined();
  });

  it('are refused with a reason in the log, one line in ten seconds, without anything of the token', async () => {
    const tokens = open();
    const bad = [
      [await sign({ exp: nowS() - 60 }), /"exp" claim/],
      [await sign({ nbf: nowS() + 60 }), /"nbf" claim/],
      [await sign({ aud: 'somebody' }), /"aud" claim/],
      [await sign({}, { kid: 'other' }), /no applicable key/],
      [await sign({ groups: [7] }), /the rules for its claims refuse it: a list of texts has other values/],
    ] as const;
    for (const [text, reason] of bad) {
      clock.advance(10_000);
      for (let i = 0; i < 3; i++) expect(await tokens.userOf(text)).toBeUndefined();
      expect(refused.splice(0)).toEqual([expect.stringMatching(reason)]);
    }
  });

  it('that were good are checked again when the issuer has other keys, and withdrawn keys end', async () => {
    const tokens = open();
    const text = await sign({ exp: nowS() + 100 * 3_600 });
    expect(await tokens.userOf(text)).toBeDefined();
    const second = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    await publish({ one: keys, two: second });
    clock.advance(3_600_001);
    expect(await tokens.userOf(text)).toBeDefined();
    await new Promise((done) => setImmediate(done));
    expect(await tokens.userOf(text)).toBeDefined();
    await publish({ two: second });
    clock.advance(3_600_001);
    expect(await tokens.userOf(text)).toBeDefined();
    await new Promise((done) => setImmediate(done));
    expect(await tokens.userOf(text)).toBeUndefined();
  });

  it('stay good while the issuer is away, and new keys are read when they are needed, not more than once in ten seconds', async () => {
    const tokens = open();
    expect(await tokens.userOf(await sign())).toBeDefined();
    documents = {};
    clock.advance(24 * 3_600_000);
    expect(await tokens.userOf(await sign())).toBeDefined();
    await Promise.resolve();
    const second = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    const strange = () => sign({}, { kid: 'two', key: second });
    clock.advance(10_000);
    const before = asked.length;
    for (let i = 0; i < 20; i++) expect(await tokens.userOf(await strange())).toBeUndefined();
    expect(asked.length - before).toBe(1);
    expect(warned.at(-1)).toMatchObject({ issuer: url, reason: 'no answer' });
    await publish({ two: second });
    clock.advance(10_000);
    expect(await tokens.userOf(await strange())).toBeDefined();
    expect(await tokens.userOf(await sign({ sub: 'bob' }))).toBeUndefined();
  });

  describe('that name no key, of an issuer with several', () => {
    const ec = () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    const unnamed = (key: KeyObject, claims: object = {}) => sign(claims, { kid: null, key });

    it('are good if any of the keys has signed them, as on Kubernetes', async () => {
      const [two, three] = [ec(), ec()];
      await publish({ one: keys, two, three });
      const tokens = open();
      for (const key of [keys, two, three]) expect(await tokens.userOf(await unnamed(key))).toBeDefined();
      expect(await tokens.userOf(await unnamed(ec()))).toBeUndefined();
      expect(refused.at(-1)).toBe('signature verification failed');
    });

    it('are refused with the reason if a key fits and the token is not good', async () => {
      const two = ec();
      await publish({ one: keys, two });
      expect(await open().userOf(await unnamed(two, { exp: nowS() - 60 }))).toBeUndefined();
      expect(refused.at(-1)).toMatch(/"exp" claim/);
    });

    it('are good with a key that the issuer has added since, which is asked for at most once in ten seconds', async () => {
      const two = ec();
      const tokens = open();
      expect(await tokens.userOf(await unnamed(keys))).toBeDefined();
      await publish({ one: keys, two });
      const before = asked.length;
      for (let i = 0; i < 5; i++) expect(await tokens.userOf(await unnamed(two))).toBeUndefined();
      clock.advance(10_000);
      expect(await tokens.userOf(await unnamed(two))).toBeDefined();
      clock.advance(10_000);
      for (let i = 0; i < 5; i++) expect(await tokens.userOf(await unnamed(ec()))).toBeUndefined();
      expect(asked.length - before).toBe(4);
    });

    it('are checked with sixteen keys at most', async () => {
      const many = Array.from({ length: 17 }, ec);
      await publish(Object.fromEntries(many.map((key, i) => [`k${i}`, key])));
      const tokens = open();
      expect(await tokens.userOf(await unnamed(many[15]!))).toBeDefined();
      expect(await tokens.userOf(await unnamed(many[16]!))).toBeUndefined();
      expect(await tokens.userOf(await sign({}, { kid: 'k16', key: many[16]! }))).toBeDefined();
    });
  });

  it('stay good after the node has started again while the issuer is away, and withdrawn keys end when it is back', async () => {
    expect(await open().userOf(await sign())).toBeDefined();
    const about = documents;
    documents = {};
    const tokens = open();
    expect(await tokens.userOf(await sign())).toBeDefined();
    expect(asked).toHaveLength(3);
    documents = about;
    await publish({ two: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey });
    clock.advance(10_000);
    await tokens.userOf(await sign({ sub: 'bob' }));
    await new Promise((done) => setImmediate(done));
    expect(await tokens.userOf(await sign({ sub: 'carol' }))).toBeUndefined();
  });

  it('are refused if the issuer gives documents about somebody else, or no keys', async () => {
    for (const wrong of [
      { [`${url}/.well-known/openid-configuration`]: { issuer: 'https://evil', jwks_uri: `${url}/keys` } },
      { [`${url}/.well-known/openid-configuration`]: { issuer: url, jwks_uri: 'http://plain/keys' } },
      { [`${url}/keys`]: '<html>' },
      { [`${url}/keys`]: { keys: 'none' } },
    ]) {
      await publish({ one: keys });
      documents = { ...documents, ...wrong };
      expect(await open().userOf(await sign())).toBeUndefined();
    }
    expect(warned).toHaveLength(4);
  });

  it('follow the rules for claims and users, in values and in CEL', async () => {
    const text = config(
      `{username: {expression: 'claims.email.split("@")[0] + ":corp"'}, groups: {expression: "claims.roles.split(',')"}, uid: {claim: sub}, extra: [{key: example.com/tenant, valueExpression: claims.tenant}]}`,
      `claimValidationRules: [{claim: hd, requiredValue: example.com}, {expression: "claims.level > 2", message: level is too low}]
    userValidationRules: [{expression: "!user.groups.exists(g, g == 'banned')"}]`,
    );
    const claims = { email: 'al@example.com', roles: 'a,b', tenant: 't1', hd: 'example.com', level: 3 };
    const tokens = open(text);
    expect(await tokens.userOf(await sign(claims))).toEqual({
      name: 'al:corp',
      uid: 'alice',
      groups: ['a', 'b', 'system:authenticated'],
      extra: { 'example.com/tenant': ['t1'] },
    });
    for (const change of [{ hd: 'evil.com' }, { level: 2 }, { roles: 'a,banned' }, { email: undefined }, { roles: 7 }])
      expect([change, await tokens.userOf(await sign({ ...claims, ...change }))]).toEqual([change, undefined]);
  });

  it('name nobody of Kubernetes itself, and no address that nobody has checked', async () => {
    const bare = open(config('{username: {claim: email, prefix: ""}, groups: {claim: groups, prefix: ""}}'));
    expect(await bare.userOf(await sign({ email: 'a@b', groups: [] }))).toBeDefined();
    for (const claims of [
      { email: 'system:admin' },
      { email: 'a@b', groups: ['system:masters'] },
      { email: 'a@b', groups: ['banyan:from-above'] },
      { email: 'center:admin' },
      { email: 'a@b', email_verified: false },
      { email: '' },
    ])
      expect([claims, await bare.userOf(await sign({ groups: [], ...claims }))]).toEqual([claims, undefined]);
  });
});

describe('the file with the issuers', () => {
  it.each([
    ['an unknown field', config('{username: {claim: sub, prefx: x}}'), /oidc\.yaml.*prefx.*did you mean "prefix"/],
    ['a claim without a prefix', config('{username: {claim: sub}}'), /claimMappings\.username.*a claim needs a prefix/],
    [
      'two ways',
      config('{username: {claim: sub, prefix: x, expression: claims.sub}}'),
      /exactly one of claim and expression/,
    ],
    ['a wrong expression', config("{username: {expression: 'claims.'}}"), /username\.expression.*"claims\."/],
    [
      'a rule that is no condition',
      config(simple, "userValidationRules: [{expression: '1 + 1'}]"),
      /userValidationRules/,
    ],
    ['plain http', config(simple).replace('https://', 'http://'), /issuer\.url.*begins with https/],
    ['no audience', config(simple).replace('[banyan, other]', '[]'), /issuer\.audiences/],
    ['another kind', config(simple).replace('kind: Auth', 'kind: X'), /kind/],
    ['anonymous users', `${config(simple)}\nanonymous: {enabled: true}`, /anonymous\.enabled/],
    [
      'an authority that is no certificate',
      config(simple).replace('audiences:', 'certificateAuthority: rubbish, audiences:'),
      /issuer\.certificateAuthority has no certificate: write the PEM of the authority/,
    ],
  ])('with %s is refused, with the field and a remedy', (_, text, message) => {
    expect(() => parseAuthentication(text, 'oidc.yaml')).toThrow(message);
  });

  it('may be one that another program has, with several issuers', () => {
    const two = config(simple).replace(
      /(jwt:\n)([\s\S]*)/,
      (_, head: string, one: string) => `${head}${one}\n${one.replace(url, 'https://two')}`,
    );
    expect(parseAuthentication(two, 'x').map(({ issuer }) => issuer.url)).toEqual([url, 'https://two']);
  });
});
