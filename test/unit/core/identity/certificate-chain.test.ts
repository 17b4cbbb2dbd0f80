/** Chains with authorities of subtrees: what they may sign, and everything that a thief of such an authority could make. */
import { X509Certificate } from 'node:crypto';
import { connect, createServer, type TLSSocket } from 'node:tls';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { createIssuer, createSubtreeIssuer, type KeyAndCertificate } from '../../../../core/identity/authority.ts';
import { chainMax, subtreeIssuersMax } from '../../../../core/identity/certificate-chain.ts';
import { subtreeUnit } from '../../../../core/identity/issuer-name.ts';
import { isBelow, parentOf } from '../../../../core/identity/node-path.ts';
import { identityOfChain, identityOfPeer } from '../../../../core/identity/peer-chain.ts';
import { systemClock } from '../../../../core/runtime/clock.ts';
import { systemRandom } from '../../../../core/runtime/random.ts';
import { type Forged, type ForgedName, forged, usersApi } from '../../../support/forged.ts';
import { TestTree } from '../../../support/test-tree.ts';

const issuing = { clock: systemClock, random: systemRandom };
const nowMs = Date.now();

let tree: TestTree;
let eu: KeyAndCertificate;
beforeAll(async () => {
  tree = await TestTree.create('shop');
  eu = await createSubtreeIssuer(tree.authority, { tree: 'shop', path: 'eu', hosts: ['eu.example.com'] }, issuing);
});

const written = (path: string) => (path === '' ? '' : `/${path.replaceAll(':', '/')}`);
const idOf = (role: string, path: string, of = 'shop') => `spiffe://${of}/node/${role}${written(path)}`;
const nameOf = (unit: string, path: string, of = 'shop'): ForgedName => [
  { OU: [{ utf8String: unit }] },
  { CN: [{ utf8String: idOf(path === '' ? 'center' : 'relay', path, of) }] },
];
const below: ForgedName = [{ OU: [{ utf8String: subtreeUnit }] }, { CN: [{ utf8String: 'x' }] }];
const node = (role: string, path: string, of = 'shop'): Forged => ({
  subject: below,
  names: [{ type: 'url', value: idOf(role, path, of) }],
});
const blocks = (pem: string) => pem.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
const ders = (pem: string) => blocks(pem).map((one) => new X509Certificate(one).raw);
const trust = () => ({ caPem: Buffer.from(tree.authority.certPem), wallMs: nowMs, usage: 'client' as const });
const judged = (chain: readonly Uint8Array[]) => identityOfChain(chain, trust());
const issuerOf = (path: string, by: KeyAndCertificate) =>
  createSubtreeIssuer(by, { tree: 'shop', path, hosts: [] }, issuing).then(({ certPem, keyPem }) => ({
    certPem: by === tree.authority ? certPem : `${certPem}\n${by.certPem}`,
    keyPem,
  }));

describe('the authority of a subtree', () => {
  it('signs nodes of each role below its relay, and the authorities of relays there', async () => {
    const paris = await issuerOf('eu:paris', eu);
    const store = judged(ders((await forged(paris, node('agent', 'eu:paris:store'))).certPem));
    expect(store).toMatchObject({ role: 'agent', path: 'eu:paris:store' });
    expect(store.certificate!.signers!.map(({ path }) => path)).toEqual(['eu:paris', 'eu']);
    expect(judged(ders((await forged(eu, node('relay', 'eu:paris'))).certPem))).toMatchObject({ role: 'relay' });
    expect(judged(ders((await forged(eu, node('agent', 'eu:a:b:c'))).certPem))).toMatchObject({ path: 'eu:a:b:c' });
  });

  it.each([
    ['a sibling', 'relay', 'us'],
    ['its own relay', 'relay', 'eu'],
    ['a path that begins alike', 'agent', 'eu-west:till'],
    ['the center', 'center', ''],
    ['an agent elsewhere', 'agent', 'us:till'],
  ])('does not count for %s', async (_what, role, path) => {
    const { certPem } = await forged(eu, node(role, path));
    expect(() => judged(ders(certPem))).toThrow(
      /signed by the issuer of spiffe:\/\/shop\/node\/relay\/eu, which may sign/,
    );
  });

  it('does not count for a node of another tree', async () => {
    const { certPem } = await forged(eu, node('agent', 'eu:till', 'other'));
    expect(() => judged(ders(certPem))).toThrow('which may sign only nodes below that node');
  });

  it.each([
    ['of a sibling', nameOf(subtreeUnit, 'us'), 'us:till'],
    ['of its own relay, for more', nameOf(subtreeUnit, 'eu'), 'eu:till'],
    ['of the center', nameOf(subtreeUnit, ''), 'us:till'],
    ['of another tree', nameOf(subtreeUnit, 'eu:paris', 'other'), 'eu:paris:till'],
    ['of agents', nameOf('banyan-issuer', 'eu:paris'), 'eu:paris:till'],
    ['with the name of the authority', [{ CN: [{ utf8String: 'banyan shop' }] }], 'us:till'],
    ['with a name that only begins as a name below', below, 'us:till'],
    ['without a name', '', 'us:till'],
  ] as [string, ForgedName, string][])('signs no other authority: %s', async (_what, subject, path) => {
    const authority = await forged(eu, { subject, isCa: true });
    const { certPem } = await forged(authority, node('agent', path));
    expect(() => judged(ders(certPem))).toThrow(/does not count|was not signed by/);
  });

  it('is refused when it has expired, and when one above has expired', async () => {
    const paris = await forged(eu, { subject: nameOf(subtreeUnit, 'eu:paris'), isCa: true, isExpired: true });
    const lyon = await forged(paris, { subject: nameOf(subtreeUnit, 'eu:paris:lyon'), isCa: true });
    for (const chain of [
      await forged(paris, node('agent', 'eu:paris:till')),
      await forged(lyon, node('agent', 'eu:paris:lyon:till')),
    ]) {
      expect(() => judged(ders(chain.certPem))).toThrow(/expired on/);
    }
  });

  it('does not count as a leaf, and no leaf counts as an authority', async () => {
    const paris = await forged(eu, {
      ...node('relay', 'eu:paris'),
      subject: nameOf(subtreeUnit, 'eu:paris'),
      isCa: true,
    });
    expect(() => judged(ders(paris.certPem))).toThrow(/is the certificate of an authority/);
    const leaf = await forged(eu, { ...node('relay', 'eu:paris'), subject: nameOf(subtreeUnit, 'eu:paris') });
    const { certPem } = await forged(leaf, node('agent', 'eu:paris:till'));
    expect(() => judged(ders(certPem))).toThrow(/was not signed by the authority of this tree/);
  });

  it('may be at most so deep that a chain is read, whatever the issuers say', async () => {
    let deepest = eu;
    let path = 'eu';
    for (let made = 1; made < subtreeIssuersMax; made++) {
      path = `${path}:r`;
      deepest = await issuerOf(path, deepest);
    }
    const last = await forged(deepest, node('agent', `${path}:till`));
    expect(judged(ders(last.certPem))).toMatchObject({ path: `${path}:till` });
    await expect(issuerOf(`${path}:r`, deepest)).rejects.toMatchObject({ code: 'Forbidden' });
    const deeper = await forged(deepest, { subject: nameOf(subtreeUnit, `${path}:r`), isCa: true });
    const deepestOfAll = await forged(deeper, { subject: nameOf(subtreeUnit, `${path}:r:r`), isCa: true });
    const tooDeep = await forged(deepestOfAll, node('agent', `${path}:r:r:till`));
    expect(() => judged(ders(tooDeep.certPem))).toThrow(`${chainMax + 1} certificates were presented`);
  });

  it('is not believed because of a certificate that only looks like its issuer', async () => {
    const us = await issuerOf('us', tree.authority);
    const leaf = await forged(us, node('agent', 'eu:till'));
    // The same name and key as `us`, and the name of the authority as its issuer, but not the signature of the authority.
    const lookalike = await forged(us, { subject: nameOf(subtreeUnit, 'eu'), isCa: true });
    expect(() => judged([...ders(leaf.certPem).slice(0, 1), ...ders(lookalike.certPem), ...ders(us.certPem)])).toThrow(
      /does not count/,
    );
  });
});

interface Link {
  readonly signs: 'agents' | 'subtree';
  readonly path: string;
  readonly of: string;
  readonly isExpired: boolean;
}

/** What the rules say about a chain, in other words than the code. */
function mayCount(issuers: readonly Link[], leaf: { readonly role: string; readonly path: string }): boolean {
  const steps = issuers.every((issuer, i) => {
    const above = issuers[i - 1];
    if (issuer.isExpired) return false;
    if (!above) return true;
    return (
      above.signs === 'subtree' &&
      issuer.signs === 'subtree' &&
      above.of === issuer.of &&
      isBelow(issuer.path, above.path)
    );
  });
  const last = issuers.at(-1);
  if (!steps || !last) return steps;
  if (last.of !== 'shop') return false;
  if (last.signs === 'subtree') return isBelow(leaf.path, last.path);
  return leaf.role === 'agent' && parentOf(leaf.path) === last.path && leaf.path !== last.path;
}

it('any chain counts exactly if the rules allow it, in any order and with other certificates between', async () => {
  const path = fc.constantFrom('eu', 'eu:p', 'eu:p:q', 'us', 'eu:p:q:r');
  const link = fc.record({
    signs: fc.constantFrom('subtree', 'subtree', 'subtree', 'agents'),
    path,
    of: fc.constantFrom('shop', 'shop', 'shop', 'shop', 'other'),
    isExpired: fc.integer({ min: 0, max: 9 }).map((one) => one === 0),
  }) as fc.Arbitrary<Link>;
  const leaf = fc.record({
    role: fc.constantFrom('agent', 'relay'),
    path: fc.constantFrom('eu', 'eu:a', 'eu:p:a', 'eu:p:q:a', 'us:a'),
  });
  // Half of the chains get deeper step by step, as honest ones do.
  const chain = fc
    .tuple(fc.array(link, { maxLength: 4 }), fc.boolean())
    .map(([links, isSorted]) => (isSorted ? [...links].sort((a, b) => a.path.length - b.path.length) : links));
  const extra = (await issuerOf('us', tree.authority)).certPem;
  let counted = 0;
  await fc.assert(
    fc.asyncProperty(chain, leaf, fc.integer(), fc.boolean(), async (links, of, seed, withExtra) => {
      let signer: KeyAndCertificate = tree.authority;
      for (const one of links) {
        const unit = one.signs === 'subtree' ? subtreeUnit : 'banyan-issuer';
        signer = await forged(signer, {
          subject: nameOf(unit, one.path, one.of),
          isCa: true,
          isExpired: one.isExpired,
        });
      }
      const [own, ...between] = ders((await forged(signer, node(of.role, of.path))).certPem);
      const all = [...between, ...(withExtra ? ders(extra) : [])];
      const turned = all.map((_, i) => all[(i + Math.abs(seed)) % all.length]!);
      const counts = (() => {
        try {
          return judged([own!, ...turned]).path === of.path;
        } catch {
          return false;
        }
      })();
      if (counts) counted++;
      expect(counts).toBe(mayCount(links, of));
      // Without one of its issuers, no chain counts.
      if (between.length > 0) expect(() => judged([own!, ...between.slice(1)])).toThrow();
    }),
    { numRuns: 150, seed: 7 },
  );
  expect(counted).toBeGreaterThan(20);
});

describe('TLS with the authority of a subtree', () => {
  async function listening(own: KeyAndCertificate) {
    const server = createServer({
      ca: tree.authority.certPem,
      cert: own.certPem,
      key: own.keyPem,
      requestCert: true,
      rejectUnauthorized: false,
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    return { server, port: (server.address() as { port: number }).port };
  }

  it('gives both ends the whole chain, so that each finds out who has signed for the other', async () => {
    const paris = await issuerOf('eu:paris', eu);
    const parent = await forged(eu, node('relay', 'eu:paris'));
    const child = await forged(paris, node('agent', 'eu:paris:till'));
    const { server, port } = await listening(parent);
    const accepted = new Promise<TLSSocket>((done) => server.once('secureConnection', done));
    const socket = connect({
      port,
      host: '127.0.0.1',
      ca: tree.authority.certPem,
      cert: child.certPem,
      key: child.keyPem,
      checkServerIdentity: () => undefined,
    });
    await new Promise((done) => socket.once('secureConnect', done));
    const signersOf = (one: TLSSocket, usage: 'client' | 'server') =>
      identityOfPeer(one, { ...trust(), usage }).certificate!.signers!.map(({ path }) => path);
    expect(signersOf(socket, 'server')).toEqual(['eu']);
    expect(signersOf(await accepted, 'client')).toEqual(['eu:paris', 'eu']);
    // Asking again gives the same answer.
    expect(signersOf(socket, 'server')).toEqual(['eu']);
    socket.destroy();
    await new Promise((done) => server.close(done));
  });

  it.each([
    ['eu.example.com', true],
    ['paris.eu.example.com', true],
    ['center.example.com', false],
    ['localhost', false],
  ])('lets clients of an API accept a server %s: %s', async (host, isAccepted) => {
    const own = await forged(eu, { subject: below, names: [{ type: 'dns', value: host }] });
    const { server, port } = await listening(own);
    const socket = connect({
      port,
      host: '127.0.0.1',
      servername: host,
      ca: tree.authority.certPem,
      rejectUnauthorized: false,
    });
    await new Promise((done) => socket.once('secureConnect', done));
    expect(socket.authorized).toBe(isAccepted);
    socket.destroy();
    await new Promise((done) => server.close(done));
  });

  it('makes no user, whatever stands between', async () => {
    await using api = await usersApi(await tree.credentials('eu', 'relay'));
    const admin: Forged = { subject: [{ O: ['system:masters'] }, { CN: ['admin'] }] };
    expect(await api.statusFor(await tree.user('admin'))).toBe(404);
    expect(await api.statusFor(await forged(eu, admin))).toBe(401);
    const others: Forged['subject'][] = ['', below, [{ CN: [{ utf8String: 'banyan shop' }] }]];
    for (const subject of others) {
      expect(await api.statusFor(await forged(await forged(eu, { subject, isCa: true }), admin))).toBe(401);
    }
  });
});

it('an issuer of agents still signs only the agents directly below, beside the authority of the subtree', async () => {
  const agents = await createIssuer(tree.authority, { tree: 'shop', path: 'eu' }, issuing);
  expect(judged(ders((await forged(agents, node('agent', 'eu:till'))).certPem))).toMatchObject({ path: 'eu:till' });
  const deeper = await forged(agents, node('agent', 'eu:paris:till'));
  expect(() => judged(ders(deeper.certPem))).toThrow('which may sign only agents directly below that node');
});
