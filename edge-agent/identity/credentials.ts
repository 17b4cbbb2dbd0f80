/** Who the agent is to its parent: by files that others renew, or by a join token and what it got for that. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Random } from '../../core/runtime/random.ts';
import type { EnvironmentProxies } from '../../core/wire/dialer/proxy-choice.ts';
import { type JoinLine, joinParent, renewAtParent } from '../../core/wire/join/join-client.ts';
import { type NodeCredentials, renewedCredentials } from '../../core/wire/node-credentials.ts';
import type { AgentConfig } from '../config.ts';
import { fileStore } from './file-store.ts';
import type { IdentityStore } from './identity-store.ts';
import { joinedIdentity } from './joining.ts';
import { RenewedIdentity } from './renewal.ts';

type Joining = Extract<AgentConfig['pki'], { joinToken: string }>;
export type SecretName = NonNullable<Joining['secret']>;

export interface IdentityPorts {
  readonly config: AgentConfig;
  readonly linkCaPem?: Buffer | undefined;
  readonly environment: EnvironmentProxies;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** A Secret of the agent's cluster. */
  openSecret(secret: SecretName): Promise<IdentityStore>;
}

const aliveEveryMs = 60_000;

/** With a join token: resolves when the agent has joined. Throws BadRequest for files that can't be read, and what the parent says. */
export async function credentialsOf(ports: IdentityPorts): Promise<NodeCredentials> {
  const { config, clock, log } = ports;
  const { pki } = config;
  if ('joinToken' in pki) return joinedCredentials(pki, ports);
  const read = () => ({ caPem: readBytes(pki.ca), certPem: readBytes(pki.cert), keyPem: readBytes(pki.key) });
  return renewedCredentials({ clock, log, read });
}

async function joinedCredentials({ joinToken, secret }: Joining, ports: IdentityPorts): Promise<NodeCredentials> {
  const { config, environment, linkCaPem, clock, random, log } = ports;
  const { path, parent, link } = config;
  const store = secret ? await ports.openSecret(secret) : fileStore(join(config.data, 'identity'));
  const lines = [parent.address, ...(parent.siblings ?? [])].map(
    (address): JoinLine => ({ parent: { address, path: parent.path }, link, linkCaPem, environment, clock }),
  );
  const common = { path, store, clock, random, log };
  // The clock's timers keep no process alive, and until it has joined there is nothing else to wait for.
  const waiting = setInterval(() => {}, aliveEveryMs);
  const identity = await joinedIdentity({
    ...common,
    token: () => ({ text: readBytes(joinToken).toString('utf8'), where: joinToken }),
    parents: lines.map((line) => (pin, asked) => joinParent(line, pin, asked)),
  }).finally(() => clearInterval(waiting));
  const renewed = new RenewedIdentity(
    { ...common, renewals: lines.map((line) => (credentials, request) => renewAtParent(line, credentials, request)) },
    identity,
  );
  renewed.start();
  return renewed.credentials;
}

export function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new BanyanError('BadRequest', `${file}: not readable: ${describeError(error)}`, {}, { cause: error });
  }
}
