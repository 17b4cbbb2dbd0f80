/** Which authorities of a bundle a node trusts: only those that an authority introduces which it trusts already. */
import 'reflect-metadata';
import { webcrypto, X509Certificate } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  createAuthority,
  createSubtreeIssuer,
  issueNode,
  type KeyAndCertificate,
  selfSigned,
} from '../../../../core/identity/authority.ts';
import { createNextAuthority, signAgain } from '../../../../core/identity/authority-change.ts';
import { identityOfChain } from '../../../../core/identity/peer-chain.ts';
import { authorityId } from '../../../../core/identity/peer-identity.ts';
import { certificatesIn } from '../../../../core/identity/pem-certificates.ts';
import {
  authorityOfChain,
  bundleBytesMax,
  bundleOf,
  judgeBundle,
  readBundle,
} from '../../../../core/identity/trusted-authorities.ts';
import { systemClock } from '../../../../core/runtime/clock.ts';
import { systemRandom } from '../../../../core/runtime/random.ts';

const issuing = { clock: systemClock, random: systemRandom };
const certificateOf = ({ certPem }: Pick<KeyAndCertificate, 'certPem'>) => new X509Certificate(certPem);
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

let former: KeyAndCertificate;
let next: KeyAndCertificate & { readonly introductionPem: string };
beforeAll(async () => {
  former = await createAuthority('shop', issuing);
  next = await createNextAuthority(former, 'shop', issuing);
});

const bundle = (...pems: string[]) => pems.join('\n');
const ids = (authorities: readonly X509Certificate[]) => authorities.map(authorityId);
const judged = (trusted: readonly KeyAndCertificate[], text: string) => judgeBundle(trusted.map(certificateOf), text);

/** A certificate that signs itself, with the key and the name of another certificate: what a thief of that key can make. */
async function selfSignedLike({ certPem, keyPem }: KeyAndCertificate): Promise<string> {
  const { subjectName: name, publicKey } = new x509.X509Certificate(certPem);
  const key = await webcrypto.subtle.importKey('pkcs8', x509.PemConverter.decodeFirst(keyPem), algorithm, true, [
    'sign',
  ]);
  const certificate = await x509.X509CertificateGenerator.create({
    subject: name,
    issuer: name,
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 3_600_000),
    signingAlgorithm: algorithm,
    publicKey,
    signingKey: key as CryptoKey,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      await x509.SubjectKeyIdentifierExtension.create(publicKey),
    ],
  });
  return certificate.toString('pem');
}

describe('a bundle of authorities', () => {
  it('brings a new authority that a trusted one introduces, in the order of the bundle', () => {
    const found = judged([former], bundle(next.certPem, former.certPem, next.introductionPem));
    expect(ids(found.authorities)).toEqual(ids([certificateOf(next), certificateOf(former)]));
    expect(found.refused).toEqual([]);
  });

  it('brings the new authority also to a node that missed the time in which both were trusted', () => {
    expect(ids(judged([former], bundle(next.certPem, next.introductionPem)).authorities)).toEqual(
      ids([certificateOf(next)]),
    );
  });

  it('brings an authority that the new one introduces', async () => {
    const third = await createNextAuthority(next, 'shop', issuing);
    const all = bundle(third.certPem, next.certPem, third.introductionPem, next.introductionPem);
    expect(judged([former], all).authorities).toHaveLength(2);
  });

  it('does not bring an authority without an introduction, or with one by an authority that is not trusted here', async () => {
    const stranger = await createAuthority('shop', issuing);
    const theirs = await createNextAuthority(stranger, 'shop', issuing);
    for (const pems of [
      [next.certPem, former.certPem],
      [theirs.certPem, former.certPem, theirs.introductionPem],
      [theirs.certPem, stranger.certPem, former.certPem, theirs.introductionPem],
      [theirs.certPem, former.certPem, next.introductionPem],
    ]) {
      const found = judged([former], bundle(...pems));
      expect(ids(found.authorities)).toEqual(ids([certificateOf(former)]));
      expect(found.refused[0]).toMatch(/is not introduced by an authority that is trusted here/);
    }
  });

  it('does not bring an authority of another key with the name of the introduced one', async () => {
    const theirs = await selfSigned(new x509.X509Certificate(next.certPem).subjectName, issuing);
    const found = judged([former], bundle(theirs.certPem, former.certPem, next.introductionPem));
    expect(ids(found.authorities)).toEqual(ids([certificateOf(former)]));
  });

  it('does not bring the issuer of a relay, which an authority has signed too, as an authority', async () => {
    const eu = await createSubtreeIssuer(former, { tree: 'shop', path: 'eu', hosts: [] }, issuing);
    const found = judged([former], bundle(await selfSignedLike(eu), former.certPem, eu.certPem));
    expect(ids(found.authorities)).toEqual(ids([certificateOf(former)]));
  });

  it('does not bring an authority that a relay introduces', async () => {
    const eu = await createSubtreeIssuer(former, { tree: 'shop', path: 'eu', hosts: [] }, issuing);
    const theirs = await createNextAuthority(eu, 'shop', issuing);
    expect(judged([former], bundle(theirs.certPem, former.certPem, theirs.introductionPem)).authorities).toHaveLength(
      1,
    );
  });

  it('changes nothing if none of its authorities is trusted', async () => {
    const stranger = await createAuthority('other', issuing);
    const found = judged([former], stranger.certPem);
    expect(found.authorities).toEqual([]);
    expect(found.refused).toHaveLength(1);
  });

  it('is refused as a whole if it is too long, has too many authorities or none, or can not be read', async () => {
    const many = await Promise.all([1, 2, 3, 4].map(() => createAuthority('shop', issuing)));
    const cases: [string, RegExp][] = [
      ['x'.repeat(bundleBytesMax + 1), /bytes; at most/],
      [bundle(...many.map(({ certPem }) => certPem)), /4 authorities; a tree has at most 3/],
      [bundle(former.certPem, ...Array(4).fill(next.introductionPem)), /4 introductions/],
      ['', /has no authority/],
      [next.introductionPem, /has no authority/],
      ['-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----', /can not be read/],
    ];
    for (const [text, why] of cases) {
      expect(readBundle(text)).toEqual({ flaw: expect.stringMatching(why) });
      expect(judged([former], text).authorities).toEqual([]);
    }
  });

  it('is written in the form in which it is read', () => {
    const read = readBundle(bundle(next.introductionPem, next.certPem, former.certPem));
    if ('flaw' in read) throw new Error(read.flaw);
    expect(readBundle(bundleOf(read))).toMatchObject({ authorities: { length: 2 }, introductions: { length: 1 } });
  });
});

describe('a certificate that is signed again', () => {
  it('has the same key, names and validity, and leads to the new authority, or over the introduction to the former one', async () => {
    const node = { tree: 'shop', path: 'eu', role: 'relay', hosts: ['eu.example.com'] } as const;
    const before = await issueNode(former, node, issuing);
    const after = await signAgain(next, before.certPem, issuing);
    const [a, b] = [new X509Certificate(before.certPem), new X509Certificate(after)];
    for (const field of ['subject', 'subjectAltName', 'validFrom', 'validTo'] as const) expect(b[field]).toBe(a[field]);
    expect(b.publicKey.equals(a.publicKey)).toBe(true);
    expect(b.keyUsage).toEqual(a.keyUsage);
    const chain = bundle(after, next.introductionPem);
    expect(authorityOfChain(chain, [former, next].map(certificateOf))).toBe(authorityId(certificateOf(next)));
    expect(authorityOfChain(chain, [certificateOf(former)])).toBe(authorityId(certificateOf(former)));
    expect(authorityOfChain(before.certPem, [certificateOf(next)])).toBeUndefined();
    const ders = certificatesIn(chain).map(({ raw }) => raw);
    for (const { certPem } of [former, next]) {
      const trust = { caPem: Buffer.from(certPem), wallMs: Date.now(), usage: 'client' } as const;
      expect(identityOfChain(ders, trust)).toMatchObject({
        path: 'eu',
        certificate: { authority: authorityId(new X509Certificate(certPem)) },
      });
    }
  });
});
