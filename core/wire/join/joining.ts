/** How a node with a join token gets its certificate. The node asks each replica of its parent until one answers, and stores the answer. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { pinned, readJoinToken } from '../../identity/join-token.ts';
import { identityOfCertificate } from '../../identity/peer-identity.ts';
import { bundlePem, judgeBundle } from '../../identity/trusted-authorities.ts';
import { cliCommand } from '../../runtime/cli-command.ts';
import type { Clock } from '../../runtime/clock.ts';
import { BanyanError, describeError, type ErrorCode } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Random } from '../../runtime/random.ts';
import type { JoinAnswer, JoinRequest } from '../join-messages.ts';
import type { Identity, IdentityStore, StoredIdentity } from './identity-store.ts';

export interface JoiningPorts {
  readonly path: string;
  /** Absent: an agent. */
  readonly role?: 'relay' | undefined;
  readonly store: IdentityStore;
  /** The text of the join token, and where it comes from. Throws BadRequest if there is none. */
  token(): { readonly text: string; readonly where: string };
  /** Functions that ask the replicas of the parent, in the order in which the node tries them. */
  readonly parents: readonly ((pin: string, asked: JoinRequest) => Promise<JoinAnswer>)[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Pauses between attempts to join. The node waits for an unreachable parent as long as needed. Many nodes may wait for the same parent. */
const pauseMinMs = 1_000;
const pauseMaxMs = 60_000;

/** Errors that may disappear by themselves. After any other error, the node does not try again. */
const temporaryErrors: readonly ErrorCode[] = ['Unavailable', 'Timeout', 'TooManyRequests', 'Protocol', 'Internal'];

/**
 * Returns the stored identity if it is valid: then the node needs no token. Otherwise joins. If the stored certificate has expired and the node can't get
 * another one, returns the expired identity: the node then still does its local work, and asks again while it runs. If the node has no identity at all,
 * waits for the parent, and throws the error with which the parent refuses.
 */
export async function joinedIdentity(ports: JoiningPorts): Promise<Identity> {
  for (let pauseMs = pauseMinMs; ; pauseMs = Math.min(pauseMaxMs, 2 * pauseMs)) {
    try {
      return await joinOnce(ports);
    } catch (error) {
      const ended = await endedIdentity(ports);
      if (ended) {
        ports.log.warn(
          { reason: describeError(error) },
          "the certificate has expired, and this node can't get another one",
        );
        return ended;
      }
      if (!isTemporary(error)) throw error;
      ports.log.warn({ reason: describeError(error) }, 'not joined yet: this node tries again');
      const asked = (error as BanyanError).details.retryAfterSeconds ?? 0;
      const jitteredMs = pauseMs * (0.5 + ports.random.fraction() / 2);
      await delay(ports, Math.min(pauseMaxMs, Math.max(asked * 1_000, jitteredMs)));
    }
  }
}

/**
 * Tries to join once. If another agent that shares the store has got a certificate since the last attempt, returns that identity. An agent that the
 * configuration has moved to another path joins there with a key of its own, and replaces its former identity when it has joined.
 */
export async function joinOnce(ports: JoiningPorts): Promise<Identity> {
  const stored = await ports.store.read();
  const former = formerAgent(stored, ports);
  if (!former) return validIdentity(stored, ports) ?? join(ports);
  try {
    return await join(ports, former);
  } catch (error) {
    throw notMoved(error, former, ports);
  }
}

async function join(ports: JoiningPorts, former?: FormerAgent): Promise<Identity> {
  const { path, role, store, log, parents } = ports;
  const { text, where } = ports.token();
  const { pin, name, secret } = readJoinToken(text, where);
  const { newKey, requestFor } = await import('../../identity/certificate-request.ts');
  const keyPem = await store.settleKey(newKey(), former?.keyPem);
  const asked = { name, secret, path, ...(role ? { role } : {}), request: await requestFor(path, keyPem) };
  const { authority, certificate, issuer } = await askEach(parents.map((ask) => () => ask(pin, asked)));
  const identity = { caPem: trustedAtJoin(authority, pin), certPem: certificate, keyPem, issuerPem: issuer };
  if (!validIdentity(identity, ports))
    throw new BanyanError('Protocol', 'the parent has sent a certificate that has expired');
  await store.keep(identity);
  const until = new X509Certificate(certificate).validTo;
  log.info({ where: store.shown, until, former: former?.path }, 'joined: a certificate is kept');
  return identity;
}

interface FormerAgent {
  readonly path: string;
  /** Undefined: the agent ended while it stored its next identity, and the store has the next key already. */
  readonly keyPem: string | undefined;
}

/**
 * The agent at another path whose certificate the store has. Undefined for a relay: it can't move, because the nodes below have certificates for its path.
 */
function formerAgent(
  { certPem, keyPem }: StoredIdentity = {},
  { path, role }: Pick<JoiningPorts, 'path' | 'role'>,
): FormerAgent | undefined {
  if (!certPem || !keyPem || role) return undefined;
  const certificate = new X509Certificate(certPem);
  const former = identityOfCertificate(certificate.raw);
  if (former.role !== 'agent' || former.path === path) return undefined;
  return { path: former.path, keyPem: certificate.checkPrivateKey(createPrivateKey(keyPem)) ? keyPem : undefined };
}

/** The same error, with what the person may have forgotten. Its code says whether the agent tries again. */
function notMoved(error: unknown, former: FormerAgent, { path, store }: JoiningPorts): unknown {
  if (!(error instanceof BanyanError)) return error;
  const remedy = `the agent "${path}" needs a join token of its own (${cliCommand('join-token', path)}); if it has not moved, correct the path in the configuration`;
  const message = `${store.shown} has the certificate of the agent "${former.path}": ${remedy}: ${error.message}`;
  return new BanyanError(error.code, message, error.details, { cause: error });
}

/** The pinned authority, and those of the bundle that it introduces. The token vouches for no other one. */
function trustedAtJoin(bundle: string, pin: string): string {
  const roots = pinned(bundle, pin).map((pem) => new X509Certificate(pem));
  const { authorities } = judgeBundle(roots, bundle);
  return bundlePem(authorities.length > 0 ? authorities : roots);
}

async function endedIdentity(ports: JoiningPorts): Promise<Identity | undefined> {
  try {
    const stored = await ports.store.read();
    return formerAgent(stored, ports) ? undefined : ownIdentity(stored, ports);
  } catch (error) {
    if (isTemporary(error)) return undefined;
    throw error;
  }
}

/**
 * Asks one replica after the other, until one answers. Only one of several replicas has the token, so the others refuse it as unknown. If a replica may still
 * answer at another time, its error is more important than these refusals.
 */
export async function askEach<T>(parents: readonly (() => Promise<T>)[]): Promise<T> {
  let refusal: unknown;
  for (const ask of parents) {
    try {
      return await ask();
    } catch (error) {
      if (!isTemporary(error) && !(error instanceof BanyanError && error.code === 'Unauthorized')) throw error;
      if (!isTemporary(refusal)) refusal = error;
    }
  }
  throw refusal;
}

type StoredIdentityPorts = Pick<JoiningPorts, 'path' | 'role' | 'clock'> & {
  readonly store: Pick<IdentityStore, 'shown'>;
};

/**
 * Returns the identity if it is complete and has not expired. Undefined: the node has to get an identity, for the first time or again. Throws BadRequest if
 * the identity belongs to another node.
 */
export function validIdentity(kept: Partial<Identity> | undefined, ports: StoredIdentityPorts): Identity | undefined {
  const identity = ownIdentity(kept, ports);
  return identity && ports.clock.wallMs() < Date.parse(new X509Certificate(identity.certPem).validTo)
    ? identity
    : undefined;
}

/** Like `validIdentity`, but also returns an expired identity. */
function ownIdentity(
  kept: Partial<Identity> | undefined,
  { path, role, store }: StoredIdentityPorts,
): Identity | undefined {
  const wanted = role ?? 'agent';
  const { caPem, certPem, keyPem, issuerPem } = kept ?? {};
  if (!caPem || !certPem || !keyPem) return undefined;
  const certificate = new X509Certificate(certPem);
  const { path: certificatePath, role: certificateRole } = identityOfCertificate(certificate.raw);
  if (certificatePath !== path || certificateRole !== wanted) {
    const remedy = 'correct the path in the configuration, or remove that certificate and use another join token';
    throw new BanyanError(
      'BadRequest',
      `${store.shown} has the certificate of the ${certificateRole} "${certificatePath}", and not of the ${wanted} "${path}": ${remedy}`,
    );
  }
  return certificate.checkPrivateKey(createPrivateKey(keyPem)) ? { caPem, certPem, keyPem, issuerPem } : undefined;
}

export function isTemporary(error: unknown): boolean {
  return error instanceof BanyanError && temporaryErrors.includes(error.code);
}

function delay({ clock }: JoiningPorts, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}
