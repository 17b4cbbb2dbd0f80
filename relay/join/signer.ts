/** Signs what agents ask for, with the issuer that the node's configuration names. The library for it is loaded when somebody joins first. */
import { createHash, X509Certificate } from 'node:crypto';
import { issuerIn } from '../../core/identity/issuer-name.ts';
import { spiffeId } from '../../core/identity/peer-identity.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { Random } from '../../core/runtime/random.ts';

export interface Signer {
  /** PEM: what the node trusts, for agents to trust. */
  authority(): string;
  /** The hash of the key that is asked for, if no more is asked for than an agent at this path. Throws BadRequest and Forbidden. */
  keyOf(path: string, request: string): Promise<string>;
  /** PEM: the certificate, and that of the issuer. What is asked for is judged here as well. Throws BadRequest and Forbidden. */
  sign(path: string, request: string): Promise<string>;
}

export interface SignerPorts {
  /** The files as they are now, since they may be renewed. */
  authority(): string;
  issuer(): { readonly certPem: string; readonly keyPem: string };
  readonly clock: Clock;
  readonly random: Random;
}

/** Throws Invalid for an issuer that is not this node's. */
export function issuerSigner(path: string, { authority, issuer: read, ...issuing }: SignerPorts): Signer {
  const treeOf = ({ certPem }: { readonly certPem: string }) => {
    const { subject } = new X509Certificate(certPem);
    const issuer = issuerIn({ subject });
    if (issuer?.path === path) return issuer.tree;
    const whose = issuer ? `is for "${issuer.path}"` : `is none (${subject.replaceAll('\n', ', ')})`;
    throw new BanyanError('Invalid', `pki.issuer.cert ${whose}: the issuer of "${path}" is needed`);
  };
  const id = (tree: string, agent: string) => spiffeId(tree, { path: agent, role: 'agent' });
  treeOf(read());
  return {
    authority,
    async keyOf(agent, request) {
      const { keyOfRequest } = await import('../../core/identity/certificate-request.ts');
      const key = await keyOfRequest(request, agent, id(treeOf(read()), agent));
      return createHash('sha256').update(Buffer.from(key.rawData)).digest('hex');
    },
    async sign(agent, request) {
      const { issueAgent } = await import('../../core/identity/authority.ts');
      const issuer = read();
      return issueAgent(issuer, { tree: treeOf(issuer), path: agent }, request, issuing);
    },
  };
}
