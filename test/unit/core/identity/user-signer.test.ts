import 'reflect-metadata';
import { generateKeyPairSync, type KeyObject, webcrypto, X509Certificate } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { createUserAuthority, type KeyAndCertificate } from '../../../../core/identity/authority.ts';
import { leafMs } from '../../../../core/identity/certificate-validity.ts';
import { leadsTo } from '../../../../core/identity/client-authority.ts';
import { readUserRequest } from '../../../../core/identity/user-request.ts';
import { userSigner } from '../../../../core/identity/user-signer.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { systemRandom } from '../../../../core/runtime/random.ts';

x509.cryptoProvider.set(webcrypto as Crypto);
const nowMs = Date.UTC(2030, 0, 1);
const issuing = { clock: new VirtualClock(nowMs), random: systemRandom };
let authority: KeyAndCertificate;
beforeAll(async () => {
  authority = await createUserAuthority('test', issuing);
});

const algorithms = {
  ecdsa: { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
  rsa: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
} as const;

async function requestOf(
  name: string,
  {
    type = 'ecdsa',
    bits = 2_048,
    extensions = [],
  }: { type?: 'ecdsa' | 'rsa'; bits?: number; extensions?: x509.Extension[] } = {},
): Promise<string> {
  const pair: { privateKey: KeyObject; publicKey: KeyObject } =
    type === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: bits })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = algorithms[type];
  const der = (key: KeyObject, form: 'pkcs8' | 'spki') =>
    new Uint8Array(key.export({ type: form as 'pkcs8', format: 'der' }));
  const keys = {
    privateKey: await webcrypto.subtle.importKey('pkcs8', der(pair.privateKey, 'pkcs8'), algorithm, true, ['sign']),
    publicKey: await webcrypto.subtle.importKey('spki', der(pair.publicKey, 'spki'), algorithm, true, ['verify']),
  };
  const made = await x509.Pkcs10CertificateRequestGenerator.create({
    name,
    keys,
    signingAlgorithm: algorithm,
    extensions,
  });
  return made.toString('pem');
}

const sign = async (pem: string, more: { lifeMs?: number; afterMs?: number; encipherment?: boolean } = {}) =>
  userSigner(() => authority, issuing).sign({
    pem,
    encipherment: more.encipherment ?? false,
    lifeMs: more.lifeMs,
    afterMsOf: () => more.afterMs,
  });

describe('the certificate of a user', () => {
  it.each(['ecdsa', 'rsa'] as const)(
    'has the name and the groups of the request, with a key of type %s',
    async (type) => {
      const certificate = new X509Certificate(
        await sign(await requestOf('CN=jane, O=tills, O=desk, L=Paris', { type })),
      );
      expect(certificate.subject).toBe('O=tills\nO=desk\nCN=jane');
      expect([certificate.ca, certificate.keyUsage]).toEqual([false, ['1.3.6.1.5.5.7.3.2']]);
      expect(leadsTo([certificate], [new X509Certificate(authority.certPem)])).toBe(true);
    },
  );

  it('lasts as long as was asked, 30 days by default, and a year and a month at most', async () => {
    const pem = await requestOf('CN=jane');
    const lastsMs = async (lifeMs?: number) =>
      Date.parse(new X509Certificate(await sign(pem, lifeMs ? { lifeMs } : {})).validTo) - nowMs;
    expect([await lastsMs(600_000), await lastsMs(), await lastsMs(10 * leafMs)]).toEqual([
      600_000,
      30 * 86_400_000,
      leafMs,
    ]);
  });

  it('begins after the revocation of the user', async () => {
    const certificate = new X509Certificate(await sign(await requestOf('CN=jane'), { afterMs: nowMs + 500 }));
    expect(Date.parse(certificate.validFrom)).toBe(nowMs + 1_000);
  });

  it('has the hosts, mail addresses, IP addresses and URIs of the request, as Kubernetes signs them, and no other names', async () => {
    const names = new x509.SubjectAlternativeNameExtension([
      { type: 'url', value: 'https://example.com/jane' },
      { type: 'id', value: '1.2.3.4' },
      { type: 'ip', value: '10.0.0.7' },
      { type: 'dn', value: 'CN=other' },
      { type: 'email', value: 'jane@example.com' },
      { type: 'ip', value: '2001:db8::1' },
      { type: 'dns', value: 'desk.example.com' },
    ]);
    const certificate = new X509Certificate(await sign(await requestOf('CN=jane', { extensions: [names] })));
    expect(certificate.subjectAltName).toBe(
      'DNS:desk.example.com, email:jane@example.com, IP Address:10.0.0.7, IP Address:2001:DB8:0:0:0:0:0:1, URI:https://example.com/jane',
    );
    const malformed = new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: 'désk' }]);
    await expect(sign(await requestOf('CN=jane', { extensions: [malformed] }))).rejects.toThrow(/dns:.* is malformed/);
  });

  it('is not made for a request without one name, with the name of a node, with a weak key, or with a false signature', async () => {
    const names = (value: string) => new x509.SubjectAlternativeNameExtension([{ type: 'url', value }]);
    const ids = ['spiffe://test/node/relay/eu', 'SPIFFE://test/node/center', ' spiffe:node'];
    await expect(sign(await requestOf('O=tills'))).rejects.toThrow('no common name');
    await expect(sign(await requestOf('CN=a, CN=b'))).rejects.toThrow('no common name, or several');
    for (const id of ids)
      await expect(sign(await requestOf('CN=eu', { extensions: [names(id)] }))).rejects.toThrow(
        `the name ${id}, which is of`,
      );
    await expect(sign(await requestOf('CN=eu', { type: 'rsa', bits: 1_024 }))).rejects.toThrow('1024 bits');
    const [one, two] = await Promise.all(['CN=a', 'CN=b'].map((name) => requestOf(name)));
    const bytes = Buffer.from(x509.PemConverter.decodeFirst(one!));
    Buffer.from(x509.PemConverter.decodeFirst(two!)).copy(bytes, bytes.length - 20, bytes.length - 20);
    await expect(sign(x509.PemConverter.encode(bytes, 'CERTIFICATE REQUEST'))).rejects.toThrow('its own key');
  });

  it('is not made by an authority that has expired', async () => {
    const late = { ...issuing, clock: new VirtualClock(nowMs + 20 * 365 * 86_400_000) };
    const signing = userSigner(() => authority, late).sign({
      pem: await requestOf('CN=jane'),
      encipherment: false,
      afterMsOf: () => undefined,
    });
    await expect(signing).rejects.toMatchObject({
      code: 'Unavailable',
      message: expect.stringMatching(/^the authority of users can't sign: it expired on /),
    });
  });

  it('is not made while the files of the authority can not be read, and the request can be tried again', async () => {
    const missing = userSigner(() => {
      throw new Error('ENOENT');
    }, issuing);
    const signing = missing.sign({
      pem: await requestOf('CN=jane'),
      encipherment: false,
      afterMsOf: () => undefined,
    });
    await expect(signing).rejects.toMatchObject({ code: 'Unavailable' });
  });
});

it.each([
  ['nothing', ''],
  ['a certificate', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'],
  ['bytes that are no request', '-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----'],
  ['a huge text', `-----BEGIN CERTIFICATE REQUEST-----\n${'A'.repeat(40_000)}\n-----END CERTIFICATE REQUEST-----`],
])('%s is refused', (_, pem) => {
  expect(() => readUserRequest(pem)).toThrow(expect.objectContaining({ code: 'Invalid' }));
});

it('a request with changed bytes is read or refused, and never fails in another way', async () => {
  const der = Buffer.from(x509.PemConverter.decodeFirst(await requestOf('CN=jane, O=tills')));
  const bytes = fc.array(fc.tuple(fc.nat(der.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(bytes, async (changes) => {
      const changed = Buffer.from(der);
      for (const [at, value] of changes) changed[at] = value;
      try {
        await readUserRequest(x509.PemConverter.encode(changed, 'CERTIFICATE REQUEST')).isSigned();
      } catch (error) {
        expect(error).toMatchObject({ code: 'Invalid' });
      }
    }),
    { numRuns: 2_000, seed: 1 },
  );
});
