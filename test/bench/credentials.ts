/** Certificates of a tree that lives as long as a run. */

import { createAuthority, issueNode, type KeyAndCertificate } from '../../core/identity/authority.ts';
import type { PeerIdentity } from '../../core/identity/peer-identity.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import type { NodeCredentials } from '../../core/wire/node-credentials.ts';

const tree = 'bench';
const issuing = { clock: systemClock, random: systemRandom };

export function makeAuthority(): Promise<KeyAndCertificate> {
  return createAuthority(tree, issuing);
}

export async function credentialsOf(authority: KeyAndCertificate, node: PeerIdentity): Promise<NodeCredentials> {
  const { certPem, keyPem } = await issueNode(authority, { ...node, tree, hosts: ['127.0.0.1'] }, issuing);
  return {
    caPem: Buffer.from(authority.certPem),
    certPem: Buffer.from(certPem),
    keyPem: Buffer.from(keyPem),
  };
}
