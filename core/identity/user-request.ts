/**
 * The request of a user for a certificate (PKCS #10, RFC 2986), as it is in a CertificateSigningRequest. This file needs the library @peculiar/x509: load it when
 * there is a request.
 */
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';
import { BanyanError, describeError } from '../runtime/errors.ts';

x509.cryptoProvider.set(webcrypto as Crypto);

/** Smallest RSA key. https://www.rfc-editor.org/rfc/rfc7525#section-4.3 */
const rsaBitsMin = 2_048;

/** A request with an RSA key of 16,384 bits and a long subject has 8 KB. The limit bounds the work for one request. */
const requestCharactersMax = 32 * 1024;

/** The characters of an IA5String, in which such names stand: https://www.rfc-editor.org/rfc/rfc5280#section-4.2.1.6 */
const isAscii = /^\p{ASCII}*$/u;
const nameTypes = ['dns', 'email', 'ip', 'url'] as const;

export interface AlternativeName {
  readonly type: (typeof nameTypes)[number];
  readonly value: string;
}

export interface RequestedCertificate {
  /** The common name. Empty: the request has none, or several. */
  readonly name: string;
  /** The organizations. */
  readonly groups: readonly string[];
  /** The hosts, mail addresses, IP addresses and URIs that the request asks for, in the order in which Kubernetes signs them. Others are left out, as there. */
  readonly alternativeNames: readonly AlternativeName[];
  readonly publicKey: x509.PublicKey;
  /** Why no certificate may have the key. Undefined: the key is good. */
  readonly keyProblem: string | undefined;
  /** Whether the request is signed with its own key. */
  isSigned(): Promise<boolean>;
}

/** Throws Invalid with the mistake. `pem`: one block of the type CERTIFICATE REQUEST. */
export function readUserRequest(pem: string): RequestedCertificate {
  if (pem.length > requestCharactersMax)
    throw new BanyanError('Invalid', `it has ${pem.length} characters; at most ${requestCharactersMax} are read`);
  if (!/^\s*-----BEGIN CERTIFICATE REQUEST-----[\s\S]+-----END CERTIFICATE REQUEST-----\s*$/.test(pem))
    throw new BanyanError('Invalid', 'PEM block type must be CERTIFICATE REQUEST');
  try {
    return read(pem);
  } catch (cause) {
    throw new BanyanError('Invalid', `no request for a certificate: ${describeError(cause)}`, {}, { cause });
  }
}

/** The library reads some parts only when they are asked for, and throws then. */
function read(pem: string): RequestedCertificate {
  const request = new x509.Pkcs10CertificateRequest(pem);
  const { publicKey, subjectName, extensions } = request;
  const names = subjectName.getField('CN');
  return {
    name: names.length === 1 ? names[0]! : '',
    groups: subjectName.getField('O'),
    alternativeNames: extensions.flatMap(namesIn),
    publicKey,
    keyProblem: keyProblem(publicKey),
    // The library throws if the signature does not have the form that the key requires.
    isSigned: () => request.verify().catch(() => false),
  };
}

function namesIn(extension: x509.Extension): AlternativeName[] {
  if (!(extension instanceof x509.SubjectAlternativeNameExtension)) return [];
  const { items } = extension.names;
  return nameTypes.flatMap((type) =>
    items
      .filter((item) => item.type === type)
      .map(({ value }) => {
        if (type === 'ip' ? !isIP(value) : !isAscii.test(value))
          throw new Error(`the alternative name ${type}:${value} is malformed`);
        return { type, value };
      }),
  );
}

function keyProblem({ algorithm }: x509.PublicKey): string | undefined {
  const { name, modulusLength = 0 } = algorithm as { readonly name: string; readonly modulusLength?: number };
  if (name === 'ECDSA' || name === 'Ed25519') return undefined;
  if (!name.startsWith('RSA')) return `its key is ${name}; ECDSA, Ed25519 and RSA are accepted`;
  return modulusLength < rsaBitsMin
    ? `its RSA key has ${modulusLength} bits; at least ${rsaBitsMin} are needed`
    : undefined;
}
