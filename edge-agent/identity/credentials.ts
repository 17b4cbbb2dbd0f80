/**
 * The agent's identity for its parent. It comes from files that the agent was given, or from a join token, with which the agent got a certificate. The agent
 * renews the certificate in both cases while it runs.
 */
import { join } from 'node:path';
import type { Clock } from '../../core/runtime/clock.ts';
import { readBytes } from '../../core/runtime/config-file.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Random } from '../../core/runtime/random.ts';
import type { EnvironmentProxies } from '../../core/wire/dialer/proxy-choice.ts';
import { fileStore } from '../../core/wire/join/file-store.ts';
import type { IdentityStore } from '../../core/wire/join/identity-store.ts';
import type { JoinLine } from '../../core/wire/join/join-client.ts';
import { joinedByToken, parentLines, startedRenewal } from '../../core/wire/join/joined-node.ts';
import type { Renewable, Renewal } from '../../core/wire/join/renewal.ts';
import { renewedCredentials } from '../../core/wire/node-credentials.ts';
import type { TreeTrust } from '../../core/wire/tree-trust.ts';
import type { AgentConfig } from '../config/config.ts';
import { GivenIdentity } from './given-identity.ts';

type Joining = Extract<AgentConfig['pki'], { joinToken: string }>;
type Given = Extract<AgentConfig['pki'], { cert: string }>;
export type SecretName = NonNullable<Joining['secret']>;

export interface CredentialsPorts {
  readonly config: AgentConfig;
  readonly linkCaPem?: Buffer | undefined;
  readonly environment: EnvironmentProxies;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Opens a Secret of the agent's cluster. */
  openSecret(secret: SecretName): Promise<IdentityStore>;
}

export interface AgentIdentity {
  /** The authorities of nodes that the agent trusts, and its credentials with them. */
  readonly trust: TreeTrust;
  /** Renews the certificate. It has started already. */
  readonly renewal: Renewal;
}

/**
 * Returns the identity. With a join token, this resolves when the agent has joined. Throws BadRequest for files that can't be read, and the errors with which
 * the parent refuses.
 */
export async function identityOf(ports: CredentialsPorts): Promise<AgentIdentity> {
  const { config, clock, random, log } = ports;
  const { path, pki } = config;
  const lines = parentLines({ ...ports, parent: config.parent, link: config.link });
  const renewable = 'joinToken' in pki ? await joined(pki, lines, ports) : await given(pki, ports);
  return startedRenewal(lines, { path, data: config.data, clock, random, log, renewable });
}

async function given({ ca, cert, key, secret }: Given, ports: CredentialsPorts): Promise<Renewable> {
  const { config, clock, log } = ports;
  const read = () => ({ caPem: readBytes(ca), certPem: readBytes(cert), keyPem: readBytes(key) });
  const files = renewedCredentials({ clock, log, read });
  return new GivenIdentity({
    path: config.path,
    clock,
    certFile: cert,
    files,
    secret: secret && (await ports.openSecret(secret)),
  });
}

async function joined(
  { joinToken, secret }: Joining,
  lines: readonly JoinLine[],
  ports: CredentialsPorts,
): Promise<Renewable> {
  const { config, clock, random, log } = ports;
  const store = secret ? await ports.openSecret(secret) : fileStore(join(config.data, 'identity'));
  return joinedByToken(joinToken, lines, { path: config.path, store, clock, random, log });
}
