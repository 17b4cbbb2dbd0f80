/**
 * The certificates of the node, and the signer for the nodes below. Both come from files that the node was given, or from a join token with which a relay gets
 * its certificate, and an authority for its subtree, from its parent. A relay that joined renews both while it runs.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../core/runtime/clock.ts';
import { readBytes } from '../../core/runtime/config-file.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Random } from '../../core/runtime/random.ts';
import type { EnvironmentProxies } from '../../core/wire/dialer/proxy-choice.ts';
import { fileStore } from '../../core/wire/join/file-store.ts';
import { joinedByToken, parentLines, startedRenewal } from '../../core/wire/join/joined-node.ts';
import type { Renewal } from '../../core/wire/join/renewal.ts';
import { renewedCredentials } from '../../core/wire/node-credentials.ts';
import { TreeTrust } from '../../core/wire/tree-trust.ts';
import type { NodeConfig } from '../config/config.ts';
import { type CertificateSigner, issuerSigner } from '../join/signer.ts';

export interface NodeCertificatesPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly environment: EnvironmentProxies;
}

export interface NodeCertificates {
  /** The authorities of nodes that the node trusts, and its credentials with them. */
  readonly trust: TreeTrust;
  /** Undefined: the node signs no certificates. */
  readonly signer: CertificateSigner | undefined;
  /** Undefined: somebody else renews the certificates. */
  readonly renewal: Renewal | undefined;
}

type Given = Extract<NodeConfig['pki'], { cert: string }>;
type Joining = Extract<NodeConfig['pki'], { joinToken: string }>;

/** With a join token, this resolves when the relay has joined. Throws the errors with which the parent refuses. */
export async function nodeCertificates(config: NodeConfig, ports: NodeCertificatesPorts): Promise<NodeCertificates> {
  const { pki } = config;
  if ('tree' in pki) {
    const remedy = 'at a relay, use pki.joinToken; `banyan join-token --relay` prints one';
    throw new BanyanError('BadRequest', `pki.tree: only a center makes the authority of its tree: ${remedy}`);
  }
  return 'joinToken' in pki ? joined(config, pki, ports) : given(config, pki, ports);
}

function given(
  { path, data }: NodeConfig,
  { ca, cert, key, issuer, subtreeIssuer }: Given,
  ports: NodeCertificatesPorts,
): NodeCertificates {
  const pem = (file: string) => readFileSync(file);
  const read = () => ({ caPem: pem(ca), certPem: pem(cert), keyPem: pem(key) });
  const trust = new TreeTrust({
    ...ports,
    given: renewedCredentials({ ...ports, read }),
    data,
  });
  if (!issuer && !subtreeIssuer) return { trust, signer: undefined, renewal: undefined };
  const pair = (files: { readonly cert: string; readonly key: string } | undefined) =>
    files && { certPem: pem(files.cert).toString(), keyPem: pem(files.key).toString() };
  const signer = issuerSigner(path, {
    ...ports,
    authority: () => trust.bundle(),
    issuer: () => pair(issuer),
    subtreeIssuer: () => pair(subtreeIssuer),
    lifeMs: lifeMsOf(issuer),
  });
  return { trust, signer, renewal: undefined };
}

async function joined(
  { path, parent, link, data, replicas = 1 }: NodeConfig,
  pki: Joining,
  ports: NodeCertificatesPorts,
): Promise<NodeCertificates> {
  const { clock, random, log, environment } = ports;
  if (!parent) throw invalid('a node without a parent has nobody who could admit it');
  if (replicas > 1) throw invalid('a relay with replicas gets its certificates from the authority of the tree');
  const linkCaPem = link.ca === undefined ? undefined : readBytes(link.ca);
  const lines = parentLines({ parent, link, linkCaPem, environment, clock });
  const common = { path, role: 'relay', clock, random, log } as const;
  const renewable = await joinedByToken(pki.joinToken, lines, { ...common, store: fileStore(join(data, 'identity')) });
  const { trust, renewal } = startedRenewal(lines, { ...common, data, renewable, names: pki.names });
  const signer = issuerSigner(path, {
    ...ports,
    authority: () => trust.bundle(),
    issuer: () => undefined,
    subtreeIssuer: () => {
      const { issuerPem, keyPem } = renewable.present();
      return issuerPem === undefined ? undefined : { certPem: issuerPem, keyPem };
    },
    lifeMs: lifeMsOf(pki),
  });
  return { trust, signer, renewal };
}

function lifeMsOf(issued: { readonly certificateSeconds?: number | undefined } | undefined): number | undefined {
  return issued?.certificateSeconds === undefined ? undefined : issued.certificateSeconds * 1_000;
}

function invalid(why: string): BanyanError {
  return new BanyanError('BadRequest', `pki.joinToken: ${why}: use pki.ca, pki.cert and pki.key`);
}
