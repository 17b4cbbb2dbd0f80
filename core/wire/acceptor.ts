/** The parent's end of one transport. Gets TLS connections after their handshake, and makes links of them. */

import type { TLSSocket } from 'node:tls';
import type { PeerIdentity } from '../identity/peer-identity.ts';
import type { Clock } from '../runtime/clock.ts';
import { BanyanError } from '../runtime/errors.ts';
import { hostPort } from '../runtime/host-port.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Random } from '../runtime/random.ts';
import type { FrameLink } from './frame-link.ts';
import type { Joins } from './joins.ts';
import type { Accept, Link, LinkEvents } from './link.ts';
import type { Refusal } from './refusals.ts';
import type { StrangersLog } from './strangers.ts';

export interface Acceptor {
  /** Hands the connection over to the acceptor. */
  take(socket: TLSSocket): void;
  /** The open links. */
  links(): Link[];
  /** Ends the acceptor. Called when all connections are closed. */
  end(): void;
}

/** Called once for each refused connection, and for each refused call on a shared connection: it has ended before its link was accepted. */
export type Refused = (refusal: Refusal) => void;

/** The functions and ports that an acceptor uses. */
export interface Accepting {
  readonly accept: Accept;
  /** Used for links whose peer must still prove its identity. After the proof, `accept` is called. */
  readonly acceptUnproven: (link: FrameLink) => LinkEvents;
  /** The identity of the peer from its certificates. Throws Unauthorized with the mistake. */
  identify(socket: TLSSocket): PeerIdentity;
  /** True if the connection has no certificate and needs none, because a gateway terminates TLS. */
  isTerminated(socket: TLSSocket): boolean;
  /**
   * Asks the handshake rate limiter for one more session on a shared connection. The first session used the turn of the connection itself. Returns the ms
   * to wait. Undefined: refuse the session.
   */
  admit(): number | undefined;
  /** Absent: this node issues no certificates. */
  readonly joins: Joins | undefined;
  readonly refused: Refused;
  readonly strangers: StrangersLog;
  readonly log: Logger;
  readonly clock: Clock;
  readonly random: Random;
}

/** The peer of a link as long as the child has not proven its identity. No child attaches under this identity. */
export const unproven: PeerIdentity = { path: '', role: 'agent' };

/** A connection is closed after this time if its handshake is not finished or if it has no session. */
export const sessionWithinMs = 10_000;
/** Time that the peer has to read why its call ended, and to close the connection. */
export const lingerMs = 2_000;
/** Bytes of a session's name. Only the session's own child can use the name. In addition, nobody can guess 16 random bytes. */
export const sessionNameBytes = 16;

export function remoteOf({ remoteAddress, remotePort }: Pick<TLSSocket, 'remoteAddress' | 'remotePort'>): string {
  return remoteAddress === undefined ? 'gone already' : hostPort(remoteAddress, remotePort ?? 0);
}

/**
 * Returns what is wrong with the certificate of a new connection. Undefined: nothing is wrong. Call it when the connection begins: a closed connection has
 * no certificate any more.
 */
export function flawOf(socket: TLSSocket, { identify }: Pick<Accepting, 'identify'>): BanyanError | undefined {
  try {
    identify(socket);
    return undefined;
  } catch (flaw) {
    if (flaw instanceof BanyanError) return flaw;
    throw flaw;
  }
}

/** Explains why a connection was closed that never carried a session: the error for the log, and the reason under which the metrics count it. */
export function whyUnused({ error, flaw }: { readonly error?: Error; readonly flaw: BanyanError | undefined }): {
  readonly error: Error;
  readonly refusal: Refusal;
} {
  if (error) return { error, refusal: 'no_session' };
  if (flaw) return { error: flaw, refusal: 'certificate' };
  // Usually, the peer is a child of another tree. This node would have refused the certificate of this child too.
  const message =
    "it closed the connection without opening a session: perhaps it does not trust this node's certificate, for example because it belongs to another tree";
  return { error: new Error(message), refusal: 'no_session' };
}
