import { createPrivateKey, X509Certificate } from 'node:crypto';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { createAuthority, issueNode, issueUser, type KeyAndCertificate } from '../../../../core/identity/authority.ts';
import { identityOfCertificate } from '../../../../core/identity/peer-identity.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';

const issuing = { clock: new VirtualClock(Date.UTC(2026, 0, 15)), random: new SeededRandom(7) };
const node = { tree: 'shop', path: 'eu:paris', role: 'relay', hosts: ['localhost', '127.0.0.1', '::1'] } as const;
const read = ({ certPem }: KeyAndCertificate) => new X509Certificate(certPem);
const dayMs = 86_400_000;

let authority: KeyAndCertificate;
beforeAll(async () => {
  authority = await createAuthority('shop', issuing);
});

describe('an authority', () => {
  it('is named after its tree and signs itself', () => {
    const certificate = read(authority);
    expect(certificate.subject).toBe('CN=banyan shop');
    expect(certificate.ca).toBe(true);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(certificate.checkPrivateKey(createPrivateKey(authority.keyPem))).toBe(true);
  });

  it('is valid longer than the certificates that it issues', async () => {
    const leaf = read(await issueNode(authority, node, issuing));
    expect(Date.parse(leaf.validTo)).toBeLessThan(Date.parse(read(authority).validTo));
  });

  it('takes the name of the tree literally, whatever it would mean in the syntax of names', async () => {
    const odd = '#1 "shop", O=admins+C=XX\\';
    const { subject } = read(await createAuthority(odd, issuing)).toLegacyObject();
    expect(subject).toEqual(expect.objectContaining({ CN: `banyan ${odd}` }));
    expect(subject.O).toBeUndefined();
  });
});

describe("a node's certificate", () => {
  it('names the node by its SPIFFE identity, and the hosts by name or address', async () => {
    const issued = await issueNode(authority, node, issuing);
    const certificate = read(issued);
    expect(identityOfCertificate(certificate.raw)).toMatchObject({ path: 'eu:paris', role: 'relay' });
    expect(certificate.subjectAltName).toBe(
      'URI:spiffe://shop/node/relay/eu/paris, DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1',
    );
    expect(certificate.checkPrivateKey(createPrivateKey(issued.keyPem))).toBe(true);
  });

  it('treats a host of digits and dots that is no address as a name', async () => {
    const certificate = read(await issueNode(authority, { ...node, hosts: ['10.1'] }, issuing));
    expect(certificate.subjectAltName).toContain('DNS:10.1');
  });

  it('is signed by the authority, and identifies the authority among several of that name', async () => {
    const successor = await createAuthority('shop', issuing);
    const certificate = read(await issueNode(authority, node, issuing));
    expect(certificate.verify(read(authority).publicKey)).toBe(true);
    expect(certificate.checkIssued(read(authority))).toBe(true);
    expect(certificate.checkIssued(read(successor))).toBe(false);
  });

  it('is no authority', async () => {
    expect(read(await issueNode(authority, node, issuing)).ca).toBe(false);
  });

  it('is valid for both ends of a connection, and a user certificate is not valid for a server', async () => {
    const [serverAuth, clientAuth] = ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2'];
    expect(read(await issueNode(authority, node, issuing)).keyUsage).toEqual([serverAuth, clientAuth]);
    const user = { name: 'ann', groups: [] };
    expect(read(await issueUser(authority, user, issuing)).keyUsage).toEqual([clientAuth]);
  });

  it('is valid from an hour before it was issued, for clocks that are behind, until 397 days after', async () => {
    const certificate = read(await issueNode(authority, node, issuing));
    const nowMs = issuing.clock.wallMs();
    expect(Date.parse(certificate.validFrom)).toBe(nowMs - 3_600_000);
    expect(Date.parse(certificate.validTo)).toBe(nowMs + 397 * dayMs);
  });

  it('has a key and a serial number of its own', async () => {
    const [a, b] = [await issueNode(authority, node, issuing), await issueNode(authority, node, issuing)];
    expect(a.keyPem).not.toBe(b.keyPem);
    expect(read(a).serialNumber).not.toBe(read(b).serialNumber);
  });
});

describe("a user's certificate", () => {
  it('has the name and each group literally, and no node identity', async () => {
    const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }).filter((text) => !text.includes('\0'));
    await fc.assert(
      fc.asyncProperty(name, fc.uniqueArray(name, { maxLength: 3 }), async (user, groups) => {
        const certificate = read(await issueUser(authority, { name: user, groups }, issuing));
        const { CN, O: organizations = [] } = certificate.toLegacyObject().subject;
        expect(CN).toBe(user);
        expect([organizations].flat()).toEqual(groups);
        expect(() => identityOfCertificate(certificate.raw)).toThrow('names no node of a tree');
      }),
      { numRuns: 50 },
    );
  });
});
