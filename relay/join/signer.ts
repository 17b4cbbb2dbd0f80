/**
 * Signs the certificates for which agents ask, with the issuer that the node's configuration names. The library for this is loaded when the first agent joins.
 */
import { X509Certificate } from 'node:crypto';
import { issuerIn } from '../../core/identity/issuer-name.ts';
import { spiffeId } from '../../core/identity/peer-identity.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { Random } from '../../core/runtime/random.ts';

export interface CertificateSigner {
  /** PEM: the authorities that the node trusts. Agents have to trust them too. */
  authority(): string;
  /** Checks a request. Throws BadRequest and Forbidden if the request asks for more than an agent at this path may have. */
  judge(path: string, request: string): Promise<Signable>;
}

/** A request that passed the check. */
export interface Signable {
  /** The hash of the public key in the request. */
  readonly key: string;
  /** PEM: the certificate and the certificate of the issuer. Throws Unavailable if the issuer's certificate has expired. */
  sign(): Promise<string>;
}

export interface SignerPorts {
  /** Both return the contents of the files at the time of the call, since the files may be renewed. */
  authority(): string;
  issuer(): { readonly certPem: string; readonly keyPem: string };
  readonly clock: Clock;
  readonly random: Random;
  /** The time for which a signed certificate is valid. Absent: as long as other leaf certificates. */
  readonly lifeMs?: number | undefined;
}

/** Throws Invalid if the issuer's certificate is not for this node. */
export function issuerSigner(
  path: string,
  { authority, issuer: read, lifeMs, ...issuing }: SignerPorts,
): CertificateSigner {
  const treeOf = ({ certPem }: { readonly certPem: string }) => {
    const { subject } = new X509Certificate(certPem);
    const issuer = issuerIn({ subject });
    if (issuer?.path === path) return issuer.tree;
    const whose = issuer ? `is for "${issuer.path}"` : `is no issuer certificate (${subject.replaceAll('\n', ', ')})`;
    throw new BanyanError('Invalid', `pki.issuer.cert ${whose}: the issuer of "${path}" is needed`);
  };
  treeOf(read());
  return {
    authority,
    async judge(agent, request) {
      const { judgeRequest } = await import('../../core/identity/certificate-request.ts');
      const issuer = read();
      const judged = await judgeRequest(request, agent, spiffeId(treeOf(issuer), { path: agent, role: 'agent' }));
      return {
        key: judged.key,
        async sign() {
          const { issueAgent } = await import('../../core/identity/authority.ts');
          return issueAgent(issuer, judged, issuing, lifeMs);
        },
      };
    },
  };
}
