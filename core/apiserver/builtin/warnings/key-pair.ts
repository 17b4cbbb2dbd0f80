/** Certificates and keys of Secrets for TLS that do not belong together, in the words of Go (crypto/tls, X509KeyPair). */
import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { KubeObject } from '../../../object/meta.ts';
import { wordOf } from '../validation/visit.ts';
import { valuesIn, type Warnings } from './warning.ts';

interface Block {
  readonly type: string;
  readonly text: string;
}

/** Bytes of a certificate or key that is read. A server with a longer one could not be reached either. */
const readBytesMax = 256 * 1024;
const block = /-----BEGIN ([A-Z0-9 ]+)-----\r?\n[A-Za-z0-9+/=\s]*-----END \1-----/g;

export function* keyPairWarnings({ type, data }: KubeObject): Warnings {
  if (type !== 'kubernetes.io/tls') return;
  const read = (name: string) =>
    Buffer.from(wordOf(valuesIn(data)[name]), 'base64')
      .subarray(0, readBytesMax)
      .toString('latin1');
  const mistake = pairMistake(blocksOf(read('tls.crt')), blocksOf(read('tls.key')));
  if (mistake !== undefined) yield mistake;
}

function blocksOf(text: string): readonly Block[] {
  return Array.from(text.matchAll(block), ([whole, type = '']) => ({ type, text: whole }));
}

const isKey = ({ type }: Block) => type === 'PRIVATE KEY' || type.endsWith(' PRIVATE KEY');

function pairMistake(certificates: readonly Block[], keys: readonly Block[]): string | undefined {
  const certificate = certificates.find(({ type }) => type === 'CERTIFICATE');
  const key = keys.find(isKey);
  const types = (blocks: readonly Block[]) => `[${blocks.map(({ type }) => type).join(' ')}]`;
  if (!certificate) {
    if (certificates.length === 0) return 'tls: failed to find any PEM data in certificate input';
    return certificates.length === 1 && certificates[0]!.type.endsWith('PRIVATE KEY')
      ? 'tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched'
      : `tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: ${types(certificates)}`;
  }
  if (!key) {
    if (keys.length === 0) return 'tls: failed to find any PEM data in key input';
    return keys.length === 1 && keys[0]!.type === 'CERTIFICATE'
      ? 'tls: found a certificate rather than a key in the PEM for the private key'
      : `tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: ${types(keys)}`;
  }
  const known = attempted(() => new X509Certificate(certificate.text).publicKey);
  if (!known) return 'x509: malformed certificate';
  const own = attempted(() => createPrivateKey(key.text));
  if (!own) return 'tls: failed to parse private key';
  return mismatch(known, own);
}

function mismatch(known: KeyObject, own: KeyObject): string | undefined {
  if (own.asymmetricKeyType !== known.asymmetricKeyType) return 'tls: private key type does not match public key type';
  return createPublicKey(own).equals(known) ? undefined : 'tls: private key does not match public key';
}

function attempted<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
