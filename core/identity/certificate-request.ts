/**
 * A request for a certificate (PKCS #10, RFC 2986). Whoever makes the request keeps the key; the signer checks the request. Only the programs that
 * make or sign requests import this file.
 */
import 'reflect-metadata';
import { createPublicKey, generateKeyPairSync, webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { BanyanError, describeError } from '../runtime/errors.ts';
import { hashOfKey } from './peer-identity.ts';
import { requestBytesMax } from './request-bytes.ts';

x509.cryptoProvider.set(webcrypto as Crypto);

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
/** Curves that TLS 1.3 and proofs both accept. RSA keys are not allowed, because they can't sign a proof. */
const curves: readonly string[] = ['P-256', 'P-384'];

/** A request that has passed every check. Only `judgeRequest` creates this type, so code that receives a JudgedRequest need not check again. */
export interface JudgedRequest {
  readonly [judged]: true;
  /** The path of the node that the request is for. */
  readonly path: string;
  readonly id: string;
  readonly role: 'agent' | 'relay';
  /** The DNS names and IP addresses of the node's API. An agent has none. */
  readonly hosts: readonly string[];
  /** The public key of the request. The request is signed with its private key. */
  readonly publicKey: x509.PublicKey;
  /** SHA-256 of the public key, in hex. */
  readonly key: string;
}

declare const judged: unique symbol;

/** A private key in PEM, as PKCS #8. */
export function newKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** Makes a request in PEM, signed with its P-256 key. `name`: the path of an agent, or the name of a user, who may have groups. */
export async function requestFor(name: string, keyPem: string, groups: readonly string[] = []): Promise<string> {
  const der = x509.PemConverter.decodeFirst(keyPem);
  const privateKey = await webcrypto.subtle.importKey('pkcs8', der, algorithm, false, ['sign']);
  const spki = createPublicKey(keyPem).export({ type: 'spki', format: 'der' });
  const publicKey = await webcrypto.subtle.importKey('spki', new Uint8Array(spki), algorithm, true, ['verify']);
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: new x509.Name([...groups.map((group) => ({ O: [{ utf8String: group }] })), { CN: [{ utf8String: name }] }]),
    keys: { privateKey, publicKey },
    signingAlgorithm: algorithm,
  });
  return `${request.toString('pem')}\n`;
}

/** The node that a certificate is for. */
export type RequestedNode = Pick<JudgedRequest, 'path' | 'id' | 'role' | 'hosts'>;

/** Checks that the request asks only for this node. Throws BadRequest, TooLarge or Forbidden. */
export async function judgeRequest(pem: string, node: RequestedNode): Promise<JudgedRequest> {
  const { path, id } = node;
  const request = read(pem);
  const names = request.subjectName.toJSON();
  const [cn] = request.subjectName.getField('CN');
  if (names.length !== 1 || Object.keys(names[0]!).length !== 1 || cn !== path) {
    throw forbidden(`it is for "${request.subject}", and not for "CN=${path}" alone`);
  }
  for (const extension of request.extensions) checkExtension(extension, id);
  const { publicKey } = request;
  const { name, namedCurve = '' } = publicKey.algorithm as { readonly name: string; readonly namedCurve?: string };
  if (name !== 'ECDSA' || !curves.includes(namedCurve)) {
    const shown = `${name} ${namedCurve}`.trim();
    throw forbidden(`its key is ${shown}; ECDSA with ${curves.join(' or ')} is accepted`);
  }
  if (!(await isSigned(request))) throw forbidden('it is not signed with its own key');
  return { ...node, publicKey, key: hashOfKey(new Uint8Array(publicKey.rawData)) } as JudgedRequest;
}

function read(pem: string): x509.Pkcs10CertificateRequest {
  if (pem.length > requestBytesMax) {
    throw new BanyanError('TooLarge', `the request has ${pem.length} characters; at most ${requestBytesMax} are read`);
  }
  try {
    return new x509.Pkcs10CertificateRequest(pem);
  } catch (cause) {
    const message = `the sent text is no request for a certificate: ${describeError(cause)}`;
    throw new BanyanError('BadRequest', message, {}, { cause });
  }
}

/** Throws unless the extension is the name that the certificate gets in any case. A request needs no extension. */
function checkExtension(extension: x509.Extension, id: string): void {
  if (!(extension instanceof x509.SubjectAlternativeNameExtension)) {
    throw forbidden(`it asks for the extension ${extension.type}; only the name ${id} is allowed`);
  }
  const items = extension.names.items.map(({ type, value }) => `${type}:${value}`);
  if (items.length !== 1 || items[0] !== `url:${id}`) {
    throw forbidden(`it asks for the names ${items.join(', ')}; only ${id} is allowed`);
  }
}

/** The library throws if the signature does not have the form that the key requires. */
async function isSigned(request: x509.Pkcs10CertificateRequest): Promise<boolean> {
  try {
    return await request.verify();
  } catch {
    return false;
  }
}

function forbidden(why: string): BanyanError {
  return new BanyanError('Forbidden', `the request for a certificate is refused: ${why}`);
}
