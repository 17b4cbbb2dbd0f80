/**
 * Signs the certificates for which agents and relays ask. A node has its issuers from the files of its configuration, or from its parent when it joined with a
 * token. The library for this is loaded when the first node joins.
 */
import { X509Certificate } from 'node:crypto';
import type { KeyAndCertificate } from '../../core/identity/authority.ts';
import { issuerMs, leafMs } from '../../core/identity/certificate-validity.ts';
import { type Issuer, issuerIn } from '../../core/identity/issuer-name.ts';
import { spiffeId } from '../../core/identity/peer-identity.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { Random } from '../../core/runtime/random.ts';

export interface CertificateSigner {
  /** PEM: the authorities that the node trusts, with the introductions of new ones. The nodes below have to trust them too. */
  authority(): string;
  /** PEM: the certificates of the issuers with which this node signs now, each with those above it. */
  chains(): string[];
  /**
   * Checks a request. Throws BadRequest and Forbidden if the request asks for more than the child may have, and Unavailable as long as this node may not sign for a
   * host of the child.
   */
  judge(node: JoiningNode, request: string): Promise<Signable>;
}

/** The node that asks. */
export interface JoiningNode {
  readonly path: string;
  readonly role: 'agent' | 'relay';
  /** The DNS names and IP addresses of a relay's API, and of the APIs below it. */
  readonly hosts: readonly string[];
}

/** A request that passed the check. */
export interface Signable {
  /** The hash of the public key in the request. */
  readonly key: string;
  /**
   * Signs. `afterMs`: the certificates are valid only after this wall time in ms, because older ones were revoked. Throws Unavailable if the issuer's
   * certificate has expired.
   */
  sign(afterMs: number | undefined): Promise<Signed>;
}

/** Each as PEM, with the certificates of the issuers above. */
export interface Signed {
  readonly certificate: string;
  /** Only for a relay. */
  readonly issuer?: string;
}

export interface SignerPorts {
  /** All return the contents of the files at the time of the call, since the files may be renewed. */
  authority(): string;
  /** The issuer of agents. Undefined: the issuer of the subtree signs agents too. */
  issuer(): KeyAndCertificate | undefined;
  /** Undefined: the node admits no relays. */
  subtreeIssuer(): KeyAndCertificate | undefined;
  readonly clock: Clock;
  readonly random: Random;
  /** The time for which a signed certificate is valid. Absent: as long as other leaf certificates. */
  readonly lifeMs?: number | undefined;
}

/** Throws Invalid if the certificate of an issuer is not for this node. */
export function issuerSigner(path: string, ports: SignerPorts): CertificateSigner {
  const { authority, clock, random, lifeMs } = ports;
  for (const [issuer, signs] of [
    [ports.issuer(), 'agents'],
    [ports.subtreeIssuer(), 'subtree'],
  ] as const) {
    if (issuer) checkIssuer(path, issuer, signs);
  }
  return {
    authority,
    chains: () => [ports.issuer(), ports.subtreeIssuer()].flatMap((issuer) => (issuer ? [issuer.certPem] : [])),
    async judge({ role, hosts, path: child }, request) {
      const { judgeRequest } = await import('../../core/identity/certificate-request.ts');
      const issuer = issuerFor(role, ports);
      const { tree } = readIssuer(issuer)!;
      const judged = await judgeRequest(request, {
        path: child,
        id: spiffeId(tree, { path: child, role }),
        role,
        hosts,
      });
      const { hostsNotPermitted, issueJoined, issueSubtreeIssuer } = await import('../../core/identity/authority.ts');
      const [host] = hostsNotPermitted(issuer, hosts);
      if (host !== undefined) throw notPermitted(path, child, host);
      return {
        key: judged.key,
        async sign(afterMs) {
          const issuing = { clock, random };
          const certificate = await issueJoined(issuer, judged, issuing, { lifeMs, afterMs });
          if (role === 'agent') return { certificate };
          const life = { lifeMs: lifeMs === undefined ? issuerMs : lifeMs * (issuerMs / leafMs), afterMs };
          const own = await issueSubtreeIssuer(issuer, { tree, path: child, hosts }, judged, issuing, life);
          return { certificate, issuer: `${own}\n${issuer.certPem.trim()}\n` };
        },
      };
    },
  };
}

function issuerFor(role: JoiningNode['role'], { issuer, subtreeIssuer }: SignerPorts): KeyAndCertificate {
  const found = (role === 'agent' ? issuer() : undefined) ?? subtreeIssuer();
  if (found) return found;
  const fields = role === 'agent' ? 'pki.issuer and no pki.subtreeIssuer' : 'pki.subtreeIssuer';
  throw new BanyanError('NotFound', `this node gives ${role}s no certificates: its configuration has no ${fields}`);
}

function checkIssuer(path: string, { certPem }: KeyAndCertificate, signs: Issuer['signs']): void {
  const issuer = readIssuer({ certPem });
  if (issuer?.path === path && issuer.signs === signs) return;
  const { subject } = new X509Certificate(certPem);
  const whose = issuer
    ? `is for ${issuer.signs === 'agents' ? 'agents' : 'the subtree'} below "${issuer.path}"`
    : `is no issuer certificate (${subject.replaceAll('\n', ', ')})`;
  const field = signs === 'agents' ? 'pki.issuer.cert' : 'pki.subtreeIssuer.cert';
  const needed = signs === 'agents' ? `the issuer of "${path}"` : `the issuer of the subtree of "${path}"`;
  throw new BanyanError('Invalid', `${field} ${whose}: ${needed} is needed`);
}

function readIssuer({ certPem }: Pick<KeyAndCertificate, 'certPem'>): Issuer | undefined {
  const { subject } = new X509Certificate(certPem);
  return issuerIn({ subject });
}

/** The child asks again: as soon as the node above admits the host, this node gets an authority that may sign it. */
function notPermitted(path: string, child: string, host: string): BanyanError {
  const admit = cliCommand('join-token', '--relay', path, '--again', '--host');
  const remedy = `let the node above "${path}" admit the host for "${path}" too, with all its hosts (${admit} …), or make a token for "${child}" without this host`;
  return new BanyanError(
    'Unavailable',
    `"${host}" is no host for which the authority of "${path}" may sign a certificate: ${remedy}`,
  );
}
