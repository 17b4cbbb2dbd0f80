import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { describe, expect, it } from 'vitest';
import { judgeRequest, newKey, requestFor } from '../../../../core/identity/certificate-request.ts';

const path = 'eu:kid';
const id = 'spiffe://shop/node/agent/eu/kid';
const p256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const uri = (value: string) => ({ type: 'url' as const, value });

interface Odd {
  readonly algorithm?: object;
  readonly name?: string;
  readonly names?: x509.JsonGeneralNames;
  readonly extension?: x509.Extension;
}

async function request({ algorithm = p256, name = `CN=${path}`, names, extension }: Odd): Promise<string> {
  const keys = (await webcrypto.subtle.generateKey(algorithm as webcrypto.EcKeyGenParams, true, [
    'sign',
    'verify',
  ])) as webcrypto.CryptoKeyPair;
  const extensions = [
    ...(names ? [new x509.SubjectAlternativeNameExtension(names)] : []),
    ...(extension ? [extension] : []),
  ];
  const made = await x509.Pkcs10CertificateRequestGenerator.create({
    name,
    keys,
    signingAlgorithm: algorithm as webcrypto.EcdsaParams,
    extensions,
  });
  return made.toString('pem');
}

describe('a request for a certificate', () => {
  it('that an agent makes is accepted, and is for the agent’s key', async () => {
    const own = newKey();
    const judged = await judgeRequest(await requestFor(path, own), { path, id, role: 'agent', hosts: [] });
    expect(judged.publicKey.algorithm).toMatchObject({ name: 'ECDSA', namedCurve: 'P-256' });
    const again = await judgeRequest(await requestFor(path, own), { path, id, role: 'agent', hosts: [] });
    expect([again.key, again.path, again.id]).toEqual([judged.key, path, id]);
    const another = await judgeRequest(await requestFor(path, newKey()), { path, id, role: 'agent', hosts: [] });
    expect(another.key).not.toBe(judged.key);
  });

  it('may ask for the one name of that agent', async () => {
    await expect(
      judgeRequest(await request({ names: [uri(id)] }), { path, id, role: 'agent', hosts: [] }),
    ).resolves.toBeDefined();
    const p384 = { name: 'ECDSA', namedCurve: 'P-384', hash: 'SHA-384' };
    await expect(
      judgeRequest(await request({ algorithm: p384 }), { path, id, role: 'agent', hosts: [] }),
    ).resolves.toBeDefined();
  });

  const rsa = {
    name: 'RSASSA-PKCS1-v1_5',
    hash: 'SHA-256',
    publicExponent: new Uint8Array([1, 0, 1]),
    modulusLength: 1024,
  };
  it.each<[string, Odd, RegExp]>([
    ['another path', { name: 'CN=eu:other' }, /it is for "CN=eu:other", and not for "CN=eu:kid" alone/],
    ['a group beside', { name: 'O=system:masters, CN=eu:kid' }, /and not for "CN=eu:kid" alone/],
    ['two names', { name: 'CN=eu:kid+O=system:masters' }, /and not for "CN=eu:kid" alone/],
    [
      'another role',
      { names: [uri('spiffe://shop/node/relay/eu/kid')] },
      /asks for the names url:spiffe:\/\/shop\/node\/relay/,
    ],
    ['a name beside', { names: [uri(id), { type: 'dns', value: 'localhost' }] }, /asks for the names .*dns:localhost/],
    ['an authority', { extension: new x509.BasicConstraintsExtension(true) }, /asks for the extension 2\.5\.29\.19/],
    ['a weak key', { algorithm: rsa }, /its key is RSASSA.*; ECDSA with P-256 or P-384 is accepted/],
    ['another curve', { algorithm: { ...p256, namedCurve: 'P-521', hash: 'SHA-512' } }, /its key is ECDSA P-521/],
  ])('for %s is refused', async (_what, odd, message) => {
    await expect(judgeRequest(await request(odd), { path, id, role: 'agent', hosts: [] })).rejects.toThrow(message);
  });

  it('is refused if another key signed it than the one that it is for', async () => {
    const [one, two] = await Promise.all([request({}), request({})]);
    const der = (pem: string) => Buffer.from(x509.PemConverter.decodeFirst(pem));
    // Both have the same form: the rest of one with the signature of the other.
    const rest = new x509.Pkcs10CertificateRequest(two);
    const mixed = der(one);
    mixed.set(new Uint8Array(rest.signature).subarray(-20), mixed.length - 20);
    const pem = x509.PemConverter.encode(new Uint8Array(mixed), 'CERTIFICATE REQUEST');
    await expect(judgeRequest(pem, { path, id, role: 'agent', hosts: [] })).rejects.toThrow(
      /it is not signed with its own key/,
    );
  });

  it.each([
    '',
    'garbage',
    '-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----',
    'x'.repeat(9_000),
  ])('is refused with a message if it is invalid: %s', async (text) => {
    await expect(judgeRequest(text, { path, id, role: 'agent', hosts: [] })).rejects.toMatchObject({
      code: expect.stringMatching(/^(BadRequest|TooLarge)$/),
    });
  });
});
