import { webcrypto, X509Certificate } from 'node:crypto';
import { expect, it, vi } from 'vitest';
import { createIssuer } from '../../../../core/identity/authority.ts';
import { newKey, requestFor } from '../../../../core/identity/certificate-request.ts';
import { systemClock } from '../../../../core/runtime/clock.ts';
import { systemRandom } from '../../../../core/runtime/random.ts';
import { issuerSigner } from '../../../../relay/join/signer.ts';
import { TestTree } from '../../../support/test-tree.ts';

const issuing = { clock: systemClock, random: systemRandom };

it('a signer identifies one key by one hash, and signs for it with the issuer in the files at that time', async () => {
  const tree = await TestTree.create('shop');
  let issuer = await createIssuer(tree.authority, { tree: 'shop', path: 'eu' }, issuing);
  const signer = issuerSigner('eu', { authority: () => 'ca', issuer: () => issuer, ...issuing });
  const [one, two] = [newKey(), newKey()];
  const hashes = await Promise.all(
    [one, one, two].map(async (key) => (await signer.judge('eu:kid', await requestFor('eu:kid', key))).key),
  );
  expect([hashes[0], new Set(hashes).size]).toEqual([hashes[1], 2]);
  issuer = await createIssuer(tree.authority, { tree: 'shop', path: 'eu' }, issuing);
  const request = await requestFor('eu:kid', one);
  const verify = vi.spyOn(webcrypto.subtle, 'verify');
  const signed = new X509Certificate(await (await signer.judge('eu:kid', request)).sign());
  expect(verify).toHaveBeenCalledTimes(1);
  verify.mockRestore();
  expect(signed.verify(new X509Certificate(issuer.certPem).publicKey)).toBe(true);
  await expect(signer.judge('eu:other', await requestFor('eu:kid', one))).rejects.toThrow(/it is for "CN=eu:kid"/);
});

it('a signer refuses an issuer of another node before any request', async () => {
  const tree = await TestTree.create('shop');
  const us = await createIssuer(tree.authority, { tree: 'shop', path: 'us' }, issuing);
  const ports = { authority: () => 'ca', ...issuing };
  expect(() => issuerSigner('eu', { ...ports, issuer: () => us })).toThrow(
    'pki.issuer.cert is for "us": the issuer of "eu" is needed',
  );
  expect(() => issuerSigner('eu', { ...ports, issuer: () => tree.authority })).toThrow(
    'pki.issuer.cert is no issuer certificate (CN=banyan shop): the issuer of "eu" is needed',
  );
});
