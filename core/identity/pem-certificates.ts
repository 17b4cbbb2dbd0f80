/** The certificates in PEM texts. */
import { X509Certificate } from 'node:crypto';

const block = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** The certificates in order. Anything between them is left out. Throws if a certificate can't be read. */
export function certificatesIn(pem: Buffer | string): X509Certificate[] {
  return (pem.toString().match(block) ?? []).map((one) => new X509Certificate(one));
}

/** Each handshake asks for the authorities, and the files change seldom. */
const parsed = new WeakMap<Buffer, readonly X509Certificate[]>();

/** Like `certificatesIn`, for the content of a file of authorities. The same buffer is parsed once. */
export function authoritiesIn(pem: Buffer): readonly X509Certificate[] {
  const known = parsed.get(pem);
  if (known) return known;
  const authorities = certificatesIn(pem);
  parsed.set(pem, authorities);
  return authorities;
}
