import { webcrypto, X509Certificate } from 'node:crypto';
import { expect, it, vi } from 'vitest';
import { createIssuer, createSubtreeIssuer } from '../../../../core/identity/authority.ts';
import { newKey, requestFor } from '../../../../core/identity/certificate-request.ts';
import { systemClock } from '../../../../core/runtime/clock.ts';
import { systemRandom } from '../../../../core/runtime/random.ts';
import { issuerSigner } from '../../../../relay/join/signer.ts';
import { TestTree } from '../../../support/test-tree.ts';

const agent = (path: string) => ({ path, role: 'agent', hosts: [] }) as const;
const issuing = { clock: systemClock, random: systemRandom };

it('a signer identifies one key by one hash, and signs for it with the issuer in the files at that time', async () => {
  const tree = await TestTree.create('shop');
  let issuer = await createIssuer(tree.authority, { tree: 'shop', path: 'eu' }, issuing);
  const signer = issuerSigner('eu', {
    authority: () => 'ca',
    issuer: () => issuer,
    subtreeIssuer: () => undefined,
    ...issuing,
  });
  const [one, two] = [newKey(), newKey()];
  const hashes = await Promise.all(
    [one, one, two].map(async (key) => (await signer.judge(agent('eu:kid'), await requestFor('eu:kid', key))).key),
  );
  expect([hashes[0], new Set(hashes).size]).toEqual([hashes[1], 2]);
  issuer = await createIssuer(tree.authority, { tree: 'shop', path: 'eu' }, issuing);
  const request = await requestFor('eu:kid', one);
  const verify = vi.spyOn(webcrypto.subtle, 'verify');
  const signed = new X509Certificate(
    (await (await signer.judge(agent('eu:kid'), request)).sign(undefined)).certificate,
  );
  expect(verify).toHaveBeenCalledTimes(1);
  verify.mockRestore();
  expect(signed.verify(new X509Certificate(issuer.certPem).publicKey)).toBe(true);
  await expect(signer.judge(agent('eu:other'), await requestFor('eu:kid', one))).rejects.toThrow(
    /it is for "CN=eu:kid"/,
  );
});

it('a signer refuses an issuer of another node before any request', async () => {
  const tree = await TestTree.create('shop');
  const us = await createIssuer(tree.authority, { tree: 'shop', path: 'us' }, issuing);
  const ports = { authority: () => 'ca', subtreeIssuer: () => undefined, ...issuing };
  expect(() => issuerSigner('eu', { ...ports, issuer: () => us })).toThrow(
    'pki.issuer.cert is for agents below "us": the issuer of "eu" is needed',
  );
  expect(() => issuerSigner('eu', { ...ports, issuer: () => tree.authority })).toThrow(
    'pki.issuer.cert is no issuer certificate (CN=banyan shop): the issuer of "eu" is needed',
  );
});

it('a signer gives a relay a certificate of a server, and an authority for its subtree with the same key', async () => {
  const tree = await TestTree.create('shop');
  const of = { tree: 'shop', path: 'eu', hosts: ['eu.example.com', '127.0.0.1'] };
  const subtree = await createSubtreeIssuer(tree.authority, of, issuing);
  const ports = { authority: () => 'ca', issuer: () => undefined, ...issuing };
  const signer = issuerSigner('eu', { ...ports, subtreeIssuer: () => subtree });
  const relay = (hosts: readonly string[]) => ({ path: 'eu:paris', role: 'relay', hosts }) as const;
  const request = await requestFor('eu:paris', newKey());
  const afterMs = Date.now() + 5_000;
  const signed = await (await signer.judge(relay(['paris.eu.example.com']), request)).sign(afterMs);
  const [own, issuer] = [signed.certificate, signed.issuer!].map((pem) => new X509Certificate(pem));
  expect(own!.subjectAltName).toBe('URI:spiffe://shop/node/relay/eu/paris, DNS:paris.eu.example.com');
  expect(issuer!.ca).toBe(true);
  expect(issuer!.publicKey.equals(own!.publicKey)).toBe(true);
  expect(Math.min(Date.parse(own!.validFrom), Date.parse(issuer!.validFrom))).toBeGreaterThan(afterMs);
  // The child asks again: the parent of this node may admit the host later.
  await expect(signer.judge(relay(['center.example.com']), request)).rejects.toMatchObject({
    code: 'Unavailable',
    message: expect.stringMatching(
      /"center\.example\.com" is no host for which the authority of "eu" may sign a certificate: .*join-token --relay eu --again --host …/,
    ),
  });
  const agents = issuerSigner('eu', { ...ports, subtreeIssuer: () => undefined });
  await expect(agents.judge(relay([]), request)).rejects.toThrow(/gives relays no certificates: .*pki.subtreeIssuer/);
});
