/** Certificates with any fields, as somebody makes them who has the key of an authority; and an API that says whether a certificate is of a user. */
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { get } from 'node:https';
import * as x509 from '@peculiar/x509';
import { onlyPrivileged } from '../../core/access/authorizer.ts';
import { ApiServer } from '../../core/apiserver/http/api-server.ts';
import type { KeyAndCertificate } from '../../core/identity/authority.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { silentLogger } from '../../core/runtime/logger.ts';
import type { NodeCredentials } from '../../core/wire/node-credentials.ts';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const hourMs = 3_600_000;
const { serverAuth, clientAuth } = x509.ExtendedKeyUsage;

/** A text, or the attributes as the library takes them: it would parse a text with commas. Empty: no name. */
export type ForgedName = ConstructorParameters<typeof x509.Name>[0];

export interface Forged {
  readonly subject: ForgedName;
  /** The name of the issuer. Absent: the name of the authority whose key signs. */
  readonly issuerName?: string;
  readonly names?: x509.JsonGeneralNames;
  readonly isCa?: boolean;
  readonly isExpired?: boolean;
  readonly usages?: readonly string[];
}

/** The certificate is followed by the certificates up to the root, without the root. */
export async function forged(
  by: KeyAndCertificate,
  { subject, issuerName, names = [], isCa = false, isExpired = false, usages = [serverAuth, clientAuth] }: Forged,
): Promise<KeyAndCertificate> {
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
  const key = x509.PemConverter.decodeFirst(by.keyPem);
  const signer = new x509.X509Certificate(by.certPem);
  const nowMs = Date.now();
  const certificate = await x509.X509CertificateGenerator.create({
    subject: new x509.Name(subject === '' ? [] : subject),
    issuer: issuerName ?? signer.subjectName,
    notBefore: new Date(nowMs - hourMs),
    notAfter: new Date(nowMs + (isExpired ? -60_000 : hourMs)),
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey: await webcrypto.subtle.importKey('pkcs8', key, algorithm, false, ['sign']),
    extensions: [
      new x509.BasicConstraintsExtension(isCa, undefined, true),
      new x509.ExtendedKeyUsageExtension([...usages]),
      ...(names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : []),
    ],
  });
  const exported = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  const isRoot = signer.issuer === signer.subject;
  return {
    certPem: `${certificate.toString('pem')}\n${isRoot ? '' : by.certPem}\n`,
    keyPem: x509.PemConverter.encode(exported, 'PRIVATE KEY'),
  };
}

/** An API that takes the user of every client certificate for an administrator. `usersCa`: the authorities of users, as PEM. */
export async function usersApi(
  { caPem, certPem, keyPem }: NodeCredentials,
  usersCa: string | Buffer = caPem,
): Promise<AsyncDisposable & { statusFor(user: KeyAndCertificate): Promise<number | undefined> }> {
  const api = new ApiServer({
    host: '127.0.0.1',
    port: 0,
    clock: systemClock,
    log: silentLogger,
    tls: () => ({ ca: Buffer.from(usersCa), cert: certPem, key: keyPem }),
    notReady: () => undefined,
    metrics: async () => '',
    authenticate: (certificate) => certificate && { name: 'admin', groups: ['system:masters'] },
    authorizer: onlyPrivileged,
    isRevoked: () => false,
    path: 'eu',
  });
  const url = await api.listen();
  return {
    /** 404: the API has accepted the user, and has no such path. 401: there is no user. */
    statusFor: (user) =>
      new Promise((resolve, reject) => {
        const options = { ca: caPem, cert: user.certPem, key: user.keyPem, agent: false };
        get(`${url}/api`, options, (response) => resolve(response.resume().statusCode)).on('error', reject);
      }),
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  };
}
