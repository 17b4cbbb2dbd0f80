/** The identity of an agent that was enrolled: certificates of the tree's authority in files, and their renewal by a real issuer. */
import 'reflect-metadata';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as x509 from '@peculiar/x509';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createIssuer, issueJoined, issueNode, type KeyAndCertificate } from '../../../../core/identity/authority.ts';
import { type JudgedRequest, judgeRequest } from '../../../../core/identity/certificate-request.ts';
import { leafMs } from '../../../../core/identity/certificate-validity.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom, systemRandom } from '../../../../core/runtime/random.ts';
import type { Identity, IdentityStore } from '../../../../core/wire/join/identity-store.ts';
import { Renewal } from '../../../../core/wire/join/renewal.ts';
import { currentOf, type NodeCredentials, renewedCredentials } from '../../../../core/wire/node-credentials.ts';
import { GivenIdentity } from '../../../../edge-agent/identity/given-identity.ts';
import { settledTrust } from '../../../support/settled-trust.ts';
import { TestTree } from '../../../support/test-tree.ts';

const path = 'eu:kid';

let tree: TestTree;
let issuer: KeyAndCertificate;
beforeAll(async () => {
  tree = await TestTree.create('shop');
  const issuing = { clock: new VirtualClock(Date.now()), random: systemRandom };
  issuer = await createIssuer(tree.authority, { tree: 'shop', path: 'eu' }, issuing);
});

let directory: string;
let clock: VirtualClock;
let asked: number;
let files: NodeCredentials;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'banyan-given-'));
  clock = new VirtualClock(Date.now());
  asked = 0;
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const file = (name: string) => join(directory, name);
const text = (name: string) => readFileSync(file(name), 'utf8');

/** Like `banyan enroll`; with `hosts`: like `banyan up` for its agents. */
async function enrolled({ hosts = [], secret }: { hosts?: string[]; secret?: IdentityStore } = {}) {
  const node = { tree: 'shop', path, role: 'agent' as const, hosts };
  const { certPem, keyPem } = await issueNode(tree.authority, node, { clock, random: systemRandom });
  writeFileSync(file('ca.crt'), tree.authority.certPem);
  writeFileSync(file('tls.crt'), certPem, { mode: 0o640 });
  writeFileSync(file('tls.key'), keyPem, { mode: 0o600 });
  const read = () => ({
    caPem: readFileSync(file('ca.crt')),
    certPem: readFileSync(file('tls.crt')),
    keyPem: readFileSync(file('tls.key')),
  });
  files = renewedCredentials({ clock, log: silentLogger, read });
  const held = new GivenIdentity({ path, clock, certFile: file('tls.crt'), files, secret });
  const renew = async (credentials: NodeCredentials, request: string) => {
    asked++;
    expect(currentOf(credentials).certPem.toString()).toBe(text('tls.crt'));
    const judged = await judgeRequest(request, {
      path,
      id: 'spiffe://shop/node/agent/eu/kid',
      role: 'agent',
      hosts: [],
    });
    return {
      authority: 'another one, which nobody has asked for',
      certificate: await issueJoined(issuer, judged, { clock, random: systemRandom }),
    };
  };
  const random = new SeededRandom(1);
  return {
    certPem,
    renewal: new Renewal({
      path,
      clock,
      random,
      log: silentLogger,
      renewable: held,
      trust: settledTrust(held),
      renewals: [renew],
    }),
  };
}

describe('an agent that was enrolled', () => {
  it('gets another certificate for its key after two thirds of the lifetime, in place of the first', async () => {
    const { certPem, renewal } = await enrolled();
    clock.advance(leafMs * 0.6);
    await renewal.look();
    expect([asked, text('tls.crt')]).toEqual([0, certPem]);
    clock.advance(leafMs * 0.1);
    const [ca, key] = [text('ca.crt'), text('tls.key')];
    await renewal.look();
    const renewed = new X509Certificate(text('tls.crt'));
    expect([asked, renewed.subjectAltName, renewed.issuer.includes('banyan-issuer')]).toEqual([
      1,
      'URI:spiffe://shop/node/agent/eu/kid',
      true,
    ]);
    expect([text('ca.crt'), text('tls.key')]).toEqual([ca, key]);
    expect([statSync(file('tls.crt')).mode & 0o777, readdirSync(directory).sort()]).toEqual([
      0o640 & ~process.umask(),
      ['ca.crt', 'tls.crt', 'tls.key'],
    ]);
    clock.advance(1_000);
    expect(currentOf(files).certPem.toString()).toBe(text('tls.crt'));
    await renewal.look();
    expect([asked, renewal.trouble]).toEqual([1, undefined]);
  });

  it('whose certificate somebody else keeps asks for none that it could not keep, and reports this until there is another', async () => {
    const { certPem, renewal } = await enrolled();
    renameSync(file('tls.crt'), file('kept.crt'));
    symlinkSync('kept.crt', file('tls.crt'));
    clock.advance(leafMs * 0.7);
    await renewal.look();
    expect([asked, renewal.trouble]).toEqual([
      0,
      {
        reason: 'Forbidden',
        message: expect.stringMatching(
          /^its certificate ends on .* and was not renewed: pki\.cert: .*tls\.crt is a link, .*: renew it where it comes from/,
        ),
      },
    ]);
    expect(text('kept.crt')).toBe(certPem);
    const node = { tree: 'shop', path, role: 'agent' as const, hosts: [] };
    const by = await issueNode(tree.authority, node, { clock, random: systemRandom });
    writeFileSync(file('kept.crt'), by.certPem);
    writeFileSync(file('tls.key'), by.keyPem);
    clock.advance(1_000);
    await renewal.look();
    expect([asked, renewal.trouble]).toEqual([0, undefined]);
  });

  it('whose key is of a kind that agents do not use reports this, and asks for nothing', async () => {
    const { renewal } = await enrolled();
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' });
    const spki = new x509.PublicKey(new Uint8Array(publicKey.export({ type: 'spki', format: 'der' })));
    const foreign = {
      path,
      id: 'spiffe://shop/node/agent/eu/kid',
      hosts: [] as string[],
      role: 'agent',
      publicKey: spki,
    } as unknown as JudgedRequest;
    writeFileSync(file('tls.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
    writeFileSync(file('tls.crt'), await issueJoined(tree.authority, foreign, { clock, random: systemRandom }));
    clock.advance(leafMs * 0.7);
    await renewal.look();
    expect([asked, renewal.trouble]).toEqual([
      0,
      {
        reason: 'Invalid',
        message: expect.stringMatching(/pki\.key: .*keys of P-256, and this one is secp384r1: renew it/),
      },
    ]);
  });

  it('whose certificate is for a host name too leaves the renewal to its maker: a parent has no such certificate', async () => {
    const { certPem, renewal } = await enrolled({ hosts: ['127.0.0.1', 'localhost'] });
    clock.advance(leafMs * 0.7);
    await renewal.look();
    expect([asked, renewal.trouble, text('tls.crt')]).toEqual([0, undefined, certPem]);
  });

  it('whose files come from a Secret writes the next one there, or finds the one that another pod has written', async () => {
    const kept: Identity[] = [];
    const secret: IdentityStore = {
      shown: 'the Secret',
      read: async () => kept.at(-1),
      settleKey: async (key) => key,
      keep: async (identity) => void kept.push(identity),
    };
    const { certPem, renewal } = await enrolled({ secret });
    clock.advance(leafMs * 0.7);
    await renewal.look();
    expect([asked, text('tls.crt')]).toEqual([1, certPem]);
    expect(kept).toEqual([
      { caPem: text('ca.crt'), keyPem: text('tls.key'), certPem: expect.stringContaining('BEGIN CERTIFICATE') },
    ]);
    expect(kept[0]?.certPem).not.toBe(certPem);
    await renewal.look();
    expect([asked, kept.length]).toEqual([1, 1]);
  });
});
