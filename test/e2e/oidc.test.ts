/** People who sign in with a token of their company's issuer (OpenID Connect), with stock kubectl. */
import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { createAuthority, issueNode } from '../../core/identity/authority.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { banyan, LocalTree } from './local-tree.ts';
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
  const sign = (claims: object, key: KeyObject = keys, kid = 'one') =>
    new SignJWT({ iss: url, aud: 'banyan', ...claims })
      .setProtectedHeader({ alg: 'ES256', kid })
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(key);
  const people = new People(tree, directory);
  const as = (token: string, context: string, ...args: string[]) =>
    people.as('bare', context, '--token', token, ...args);

  beforeAll(async () => {
    const issuing = { clock: systemClock, random: systemRandom };
    const authority = await createAuthority('company', issuing);
    const host = { tree: 'company', path: 'login', role: 'relay' as const, hosts: ['127.0.0.1'] };
    const { certPem, keyPem } = await issueNode(authority, host, issuing);
    const { d: _, ...jwk } = await exportJWK(keys);
    const jwks = { keys: [{ ...jwk, kid: 'one', alg: 'ES256' }] };
    writeFileSync(join(directory, 'issuer.json'), JSON.stringify({ certPem, keyPem, jwks }), { mode: 0o600 });
    issuer = spawn(process.execPath, [join(import.meta.dirname, 'oidc-issuer.ts'), directory]);
    url = await new Promise<string>((done) => issuer.stdout!.once('data', (text) => done(String(text).trim())));
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
    const token = await sign({ email: 'alice@example.com', groups: ['tills'] });
    expect(as(token, 'space/center/retail', 'get', 'configmaps', '-A').code).toBe(0);
    expect(as(token, 'node/center', 'auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}').out).toBe(
      'corp:alice@example.com',
    );
    expect(as(token, 'space/center/retail', 'create', 'namespace', 'x').out).toContain('User "corp:alice@example.com"');
    const other = await sign({ email: 'bob@example.com', groups: ['bakery'] });
    expect(as(other, 'space/center/retail', 'get', 'configmaps', '-A').out).toContain('User "corp:bob@example.com"');
  });

  it('is refused with a token of somebody else, while the issuer is broken, slow or huge, and the node serves others', async () => {
    const strange = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    const good = await sign({ email: 'alice@example.com', groups: ['tills'] });
    for (const way of ['html', 'slow', 'huge'] as const) {
      feel(way);
      const token = await sign({ email: 'eve@example.com', groups: ['tills'] }, strange, `other-${way}`);
      expect(as(token, 'space/center/retail', 'get', 'configmaps', '-A').out).toMatch(/Unauthorized|logged in/);
      expect(as(good, 'space/center/retail', 'get', 'configmaps', '-A').code).toBe(0);
    }
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
