/** The certificates that a relay's issuer can sign and that every node refuses, although TLS would accept them. */
import 'reflect-metadata';
import { webcrypto, X509Certificate } from 'node:crypto';
import { get } from 'node:https';
import { connect, createServer, type TLSSocket } from 'node:tls';
import * as x509 from '@peculiar/x509';
import { beforeAll, describe, expect, it } from 'vitest';
import { onlyPrivileged } from '../../../../core/access/authorizer.ts';
import { ApiServer } from '../../../../core/apiserver/http/api-server.ts';
import {
  createAuthority,
  createIssuer,
  issueJoined,
  type KeyAndCertificate,
} from '../../../../core/identity/authority.ts';
import { trustedPath } from '../../../../core/identity/certificate-chain.ts';
import { judgeRequest, newKey, requestFor } from '../../../../core/identity/certificate-request.ts';
import { identityOfPath, identityOfPeer } from '../../../../core/identity/peer-chain.ts';
import { systemClock, VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { systemRandom } from '../../../../core/runtime/random.ts';
import { TestTree } from '../../../support/test-tree.ts';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const issuing = { clock: systemClock, random: systemRandom };
const blocks = (pem: string) => pem.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
const ders = (pem: string) => blocks(pem).map((one) => new X509Certificate(one).raw);

let tree: TestTree;
let issuer: KeyAndCertificate;
beforeAll(async () => {
  tree = await TestTree.create('shop');
  issuer = await createIssuer(tree.authority, { tree: 'shop', path: 'eu' }, issuing);
});

async function joined(path: string, of: KeyAndCertificate = issuer, clock = systemClock) {
  const keyPem = newKey();
  const id = `spiffe://shop/node/agent/${path.replaceAll(':', '/')}`;
  const judged = await judgeRequest(await requestFor(path, keyPem), { path, id, role: 'agent', hosts: [] });
  const certPem = await issueJoined(of, judged, { ...issuing, clock });
  return { certPem, keyPem };
}

interface Forged {
  readonly id?: string;
  readonly subject?: string;
  /** The issuer's name as the forger writes it. */
  readonly issuerName?: string;
  readonly ca?: boolean;
  readonly by?: KeyAndCertificate;
  readonly usage?: x509.ExtendedKeyUsage;
}

/** Made by a forger with an issuer's key, who writes any fields. */
async function forged({ id, subject = 'CN=eu:kid', issuerName, ca = false, by = issuer, usage }: Forged) {
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
  const key = x509.PemConverter.decodeFirst(by.keyPem);
  const signer = new x509.X509Certificate(by.certPem);
  const certificate = await x509.X509CertificateGenerator.create({
    subject,
    issuer: issuerName ?? signer.subjectName,
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey: await webcrypto.subtle.importKey('pkcs8', key, algorithm, false, ['sign']),
    extensions: [
      new x509.BasicConstraintsExtension(ca, undefined, true),
      new x509.ExtendedKeyUsageExtension([usage ?? x509.ExtendedKeyUsage.clientAuth]),
      ...(id ? [new x509.SubjectAlternativeNameExtension([{ type: 'url', value: id }])] : []),
    ],
  });
  const exported = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  const keyPem = x509.PemConverter.encode(exported, 'PRIVATE KEY');
  return { certPem: `${certificate.toString('pem')}\n${by.certPem}\n`, keyPem };
}

/** The result of the parent's TLS for a child with this certificate, and of our own check. */
async function shown(own: { readonly certPem: string; readonly keyPem: string }) {
  const parent = await tree.credentials('eu', 'relay');
  const options = { ca: parent.caPem, cert: parent.certPem, key: parent.keyPem };
  const server = createServer({ ...options, requestCert: true, rejectUnauthorized: false });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as { port: number };
  const arrived = new Promise<TLSSocket>((done) => server.once('secureConnection', done));
  const child = connect({
    port,
    host: '127.0.0.1',
    ca: parent.caPem,
    cert: own.certPem,
    key: own.keyPem,
    checkServerIdentity: () => undefined,
  });
  const socket = await arrived;
  const judged = (() => {
    try {
      return identityOfPeer(socket, { caPem: parent.caPem, usage: 'client' });
    } catch (error) {
      return (error as Error).message;
    }
  })();
  const { authorized } = socket;
  for (const end of [child, socket]) end.destroy();
  await new Promise((done) => server.close(done));
  return { authorized, judged };
}

describe("a relay's issuer", () => {
  it('signs an agent directly below the relay, which TLS and a proof then identify by its path', async () => {
    const own = await joined('eu:kid');
    expect(await shown(own)).toMatchObject({ authorized: true, judged: { path: 'eu:kid', role: 'agent' } });
    const found = trustedPath(ders(own.certPem), { caPem: tree.with(own).caPem, wallMs: Date.now(), usage: 'client' });
    expect(identityOfPath(found)).toMatchObject({ path: 'eu:kid', role: 'agent' });
    expect(new X509Certificate(own.certPem).subjectAltName).toBe('URI:spiffe://shop/node/agent/eu/kid');
  });

  it('signs for the center the nodes directly below it', async () => {
    const center = await createIssuer(tree.authority, { tree: 'shop', path: '' }, issuing);
    expect(await shown(await joined('hq', center))).toMatchObject({ judged: { path: 'hq', role: 'agent' } });
    expect((await shown(await joined('eu:kid', center))).judged).toMatch(
      /does not count: it was signed by the issuer of/,
    );
  });

  it.each([
    ['an agent elsewhere', 'spiffe://shop/node/agent/us/kid'],
    ['an agent deeper', 'spiffe://shop/node/agent/eu/paris/kid'],
    ['an agent of its own path', 'spiffe://shop/node/agent/eu'],
    ['an agent of a path that begins alike', 'spiffe://shop/node/agent/eu2/kid'],
    ['a relay below', 'spiffe://shop/node/relay/eu/kid'],
    ['the relay itself', 'spiffe://shop/node/relay/eu'],
    ['the center', 'spiffe://shop/node/center'],
    ['an agent of another tree', 'spiffe://other/node/agent/eu/kid'],
  ])('is not trusted for %s, though TLS would accept it', async (_what, id) => {
    const { authorized, judged } = await shown(await forged({ id }));
    expect(authorized).toBe(true);
    expect(judged).toMatch(
      `the certificate for ${id} does not count: it was signed by the issuer of spiffe://shop/node/relay/eu`,
    );
  });

  it.each([
    ['OU=BANYAN-ISSUER, CN=SPIFFE://SHOP/node/relay/eu', true],
    ['OU=banyan-issuer\\ , CN=spiffe://shop/node/relay/eu', true],
    ['CN=banyan shop', false],
    ['OU=banyan-issuer, CN=spiffe://shop/node/center', false],
  ])('is recognised by its name in any encoding: %s', async (issuerName, isSameName) => {
    const own = await forged({ id: 'spiffe://shop/node/center', issuerName });
    const { authorized, judged } = await shown(own);
    expect(authorized).toBe(isSameName);
    expect(judged).toEqual(expect.any(String));
  });

  it('cannot make a further authority, in TLS because of the path length, in a proof because of its name', async () => {
    const below = await forged({ subject: 'CN=banyan shop two', ca: true });
    const own = await forged({ id: 'spiffe://shop/node/center', by: below });
    expect(await shown(own)).toMatchObject({ authorized: false });
    const { caPem } = tree.with(own);
    expect(() => trustedPath(ders(own.certPem), { caPem, wallMs: Date.now(), usage: 'client' })).toThrow(
      'it was signed by the issuer of spiffe://shop/node/relay/eu, which may not sign another authority',
    );
  });

  it('cannot make a server: clients that know nothing of paths refuse it', async () => {
    const own = await forged({ subject: 'CN=localhost', usage: x509.ExtendedKeyUsage.serverAuth });
    const server = createServer({ cert: own.certPem, key: own.keyPem });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const { port } = server.address() as { port: number };
    const ca = tree.authority.certPem;
    const client = connect({
      port,
      host: '127.0.0.1',
      ca,
      rejectUnauthorized: false,
      checkServerIdentity: () => undefined,
    });
    await new Promise((done) => client.once('secureConnect', done));
    expect([client.authorized, String(client.authorizationError)]).toEqual([false, 'INVALID_PURPOSE']);
    client.destroy();
    await new Promise((done) => server.close(done));
  });

  it('cannot make a user: an API refuses its users, whatever groups they name', async () => {
    const { caPem, certPem, keyPem } = await tree.credentials('eu', 'relay');
    const api = new ApiServer({
      host: '127.0.0.1',
      port: 0,
      clock: systemClock,
      log: silentLogger,
      tls: () => ({ ca: caPem, cert: certPem, key: keyPem }),
      notReady: () => undefined,
      metrics: async () => '',
      authenticate: (certificate) => certificate && { name: 'admin', groups: ['system:masters'] },
      authorizer: onlyPrivileged,
      isRevoked: () => false,
      path: 'eu',
    });
    const url = await api.listen();
    const statusFor = (user: KeyAndCertificate) =>
      new Promise((resolve, reject) => {
        const options = { ca: caPem, cert: user.certPem, key: user.keyPem, agent: false };
        get(`${url}/api`, options, (response) => resolve(response.resume().statusCode)).on('error', reject);
      });
    expect(await statusFor(await tree.user('admin'))).toBe(404);
    expect(await statusFor(await forged({ subject: 'O=system:masters, CN=admin' }))).toBe(401);
    await api[Symbol.asyncDispose]();
  });

  it('signs nothing that is valid longer than itself, and nothing when it has expired', async () => {
    const clock = new VirtualClock(Date.now() + 700 * 86_400_000);
    const own = new X509Certificate((await joined('eu:kid', issuer, clock)).certPem);
    expect(own.validTo).toBe(new X509Certificate(issuer.certPem).validTo);
    const late = new VirtualClock(Date.now() + 800 * 86_400_000);
    await expect(joined('eu:kid', issuer, late)).rejects.toThrow(/the issuer of this node expired on/);
  });

  it('has a name that no tree may have', async () => {
    await expect(createAuthority('x Banyan-Issuer', issuing)).rejects.toThrow(/is no name for a tree/);
  });
});
