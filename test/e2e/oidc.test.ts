/** People who sign in with a token of their company's issuer (OpenID Connect), with stock kubectl. */
import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { createAuthority, issueNode } from '../../core/identity/authority.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { banyan, LocalTree, until } from './local-tree.ts';
import type { Mood } from './oidc-issuer.ts';
import { grant, People } from './people.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';

describe.skipIf(withoutKubectl)(`a person of the company${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-oidc-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  let issuer: ChildProcess;
  let url = '';
  const feel = (mood: Mood) => writeFileSync(join(directory, 'mood'), mood);
  const alice = { email: 'alice@example.com', groups: ['tills'] };
  const nowS = () => Math.floor(Date.now() / 1_000);
  const sign = (claims: object, key: KeyObject = keys, kid = 'one') =>
    new SignJWT({ iss: url, aud: 'banyan', iat: nowS(), exp: nowS() + 3_600, ...claims })
      .setProtectedHeader({ alg: 'ES256', kid })
      .sign(key);
  const publish = async (all: Record<string, KeyObject>) => {
    const jwks = Object.entries(all).map(async ([kid, key]) => {
      const { d: _, ...jwk } = await exportJWK(key);
      return { ...jwk, kid, alg: 'ES256' };
    });
    writeFileSync(join(directory, 'jwks.json'), JSON.stringify({ keys: await Promise.all(jwks) }));
  };
  const startIssuer = (...port: string[]) => {
    issuer = spawn(process.execPath, [join(import.meta.dirname, 'oidc-issuer.ts'), directory, ...port]);
    return new Promise<string>((done) => issuer.stdout!.once('data', (text) => done(String(text).trim())));
  };
  const people = new People(tree, directory);
  const as = (token: string, context: string, ...args: string[]) =>
    people.as('bare', context, '--token', token, ...args);
  const reads = (token: string) => as(token, 'space/center/retail', 'get', 'configmaps', '-A');
  const log = () => readFileSync(join(tree.data, 'logs/center.log'), 'utf8');

  beforeAll(async () => {
    const issuing = { clock: systemClock, random: systemRandom };
    const authority = await createAuthority('company', issuing);
    const host = { tree: 'company', path: 'login', role: 'relay' as const, hosts: ['127.0.0.1'] };
    const { certPem, keyPem } = await issueNode(authority, host, issuing);
    await publish({ one: keys });
    writeFileSync(join(directory, 'issuer.json'), JSON.stringify({ certPem, keyPem }), { mode: 0o600 });
    url = await startIssuer();
    const mapping = { username: { claim: 'email', prefix: 'corp:' }, groups: { claim: 'groups', prefix: 'corp:' } };
    const configuration = {
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'AuthenticationConfiguration',
      jwt: [
        { issuer: { url, audiences: ['banyan'], certificateAuthority: authority.certPem }, claimMappings: mapping },
      ],
    };
    writeFileSync(join(directory, 'authentication.yaml'), stringify(configuration));
    const topology = {
      apiVersion: 'banyan.io/v1alpha1',
      kind: 'Topology',
      metadata: { name: 'oidc' },
      spec: { center: { spaces: [{ name: 'retail' }], authentication: { file: 'authentication.yaml' } } },
    };
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    await tree.up();
    people.identify('bare', {});
    const tills = { kind: 'Group', name: 'corp:tills' };
    const { code, out } = tree.apply('node/center', grant('tills', tills, 'view', { space: { name: 'retail' } }));
    expect(code, out).toBe(0);
  });
  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    issuer.kill();
    rmSync(directory, { recursive: true, force: true });
  });

  it('has the rights of the groups that the token names', async () => {
    const token = await sign(alice);
    expect(reads(token).code).toBe(0);
    expect(as(token, 'node/center', 'auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}').out).toBe(
      'corp:alice@example.com',
    );
    expect(as(token, 'space/center/retail', 'create', 'namespace', 'x').out).toContain('User "corp:alice@example.com"');
    const other = await sign({ email: 'bob@example.com', groups: ['bakery'] });
    expect(reads(other).out).toContain('User "corp:bob@example.com"');
  });

  it('is refused with a bad token, without a word to the client, and the log of the node has the reason', async () => {
    const end = { iss: url, aud: 'banyan', exp: nowS() + 3_600 };
    const bad: readonly (readonly [string, RegExp | undefined])[] = [
      [await sign({ ...alice, exp: nowS() - 60 }), /\\"exp\\" claim timestamp check failed/],
      [await sign({ ...alice, nbf: nowS() + 3_600 }), undefined],
      [await sign({ ...alice, aud: 'kubernetes' }), undefined],
      [await sign({ ...alice, exp: undefined }), undefined],
      [new UnsecuredJWT({ ...alice, ...end }).encode(), undefined],
      [await sign({ ...alice, more: 'x'.repeat(20_000) }), undefined],
      [(await sign(alice)).replace(/.{8}$/, 'AAAAAAAA'), undefined],
      ['no-token', undefined],
    ];
    for (const [token, reason] of bad) {
      expect(reads(token).out).toMatch(/Unauthorized|logged in/);
      if (reason) expect(log()).toMatch(reason);
      expect(log()).not.toContain(token.slice(-20));
    }
    expect(reads(await sign(alice)).code).toBe(0);
  });

  it('signs in while the issuer is away, and with a new key of an issuer that is back; a withdrawn key is no longer good', async () => {
    const good = await sign(alice);
    issuer.kill();
    expect(reads(good).code).toBe(0);
    expect(reads(await sign(alice)).code).toBe(0);
    const next = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    const fresh = await sign(alice, next, 'two');
    expect(reads(fresh).out).toMatch(/Unauthorized|logged in/);
    await publish({ two: next });
    expect(await startIssuer(new URL(url).port)).toBe(url);
    await until('the new key is read', () => reads(fresh).code === 0, 20);
    expect(reads(good).out).toMatch(/Unauthorized|logged in/);
    await publish({ one: keys });
    await until('the former key is read again', () => reads(good).code === 0, 20);
  });

  it('is refused with a token of somebody else, while the issuer answers without end, and the node serves others', async () => {
    const strange = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    const good = await sign(alice);
    const bad = await sign({ ...alice, email: 'eve@example.com' }, strange, 'other');
    feel('huge');
    await until('the issuer is asked', () => {
      expect(reads(bad).out).toMatch(/Unauthorized|logged in/);
      return log().includes('the answer has more than');
    });
    expect(reads(good).code).toBe(0);
    feel('good');
  });

  it('does not start with a file that has a mistake, and the message names the field', async () => {
    await tree.down();
    const file = join(directory, 'authentication.yaml');
    writeFileSync(file, readFileSync(file, 'utf8').replace('prefix: "corp:"', 'prefx: "corp:"'));
    const ran = banyan(
      'up',
      '-f',
      join(directory, 'topology.yaml'),
      '--data',
      tree.data,
      '--detach',
      '--timeout',
      '10',
    );
    expect(ran.code).not.toBe(0);
    const log = readFileSync(join(tree.data, 'logs', 'center.log'), 'utf8');
    expect(`${ran.out}${log}`).toMatch(/authentication\.yaml.*claimMappings\.username/);
  });
});
