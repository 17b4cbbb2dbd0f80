/** How an agent with a join token comes to its certificate: it asks its parent, each sibling of it, until one answers, and keeps what it got. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readJoinToken } from '../../core/identity/join-token.ts';
import { identityOfCertificate } from '../../core/identity/peer-identity.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError, describeError, type ErrorCode } from '../../core/runtime/errors.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Random } from '../../core/runtime/random.ts';
import type { JoinAnswer, JoinRequest } from '../../core/wire/join-messages.ts';
import type { Identity, IdentityStore } from './identity-store.ts';

export interface JoiningPorts {
  readonly path: string;
  readonly store: IdentityStore;
  /** The text of the join token, and where it is from. Throws BadRequest where there is none. */
  token(): { readonly text: string; readonly where: string };
  /** Asks the parent and each of its siblings, in the order in which they are tried. */
  readonly parents: readonly ((pin: string, asked: JoinRequest) => Promise<JoinAnswer>)[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** A parent that is away is waited for as long as it takes, at these pauses: many agents may wait for it. */
const pauseMinMs = 1_000;
const pauseMaxMs = 60_000;

/** Another time it may be otherwise. Everything else is an answer. */
const passing: readonly ErrorCode[] = ['Unavailable', 'Timeout', 'TooManyRequests', 'Protocol', 'Internal'];

/**
 * What is kept, as long as it is valid: the token is not asked for then. One that has ended, where no other is to be had: the agent looks after its cluster all the same, and
 * asks again while it runs. Throws with the parent's words where it refuses.
 */
export async function joinedIdentity(ports: JoiningPorts): Promise<Identity> {
  for (let pauseMs = pauseMinMs; ; pauseMs = Math.min(pauseMaxMs, 2 * pauseMs)) {
    try {
      return await joinOnce(ports);
    } catch (error) {
      const ended = await endedIdentity(ports);
      if (ended) {
        ports.log.warn({ reason: describeError(error) }, 'the certificate has ended, and another one is not to be had');
        return ended;
      }
      if (!isPassing(error)) throw error;
      ports.log.warn({ reason: describeError(error) }, 'not joined yet: it is tried again');
      const asked = (error as BanyanError).details.retryAfterSeconds ?? 0;
      const ownMs = pauseMs * (0.5 + ports.random.fraction() / 2);
      await delay(ports, Math.min(pauseMaxMs, Math.max(asked * 1_000, ownMs)));
    }
  }
}

/** Of those that share the store, another one may have been answered since the last attempt. */
export async function joinOnce(ports: JoiningPorts): Promise<Identity> {
  const { path, store, log, parents } = ports;
  const kept = validIdentity(await store.read(), ports);
  if (kept) return kept;
  const { text, where } = ports.token();
  const { pin, name, secret } = readJoinToken(text, where);
  const { newKey, requestFor } = await import('../../core/identity/certificate-request.ts');
  const keyPem = await store.settleKey(newKey());
  const asked = { name, secret, path, request: await requestFor(path, keyPem) };
  const { authority, certificate } = await askEach(parents.map((ask) => () => ask(pin, asked)));
  const identity = { caPem: authority, certPem: certificate, keyPem };
  if (!validIdentity(identity, ports))
    throw new BanyanError('Protocol', 'the parent has answered a certificate that has ended');
  await store.keep(identity);
  log.info({ where: store.shown, until: new X509Certificate(certificate).validTo }, 'joined: a certificate is kept');
  return identity;
}

async function endedIdentity(ports: JoiningPorts): Promise<Identity | undefined> {
  try {
    return ownIdentity(await ports.store.read(), ports);
  } catch (error) {
    if (isPassing(error)) return undefined;
    throw error;
  }
}

/** A token is kept by one of several siblings, so the others do not know it; what is to be waited for goes before that. */
export async function askEach<T>(parents: readonly (() => Promise<T>)[]): Promise<T> {
  let refusal: unknown;
  for (const ask of parents) {
    try {
      return await ask();
    } catch (error) {
      if (!isPassing(error) && !(error instanceof BanyanError && error.code === 'Unauthorized')) throw error;
      if (!isPassing(refusal)) refusal = error;
    }
  }
  throw refusal;
}

type StoredIdentityPorts = Pick<JoiningPorts, 'path' | 'clock'> & { readonly store: Pick<IdentityStore, 'shown'> };

/** Undefined: it has to be got, first or anew. Throws BadRequest for what is another agent's. */
export function validIdentity(kept: Partial<Identity> | undefined, ports: StoredIdentityPorts): Identity | undefined {
  const identity = ownIdentity(kept, ports);
  return identity && ports.clock.wallMs() < Date.parse(new X509Certificate(identity.certPem).validTo)
    ? identity
    : undefined;
}

/** The same, also when it has ended. */
function ownIdentity(kept: Partial<Identity> | undefined, { path, store }: StoredIdentityPorts): Identity | undefined {
  const { caPem, certPem, keyPem } = kept ?? {};
  if (!caPem || !certPem || !keyPem) return undefined;
  const certificate = new X509Certificate(certPem);
  const { path: own, role } = identityOfCertificate(certificate.raw);
  if (own !== path || role !== 'agent') {
    const remedy = 'correct the path of the configuration, or take that away and give it a join token';
    throw new BanyanError(
      'BadRequest',
      `${store.shown} has the certificate of the ${role} "${own}", and not of "${path}": ${remedy}`,
    );
  }
  return certificate.checkPrivateKey(createPrivateKey(keyPem)) ? { caPem, certPem, keyPem } : undefined;
}

export function isPassing(error: unknown): boolean {
  return error instanceof BanyanError && passing.includes(error.code);
}

function delay({ clock }: JoiningPorts, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}
