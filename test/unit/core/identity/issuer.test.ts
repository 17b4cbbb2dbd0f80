/** The certificates that a relay's issuer can sign and that every node refuses, although TLS would accept them. */
import { X509Certificate } from 'node:crypto';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { beforeAll, describe, expect, it } from 'vitest';
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
import { systemRandom } from '../../../../core/runtime/random.ts';
import { forged, usersApi } from '../../../support/forged.ts';
import { TestTree } from '../../../support/test-tree.ts';

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

const kid = 'CN=eu:kid';
const named = (id: string) => ({ names: [{ type: 'url' as const, value: id }] });

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
    const { authorized, judged } = await shown(await forged(issuer, { subject: kid, ...named(id) }));
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
    const own = await forged(issuer, { subject: kid, ...named('spiffe://shop/node/center'), issuerName });
    const { authorized, judged } = await shown(own);
    expect(authorized).toBe(isSameName);
    expect(judged).toEqual(expect.any(String));
  });

  it('cannot make a further authority, in TLS because of the path length, in a proof because of its name', async () => {
    const below = await forged(issuer, { subject: 'CN=banyan shop two', isCa: true });
    const own = await forged(below, { subject: kid, ...named('spiffe://shop/node/center') });
    expect(await shown(own)).toMatchObject({ authorized: false });
    const { caPem } = tree.with(own);
    expect(() => trustedPath(ders(own.certPem), { caPem, wallMs: Date.now(), usage: 'client' })).toThrow(
      'it was signed by the issuer of spiffe://shop/node/relay/eu, which may not sign another authority',
    );
  });

  it('cannot make a server: clients that know nothing of paths refuse it', async () => {
    const own = await forged(issuer, { subject: 'CN=localhost', usages: ['1.3.6.1.5.5.7.3.1'] });
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
    await using api = await usersApi(await tree.credentials('eu', 'relay'));
    expect(await api.statusFor(await tree.user('admin'))).toBe(404);
    expect(await api.statusFor(await forged(issuer, { subject: 'O=system:masters, CN=admin' }))).toBe(401);
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
