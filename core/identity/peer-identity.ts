/** Who a certificate of the tree says its holder is: `spiffe://TREE/node/ROLE/a/b/c`; the center has no path behind its role. */
import { X509Certificate } from 'node:crypto';
import { BanyanError } from '../runtime/errors.ts';
import type { PeerIdentity } from '../wire/link.ts';

const roles = ['center', 'relay', 'agent'] as const;

export function spiffeId(tree: string, { role, path }: PeerIdentity): string {
  return `spiffe://${tree}/node/${role}${path === '' ? '' : `/${path.replaceAll(':', '/')}`}`;
}

/** Throws Unauthorized for a certificate that names no node. */
export function identityOfCertificate(der: Uint8Array): PeerIdentity {
  const names = new X509Certificate(der).subjectAltName ?? '';
  const uri = /URI:spiffe:\/\/[^/,]+\/node\/([a-z]+)((?:\/[^/,]+)*)/.exec(names);
  const role = roles.find((known) => known === uri?.[1]);
  if (!uri || !role)
    throw new BanyanError('Unauthorized', `the certificate names no node of a tree (${names || 'no names'})`);
  return { role, path: uri[2]!.slice(1).replaceAll('/', ':') };
}
